//! What the forms cost that a proof passes through.

use super::super::{Chain, Explanation, Form, Step};
use super::energy;

/// Sums of the same prices in another order are off by less, relative to the whole.
const SAME: f64 = 1e-6;

/// What a region costs from form to form: of A, after each step that changes it, and of B; then on to the cheapest form. A proof reads
/// normal forms, which may cost more or less than what a file says.
pub(crate) fn chain(e: &Explanation) -> Vec<String> {
    let r = &e.region;
    let mut lines = Vec::new();
    if let Some(chain) = e.chain.as_ref().filter(|_| !e.steps.is_empty()) {
        lines.push(line("A", r.a.energy_mj, chain, &e.steps, 0, ("B", r.b.energy_mj)));
    }
    if let Some(chain) = e.cheaper_chain.as_ref().filter(|_| !e.cheaper.is_empty()) {
        let (from, mj) = if chain.from == Form::B { ("B", r.b.energy_mj) } else { ("A", r.a.energy_mj) };
        lines.push(line(from, mj, chain, &e.cheaper, e.steps.len(), ("cheapest", r.best.energy_mj)));
    }
    lines
}

fn line(
    from: &str,
    from_mj: Option<f64>,
    chain: &Chain,
    steps: &[Step],
    known: usize,
    (to, to_mj): (&str, Option<f64>),
) -> String {
    if chain.from_mj.is_none() {
        let between = "prices of the forms between are not known";
        return format!("{from} {} → {between} → {to} {}", energy(from_mj), energy(to_mj));
    }
    let mut parts = vec![format!("{from} {}", energy(from_mj))];
    if !is_same(from_mj, chain.from_mj) {
        parts.push(format!("as the proof reads it {}", energy(chain.from_mj)));
    }
    let mut now = chain.from_mj;
    for (number, step) in (known + 1..).zip(steps) {
        if !is_same(now, step.whole_mj) {
            parts.push(format!("step {number}: {}", energy(step.whole_mj)));
        }
        now = step.whole_mj;
    }
    let parts = parts.join(" → ");
    if is_same(now, to_mj) {
        format!("{parts} = {to}")
    } else {
        format!("{parts} = {to} as the proof reads it; {to} itself {}", energy(to_mj))
    }
}

/// Whether two energies are the same as far as sums go; those that are not known are alike.
fn is_same(x: Option<f64>, y: Option<f64>) -> bool {
    x.zip(y).map_or(x.is_none() && y.is_none(), |(x, y)| (x - y).abs() <= SAME * x.abs().max(y.abs()))
}

/// What a step does to the energy, and whether its rule is read from right to left: `528 mJ to 165 mJ`. Of the whole form where the steps
/// lead from form to form, which begin with `chain`; else of the operators that each replaces. None where nothing is known to change.
pub(crate) fn figures(steps: &[Step], at: usize, chain: Option<&Chain>) -> Option<String> {
    let step = steps.get(at)?;
    let changed = match whole(steps, at, chain) {
        Some((before, after)) => (!is_same(Some(before), Some(after))).then_some((before, after)),
        None => step.before_mj.zip(step.after_mj).filter(|(before, after)| before != after),
    };
    let changed = changed.map(|(before, after)| format!("{} to {}", energy(Some(before)), energy(Some(after))));
    let nothing = || changes_nothing(steps, at, chain).then(|| "same energy".to_owned());
    let told: Vec<String> =
        step.reversed.then(|| "right to left".to_owned()).into_iter().chain(changed.or_else(nothing)).collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// Whether it is known that a form costs as much after a step as before.
pub(crate) fn changes_nothing(steps: &[Step], at: usize, chain: Option<&Chain>) -> bool {
    whole(steps, at, chain).is_some_and(|(before, after)| is_same(Some(before), Some(after)))
}

/// What the whole form costs before and after a step.
fn whole(steps: &[Step], at: usize, chain: Option<&Chain>) -> Option<(f64, f64)> {
    let before = match at.checked_sub(1) {
        Some(before) => steps.get(before)?.whole_mj,
        None => chain?.from_mj,
    };
    chain?;
    before.zip(steps.get(at)?.whole_mj)
}

/// Rule, tier and figures of a step: `a_rule [exact, 528 mJ to 165 mJ]`.
pub(crate) fn rule(steps: &[Step], at: usize, chain: Option<&Chain>) -> String {
    let Some(step) = steps.get(at) else { return String::new() };
    let figures = figures(steps, at, chain).map_or(String::new(), |figures| format!(", {figures}"));
    format!("{} [{}{figures}]", step.rule, step.tier)
}
