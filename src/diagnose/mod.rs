//! Causes: why one side of a region costs more than the other, and which line or flag is responsible.

mod flags;
mod part;
mod paths;
mod switches;

use serde::Serialize;

use flags::{dispatched, math};

use crate::ir::Node;
pub(crate) use part::Part;
pub(crate) use paths::call_paths;
pub(crate) use switches::name_switches;

/// What sets the two sides of a region apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CauseKind {
    /// The sides do the same.
    None,
    /// The same arithmetic in fewer kernels.
    FewerKernels,
    /// Fewer bytes read and written.
    LessTraffic,
    /// Fewer floating-point operations.
    LessArithmetic,
    /// The same operators under other math flags.
    MathMode,
    /// The same work counts: another implementation of the same.
    OtherImplementation,
}

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

/// Difference below which two counts are the same, relative to the larger one.
const SAME: f64 = 0.02;

fn less(x: f64, y: f64) -> bool {
    x < y * (1.0 - SAME)
}

/// The first attribute in which operators that are not in the table differ, with its values: it selects another
/// implementation, for the sides are equal.
fn other_setting(a: Part, b: Part) -> Option<(String, String, String, String)> {
    a.calls().zip(b.calls()).find_map(|((_, op, of_a), (_, _, of_b))| {
        let at = of_a.iter().zip(of_b).position(|(x, y)| x != y).filter(|_| op.def().is_none())?;
        Some((op.name().to_owned(), op.attr_name(at)?.to_owned(), of_a[at].to_string(), of_b[at].to_string()))
    })
}

/// Why the sides of a region cost what they cost.
pub(crate) fn cause(a: Part, b: Part) -> Cause {
    let (ca, cb) = (a.total(), b.total());
    let mut cause = Cause {
        kind: CauseKind::None,
        text: String::new(),
        flag: None,
        how: None,
        a_source: a.source(),
        b_source: b.source(),
    };
    let same_ops = a.ops().eq(b.ops());
    if same_ops && a.graph.config == b.graph.config {
        if let Some((op, flag, of_a, of_b)) = other_setting(a, b) {
            cause.kind = CauseKind::OtherImplementation;
            cause.text = format!("`{op}` has {flag}={of_a} in A and {flag}={of_b} in B");
            cause.flag = Some(flag);
        }
        return cause;
    }
    if same_ops {
        if let Some(setting) = math(a, b) {
            let [in_a, in_b] = &setting.values;
            let on = if in_a == "true" && in_b != "true" { "A" } else { "B" };
            cause.kind = CauseKind::MathMode;
            cause.text = format!("{on} may use TF32 tensor cores for {}", setting.governs);
            cause.flag = Some(setting.name.to_owned());
            cause.how = Some(setting.set.to_owned());
        }
        return cause;
    }
    if let Some((_, op, _)) = a.calls().chain(b.calls()).find(|(_, op, _)| op.def().is_none()) {
        cause.kind = CauseKind::OtherImplementation;
        cause.text = format!("`{}` is a kernel of whose work nothing is known", op.name());
        return cause;
    }
    // The leaner side is named by the figure that decides, or by the counts where energy is not known.
    let b_leaner = if ca.energy_mj.is_known() && cb.energy_mj.is_known() {
        cb.energy_mj.value <= ca.energy_mj.value
    } else {
        cb.bytes <= ca.bytes
    };
    let (lean, fat, name, other) = if b_leaner { (cb, ca, "B", "A") } else { (ca, cb, "A", "B") };
    let mut parts = Vec::new();
    if lean.launches < fat.launches {
        parts.push(format!("{} instead of {} kernels", lean.launches, fat.launches));
    }
    if less(lean.bytes, fat.bytes) {
        parts.push(format!("{} less memory traffic", bytes(fat.bytes - lean.bytes)));
    }
    if less(lean.flops, fat.flops) {
        parts.push(format!("{:.0} % less arithmetic", 100.0 * (1.0 - lean.flops / fat.flops)));
    }
    cause.kind = if less(lean.bytes, fat.bytes) {
        CauseKind::LessTraffic
    } else if less(lean.flops, fat.flops) {
        CauseKind::LessArithmetic
    } else if lean.launches < fat.launches {
        CauseKind::FewerKernels
    } else {
        CauseKind::OtherImplementation
    };
    cause.text = match parts.is_empty() {
        true => format!("{name} and {other} do the same work in other operators"),
        false => format!("{name} needs {}", parts.join(", ")),
    };
    if let Some(setting) = dispatched(a, b) {
        let [in_a, in_b] = &setting.values;
        let value = if b_leaner { in_b } else { in_a };
        cause.flag = Some(format!("{}={value} (set in {name})", setting.name));
        cause.how = Some(setting.set.to_owned());
    }
    cause
}

/// Bytes with a decimal unit.
pub(crate) fn bytes(n: f64) -> String {
    let (value, unit) = match n {
        n if n >= 1e9 => (n / 1e9, "GB"),
        n if n >= 1e6 => (n / 1e6, "MB"),
        n if n >= 1e3 => (n / 1e3, "kB"),
        n => (n, "B"),
    };
    format!("{value:.3} {unit}").replace(".000 ", " ")
}
