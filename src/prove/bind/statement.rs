//! A binding in words.

use super::Expression;
use super::plan::{Meaning, Plan, Slot, Source};
use crate::ir::{Role, text};
use crate::prove::Side;

/// One input that is bound otherwise than by its name, with the numbers of layers taken out of the names.
#[derive(Clone, Debug, PartialEq)]
struct Statement {
    text: String,
    /// The layer.
    number: Option<u64>,
}

/// What a plan takes for granted, one sentence each; layers of a model that are alike share a sentence.
pub(super) fn sentences(plan: &Plan) -> Vec<String> {
    let mut all = Vec::new();
    let count = |source| plan.b.iter().filter(|s| same(s).is_some_and(|(_, s)| s == source)).count();
    let named = count(Source::Name);
    if named > 0 {
        all.push(match named {
            1 => "1 input or parameter of one name and type is the same tensor".to_owned(),
            _ => format!("{named} inputs and parameters of one name and type are the same tensor"),
        });
    }
    let mut statements: Vec<Statement> = Vec::new();
    for (side, slots) in [(Side::B, &plan.b), (Side::A, &plan.a)] {
        for slot in slots {
            statements.extend(statement(plan, side, slot));
        }
    }
    all.extend(grouped(&statements));
    if plan.by_checksum > 0 {
        let (weights, hold) = if plan.by_checksum == 1 { ("weight", "holds") } else { ("weights", "hold") };
        all.push(format!(
            "{} {weights} {hold} the same values in both files by the checksums (CRC-32) of the archives, which were not compared with the values",
            plan.by_checksum
        ));
    }
    for (tied, first) in &plan.ties {
        let name = |i: usize| &plan.a[i].input.name;
        all.push(format!(
            "both files hold the same values for `{}` and `{}`, which are taken to be one tensor",
            name(*first),
            name(*tied)
        ));
    }
    let name = |&(side, i): &(Side, usize)| &plan.side(side)[i].input.name;
    if let Some(first) = plan.unlike.first() {
        let (count, name, side) = (plan.unlike.len(), name(first), first.0);
        all.push(format!(
            "the files hold different values for {count} inputs taken to be the same, first for `{name}` of {side}; what is proven \
             holds where they are the same"
        ));
    }
    if let Some(first) = plan.uncompared.first() {
        let (count, name, side) = (plan.uncompared.len(), name(first), first.0);
        all.push(format!(
            "{count} inputs are bound to expressions whose values were not compared with what the files hold, first `{name}` of {side}"
        ));
    }
    all.extend(known(plan, "both files hold"));
    for (side, slots) in [(Side::A, &plan.a), (Side::B, &plan.b)] {
        for slot in slots.iter().filter(|s| s.literal.is_some() && !s.held_alike) {
            let name = &slot.input.name;
            all.push(match &slot.supposed_by {
                Some(constant) => format!(
                    "`{name}` of {side}, of which the file has no values, holds what `{constant}` of {} was computed from",
                    side.other()
                ),
                None => {
                    format!("`{name}` of {side} is the constant that its file holds: nothing of the other side is the same")
                }
            });
        }
        for slot in slots.iter().filter(|s| s.is_free() && s.literal.is_none()) {
            let name = &slot.input.name;
            all.push(format!("`{name}` of {side} has no counterpart on the other side"));
        }
    }
    all
}

/// Which buffers and weights are part of the programs because of what `files_hold` for them.
pub(super) fn known(plan: &Plan, files_hold: &str) -> Option<String> {
    let held: Vec<&Slot> = plan.a.iter().filter(|slot| slot.held_alike).collect();
    let name = &held.first()?.input.name;
    let kind = match held.iter().any(|slot| slot.input.role == Role::Parameter) {
        true => "weight",
        false => "buffer",
    };
    Some(match held.len() {
        1 => format!("what {files_hold} for the {kind} `{name}` is part of the program"),
        count => format!("what {files_hold} for {count} {kind}s is part of the program, first for `{name}`"),
    })
}

/// The binding in the form that binding files have. Inputs of one name and type are left out, as they need no line.
pub(super) fn lines(plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    for (side, slots) in [(Side::B, &plan.b), (Side::A, &plan.a)] {
        let others = plan.side(side.other());
        let name = |i: usize| others.get(i).map_or_else(String::new, |s| text::name(&s.input.name));
        for slot in slots {
            let target = text::name(&slot.input.name);
            match &slot.meaning {
                Some((_, Source::Name)) | None => {}
                // Pairs stand on both sides.
                Some((Meaning::Same(_), _)) if side == Side::A => {}
                Some((Meaning::Same(i), _)) => lines.push(format!("{target} = {}", name(*i))),
                Some((Meaning::Derived(expression), _)) => lines.push(format!("{target} = {}", expression.show(&name))),
            }
        }
    }
    lines
}

