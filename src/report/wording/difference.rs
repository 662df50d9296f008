//! What a difference of energies consists of, in words.

use super::{amount, digits, energy, percent, time};
use crate::printable::one_line;
use crate::report::{Difference, MadeTensor, Part, PartKind, Region};

/// Parts below this share of a difference are told together.
const SMALL: f64 = 0.02;

/// Tensors that are named.
const MOST_TENSORS: usize = 4;

/// Parts worth a word each, the largest first, and what the others come to.
pub(in crate::report) fn shown_parts(difference: &Difference) -> (Vec<&Part>, f64) {
    let is_small = |part: &&Part| part.mj.abs() < SMALL * difference.mj.abs() || part.mj == 0.0;
    let (small, mut shown): (Vec<&Part>, Vec<&Part>) = difference.parts.iter().partition(is_small);
    shown.sort_by(|x, y| y.mj.abs().total_cmp(&x.mj.abs()));
    (shown, small.iter().map(|part| part.mj).sum())
}

/// Operators whose overhead is named in a short report.
const MOST_OVERHEADS: usize = 3;

/// The same difference with the overheads of all operators as one part.
fn with_one_overhead(difference: &Difference) -> Difference {
    let (mut overheads, mut parts): (Vec<Part>, Vec<Part>) =
        difference.parts.iter().cloned().partition(|part| part.part == PartKind::Overhead);
    overheads.sort_by(|x, y| y.mj.abs().total_cmp(&x.mj.abs()));
    let sum = |of: fn(&Part) -> f64| overheads.iter().map(of).sum::<f64>();
    let (a_mj, b_mj, mj) = (sum(|p| p.a_mj), sum(|p| p.b_mj), sum(|p| p.mj));
    let ops: Vec<&str> = overheads.iter().filter(|p| p.mj != 0.0).filter_map(|p| p.op.as_deref()).collect();
    let named = ops.iter().take(MOST_OVERHEADS).copied().collect::<Vec<_>>().join("`, `");
    if let Some(first) = overheads.first().filter(|_| ops.len() > 1) {
        let share = (difference.mj != 0.0).then(|| mj / difference.mj);
        parts.push(Part { op: Some(named), a_mj, b_mj, mj, share, ..first.clone() });
    } else {
        parts.extend(overheads);
    }
    Difference { parts, ..difference.clone() }
}

/// The parts of a difference in few words.
pub(in crate::report) fn main_parts(difference: &Difference, times: f64) -> Vec<String> {
    parts(&with_one_overhead(difference), times)
}

/// What a part is: `memory traffic, 3.23 GB less`. `times` is how often the difference occurs.
pub(in crate::report) fn part(part: &Part, difference: &Difference, times: f64) -> String {
    let unit = part.unit.as_deref().map_or(String::new(), words_of_unit);
    // Which side is spoken of does not matter as long as it is the same in all parts.
    let change = (part.a_amount - part.b_amount) * times * difference.mj.signum();
    let how = match part.amount_unit {
        _ if change == 0.0 => None,
        "bytes" => Some(amount(change.abs(), "B")),
        "flops" => Some(amount(change.abs(), "FLOP")),
        "us" => Some(time(Some(change.abs()))),
        "kernels" => Some(digits_of_count(change.abs())),
        _ => None,
    };
    let less = if change > 0.0 { "less" } else { "more" };
    let how = how.map_or(String::new(), |how| format!(", {how} {less}"));
    match part.part {
        PartKind::MemoryTraffic => format!("memory traffic{how}"),
        PartKind::Arithmetic => format!("arithmetic of {unit}{how}"),
        PartKind::MathMode => {
            let [a, b] = part.modes.as_ref().map_or(["", ""], |[a, b]| [a.as_str(), b.as_str()]);
            format!("math mode of {unit}: {a} in A, {b} in B")
        }
        PartKind::Launches => format!("starting kernels{how}"),
        PartKind::PowerOverTime => format!("base power of the GPU while it runs kernels{how}"),
        PartKind::Overhead => {
            let op = part.op.as_deref().map_or(String::new(), |op| one_line(op).into_owned());
            format!("overhead of `{op}`")
        }
        PartKind::Waiting => format!("waiting for the host{how}"),
        PartKind::NotExplained => "not explained by the model".to_owned(),
    }
}

fn digits_of_count(count: f64) -> String {
    if count < 1e3 { format!("{count}") } else { digits(count) }
}

/// `matrix bf16` is `bf16 matrix units`.
fn words_of_unit(unit: &str) -> String {
    unit.split_once(' ').map_or_else(|| unit.to_owned(), |(unit, dtype)| format!("{dtype} {unit} units"))
}

/// The parts of a difference: `18.2 J (74.2 %) memory traffic, 103 GB less`. Shares are of the whole difference.
pub(in crate::report) fn parts(difference: &Difference, times: f64) -> Vec<String> {
    let (shown, rest) = shown_parts(difference);
    let signed = |mj: f64| energy(Some(mj * times * difference.mj.signum()));
    let share = |share: Option<f64>| share.map_or(String::new(), |share| format!(" ({})", percent(share)));
    let mut all: Vec<String> =
        shown.iter().map(|p| format!("{}{} {}", signed(p.mj), share(p.share), part(p, difference, times))).collect();
    if rest != 0.0 {
        all.push(format!("{} smaller parts", signed(rest)));
    }
    all
}

/// Tensors that only one side writes to memory, in words, where that matters.
pub(in crate::report) fn only_made(region: &Region) -> Vec<String> {
    let Some(difference) = &region.difference else { return Vec::new() };
    // Tensors so small that writing them costs nothing explain nothing.
    let traffic = difference.parts.iter().filter(|p| p.part == PartKind::MemoryTraffic).map(|p| p.mj.abs());
    if traffic.sum::<f64>() < SMALL * difference.mj.abs() {
        return Vec::new();
    }
    let side = |(name, made): (&str, &[MadeTensor])| {
        if made.is_empty() {
            return None;
        }
        let one = |t: &MadeTensor| {
            let reads = if t.reads == 1 { "once".to_owned() } else { format!("{} times", t.reads) };
            format!("`{}` {} ({}, read {reads})", one_line(&t.op), one_line(&t.ty), amount(t.bytes, "B"))
        };
        let mut list: Vec<String> = made.iter().take(MOST_TENSORS).map(one).collect();
        let rest = made.get(MOST_TENSORS..).unwrap_or_default();
        if !rest.is_empty() {
            let bytes = rest.iter().map(|t| t.bytes).sum();
            list.push(format!("{} more ({})", rest.len(), amount(bytes, "B")));
        }
        Some(format!("only {name} writes {}", list.join(", ")))
    };
    [("A", &difference.only_a[..]), ("B", &difference.only_b[..])].into_iter().filter_map(side).collect()
}
