//! Causes: why one side of a region costs more than the other, and which line or flag is responsible.

mod flags;
mod kind;
mod part;
mod paths;
mod switches;
mod work;

use serde::Serialize;

use flags::{dispatched, math};

use crate::ir::Node;
use crate::ops::Op;
use crate::report::Difference;
pub(crate) use kind::CauseKind;
pub(crate) use part::Part;
pub(crate) use paths::call_paths;
pub(crate) use switches::name_switches;
pub(crate) use work::PricedPart;

/// Why one side of a region costs more.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Cause {
    pub kind: CauseKind,
    /// One sentence.
    pub text: String,
    /// The configuration flag that selects the other form, where it is known.
    pub flag: Option<String>,
    /// How that flag is set.
    pub how: Option<String>,
    /// Source line of the most expensive operator of each side.
    pub a_source: Option<String>,
    pub b_source: Option<String>,
}

/// The line of source that a node comes from, as `file:line code`.
pub(crate) fn source(node: &Node) -> Option<String> {
    let frame = node.origin.line()?;
    let code = if frame.code.is_empty() { String::new() } else { format!(" {}", frame.code.trim()) };
    Some(format!("{frame}{code}"))
}

/// An attribute in which operators of the same name differ.
struct OtherSetting<'a> {
    op: &'a Op,
    attr: String,
    values: [String; 2],
}

impl OtherSetting<'_> {
    /// `norm` has eps=1e-5 in A and eps=1e-6 in B.
    fn text(&self) -> String {
        let (op, attr, [in_a, in_b]) = (self.op.name(), &self.attr, &self.values);
        format!("`{op}` has {attr}={in_a} in A and {attr}={in_b} in B")
    }
}

/// The first attribute in which operators differ that stand at the same place on both sides.
fn other_setting<'a>(a: Part<'a>, b: Part<'a>) -> Option<OtherSetting<'a>> {
    a.calls().zip(b.calls()).find_map(|((_, op, of_a), (_, other, of_b))| {
        let at = of_a.iter().zip(of_b).position(|(x, y)| x != y).filter(|_| op.name() == other.name())?;
        Some(OtherSetting {
            op,
            attr: op.attr_name(at)?.to_owned(),
            values: [of_a[at].to_string(), of_b[at].to_string()],
        })
    })
}

/// What is known of why the sides of a region give other results of equal operands.
pub(crate) fn parting(a: Part, b: Part) -> Option<String> {
    let same_ops = a.ops().eq(b.ops());
    other_setting(a, b).filter(|_| same_ops).map(|setting| setting.text())
}

/// Why the sides of a region cost what they cost; `difference` is what their energies differ by.
pub(crate) fn cause(a: PricedPart, b: PricedPart, difference: Option<&Difference>) -> Cause {
    let mut cause = Cause {
        kind: CauseKind::None,
        text: String::new(),
        flag: None,
        how: None,
        a_source: a.part.source(),
        b_source: b.part.source(),
    };
    let same_ops = a.part.ops().eq(b.part.ops());
    if same_ops && a.part.graph.config == b.part.graph.config {
        // It selects another implementation of what is not in the table, for the sides are equal.
        if let Some(setting) = other_setting(a.part, b.part).filter(|setting| setting.op.def().is_none()) {
            cause.kind = CauseKind::OtherImplementation;
            cause.text = setting.text();
            cause.flag = Some(setting.attr);
        }
        return cause;
    }
    if same_ops {
        if let Some(setting) = math(a.part, b.part) {
            let [in_a, in_b] = &setting.values;
            let on = if in_a == "true" && in_b != "true" { "A" } else { "B" };
            cause.kind = CauseKind::MathMode;
            cause.text = format!("{on} may use TF32 tensor cores for {}", setting.governs);
            cause.flag = Some(setting.name.to_owned());
            cause.how = Some(setting.set.to_owned());
        }
        return cause;
    }
    if let Some((_, op, _)) = a.part.calls().chain(b.part.calls()).find(|(_, op, _)| op.def().is_none()) {
        cause.kind = CauseKind::OtherImplementation;
        cause.text = format!("`{}` is a kernel of whose work nothing is known", op.name());
        return cause;
    }
    // The leaner side is named by the figure that decides, or by the counts where energy is not known.
    let (ca, cb) = (a.part.total(), b.part.total());
    let b_leaner = if ca.energy_mj.is_known() && cb.energy_mj.is_known() {
        cb.energy_mj.value <= ca.energy_mj.value
    } else {
        cb.bytes <= ca.bytes
    };
    let (lean, fat) = if b_leaner { (b, a) } else { (a, b) };
    (cause.kind, cause.text) = work::cause(lean, fat, difference);
    if let Some(setting) = dispatched(a.part, b.part) {
        let [in_a, in_b] = &setting.values;
        let value = if b_leaner { in_b } else { in_a };
        cause.flag = Some(format!("{}={value} (set in {})", setting.name, lean.name));
        cause.how = Some(setting.set.to_owned());
    }
    cause
}
