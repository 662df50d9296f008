//! Where calls part and what decides, in words.

use crate::printable::one_line;
use crate::report::{Call, CallPaths, SourceText, Switch, SwitchKind};

/// The call paths of both sides from the last common call on, one line each; nothing where they do not part. Of a longer path than
/// `most` calls, those in between are counted.
pub(in crate::report) fn paths(paths: &CallPaths, most: usize) -> Vec<String> {
    let call = |c: &Call| {
        let function = if c.function.is_empty() { String::new() } else { format!(" in {}", c.function) };
        one_line(format!("{}:{}{function}  {}", c.file, c.line, c.code.trim()).trim_end()).into_owned()
    };
    let shared = paths.a.iter().zip(&paths.b).take_while(|(a, b)| a == b).count();
    let (own_a, own_b) = (paths.a.get(shared..).unwrap_or_default(), paths.b.get(shared..).unwrap_or_default());
    if own_a.is_empty() && own_b.is_empty() {
        return Vec::new();
    }
    let last = paths.common.iter().chain(paths.a.iter().take(shared)).last().map(|c| format!("both {}", call(c)));
    let side = |name: &'static str, calls: &[Call]| -> Vec<String> {
        let mut lines: Vec<String> = calls.iter().map(|c| format!("{name}    {}", call(c))).collect();
        if lines.len() > most.max(2) {
            let left_out = lines.len() - most.max(2);
            let end = lines.len() - 1;
            lines.splice(end - left_out..end, [format!("{name}    {left_out} calls between")]);
        }
        lines
    };
    last.into_iter().chain(side("A", own_a)).chain(side("B", own_b)).collect()
}

/// What decides which way the calls take, a sentence a line, with the lines where the variables are set.
pub(in crate::report) fn switch(switch: &Switch) -> Vec<String> {
    let at = &switch.expression;
    let mut lines = vec![format!("{} `{}` ({})", decides(switch), one_line(&at.text), place(at))];
    lines.extend(variables(switch));
    lines
}

/// How a switch decides: what the expression that it names does.
pub(in crate::report) fn decides(switch: &Switch) -> &'static str {
    match switch.kind {
        SwitchKind::Dispatch => "what is called there is looked up by",
        SwitchKind::Branch => "which of both is called is decided by",
    }
}

/// What a switch reads, and where that is set.
pub(in crate::report) fn variables(switch: &Switch) -> Vec<String> {
    let mut lines = Vec::new();
    for variable in &switch.variables {
        let name = one_line(&variable.name);
        if variable.set.is_empty() {
            lines.push(format!("it reads `{name}`"));
        }
        for (i, set) in variable.set.iter().enumerate() {
            let head = if i == 0 { format!("it reads `{name}`, set by") } else { "and".to_owned() };
            lines.push(format!("{head} `{}` ({})", one_line(&set.text), place(set)));
        }
    }
    lines.extend(switch.note.as_ref().map(|note| one_line(note).into_owned()));
    lines
}

/// `file:line`, of an installed file without the folders that packages are installed in.
pub(in crate::report) fn place(at: &SourceText) -> String {
    let installed = at.file.rfind("/site-packages/").and_then(|start| at.file.get(start + 1..));
    one_line(&format!("{}:{}", installed.unwrap_or(&at.file), at.line)).into_owned()
}
