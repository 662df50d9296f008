//! What several pages are made of.

use maud::{Markup, html};

use crate::printable::one_line;
use crate::report::{Chain, Difference, Operator, Precomputed, Step, wording};

/// A bar as long as `value` is of `whole`.
pub(super) fn bar(value: f64, whole: f64, side: &str) -> Markup {
    let share = if whole > 0.0 { (100.0 * value / whole).clamp(0.0, 100.0) } else { 0.0 };
    html! {
        svg class={ "bar " (side) } width="100%" height="10" aria-hidden="true" {
            rect width=(format!("{share:.2}%")) height="10" rx="2" {}
        }
    }
}

/// A number with what it is a number of.
pub(super) fn card(title: &str, value: &str, notes: &[String]) -> Markup {
    html! {
        div class="card" {
            h3 { (title) }
            p class="value" { (value) }
            @for note in notes { p class="note" { (note) } }
        }
    }
}

/// The operators of one side.
pub(super) fn operators(operators: &[Operator]) -> Markup {
    html! {
        div class="scroll" {
            table {
                thead { tr { th { "operator" } th { "kind" } th { "types" } th class="number" { "energy" } th { "source" } } }
                tbody {
                    @for o in operators {
                        tr {
                            td { code { (one_line(&o.name)) } }
                            td { code { (one_line(&o.kind)) } }
                            td class="small" { (one_line(&o.types)) }
                            td class="number" { (wording::energy(o.cost.energy_mj)) }
                            td class="small" { (one_line(o.source.as_deref().unwrap_or(""))) }
                        }
                    }
                }
            }
        }
    }
}

/// The steps of a proof, which begin with `chain` and come after `known` others.
pub(super) fn steps(steps: &[Step], chain: Option<&Chain>, known: usize) -> Markup {
    html! {
        ol class="steps" start=(known + 1) {
            @for (at, step) in steps.iter().enumerate() {
                li {
                    p { code { (one_line(&step.rule)) } " " span class="tag" { (step.tier) } " " @if let Some(figures) = wording::figures(steps, at, chain) { (figures) ": " } (one_line(&step.doc.replace('\n', " "))) }
                    pre {
                        @for d in &step.definitions { "let " (one_line(&d.name)) " = " (one_line(&d.text)) "\n" }
                        (one_line(&step.before)) "\n= " (one_line(&step.after))
                    }
                    @for text in &step.assumes { p class="note" { "assumed: " (one_line(text)) } }
                }
            }
        }
    }
}

/// What is computed once.
pub(super) fn precomputed(all: &[Precomputed]) -> Markup {
    html! {
        @if let Some(whole) = wording::precomputed(all) {
            section {
                h2 { "Computed once, before the first execution: " (whole) }
                ul { @for one in all { li { code { (one_line(&wording::precomputed_alike(one))) } } } }
            }
        }
    }
}

/// What a proof takes for granted.
pub(super) fn assumptions(all: &[String]) -> Markup {
    html! {
        @if !all.is_empty() {
            section {
                h2 { "Assumed" }
                ul {
                    @for (text, count) in wording::grouped(all) {
                        li { (one_line(text)) @if count > 1 { " (×" (count) ")" } }
                    }
                }
            }
        }
    }
}

/// A difference by what it consists of, with a bar for each part: in one colour what adds to it, in the other what takes off.
pub(super) fn difference(difference: &Difference, times: f64) -> Markup {
    let (shown, rest) = wording::shown_parts(difference);
    let most = shown.iter().map(|part| part.mj.abs()).fold(0.0, f64::max);
    let signed = |mj: f64| wording::energy(Some(mj * times * difference.mj.signum()));
    html! {
        div class="difference" {
            @for part in &shown {
                span { (one_line(&wording::part(part, difference, times))) }
                (bar(part.mj.abs(), most, if part.mj * difference.mj > 0.0 { "a" } else { "b" }))
                span class="number" { (signed(part.mj)) @if let Some(share) = part.share { ", " (wording::percent(share)) } }
            }
            @if rest != 0.0 {
                span { "smaller parts" }
                (bar(rest.abs(), most, if rest * difference.mj > 0.0 { "a" } else { "b" }))
                span class="number" { (signed(rest)) }
            }
        }
    }
}