fn same(slot: &Slot) -> Option<(usize, Source)> {
    match &slot.meaning {
        Some((Meaning::Same(i), source)) => Some((*i, *source)),
        _ => None,
    }
}

fn statement(plan: &Plan, side: Side, slot: &Slot) -> Option<Statement> {
    let (meaning, source) = slot.meaning.as_ref()?;
    let number = numbers(&slot.input.name).next();
    let short = |name: &str| number.map_or_else(|| name.to_owned(), |n| without(name, n));
    let target = short(&slot.input.name);
    let text = match (meaning, source) {
        (Meaning::Same(_), Source::Name) => return None,
        // Pairs stand on both sides.
        (Meaning::Same(_), _) if side == Side::A => return None,
        (Meaning::Same(i), source) => {
            let name = &plan.a[*i].input.name;
            format!("`{}` of A is `{target}` of B ({})", short(name), reason(*source))
        }
        (Meaning::Derived(expression), source) => {
            let others = plan.side(side.other());
            let name = |i: usize| others.get(i).map_or_else(String::new, |s| short(&s.input.name));
            // What is made of nothing, such as counted positions, belongs to no side.
            let of = expression.inputs().next().map_or_else(String::new, |_| format!(" of {}", side.other()));
            format!("`{target}` of {side} is {}{of} ({})", shown(expression, &name), reason(*source))
        }
    };
    Some(Statement { text, number })
}

fn shown(expression: &Expression, name: &dyn Fn(usize) -> String) -> String {
    format!("`{}`", expression.show(name))
}

fn reason(source: Source) -> &'static str {
    match source {
        Source::Stated => "stated",
        Source::Tied => "stated of a weight that nothing reads; this is the only other one of its type",
        Source::Name => "same name and type",
        Source::Prefixed => "same type, and same name but for a prefix",
        Source::Narrower => "same name, integers of a narrower type",
        Source::Content => "same values in both files",
        Source::Layer => "same values in both files, in the same layer",
        Source::Alike => "one of several with the same values, by position",
        Source::Folded => "same values but for rounding",
        Source::Use => "guessed from shapes and use",
        Source::Only | Source::Position => "same type and position",
    }
}

/// The parts of a dotted name that are numbers.
fn numbers(name: &str) -> impl Iterator<Item = u64> + '_ {
    name.split('.').filter_map(|part| part.parse().ok())
}

/// The name with `{i}` for every part that is the number `n`.
fn without(name: &str, n: u64) -> String {
    let part = |part: &str| if part.parse() == Ok(n) { "{i}".to_owned() } else { part.to_owned() };
    name.split('.').map(part).collect::<Vec<_>>().join(".")
}

/// One sentence for statements that differ in the number of the layer only.
fn grouped(statements: &[Statement]) -> Vec<String> {
    let mut groups: Vec<(&str, Vec<u64>)> = Vec::new();
    for statement in statements {
        let number = statement.number.into_iter();
        match groups.iter_mut().find(|(text, _)| *text == statement.text) {
            Some((_, numbers)) => numbers.extend(number),
            None => groups.push((&statement.text, number.collect())),
        }
    }
    groups
        .into_iter()
        .map(|(text, numbers)| match numbers.as_slice() {
            [] => text.to_owned(),
            [n] => text.replace("{i}", &n.to_string()),
            all => format!("{text}, for i = {}", spans(all)),
        })
        .collect()
}

/// `0 to 3, 5`
fn spans(numbers: &[u64]) -> String {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for n in sorted {
        match spans.last_mut() {
            Some((_, end)) if n == end.saturating_add(1) => *end = n,
            _ => spans.push((n, n)),
        }
    }
    let text = |&(from, to): &(u64, u64)| if from == to { from.to_string() } else { format!("{from} to {to}") };
    spans.iter().map(text).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_share_a_sentence() {
        let one = |n: u64| Statement { text: "`h.{i}.w` of A is `l.{i}.w` of B".into(), number: Some(n) };
        let texts = grouped(&[one(0), one(1), one(2), one(7)]);
        assert_eq!(texts, ["`h.{i}.w` of A is `l.{i}.w` of B, for i = 0 to 2, 7"]);
        assert_eq!(grouped(&[one(3)]), ["`h.3.w` of A is `l.3.w` of B"]);
    }

    #[test]
    fn only_the_number_of_the_layer_is_taken_out() {
        assert_eq!(without("layers.3.experts.0.w3", 3), "layers.{i}.experts.0.w3");
    }
}
