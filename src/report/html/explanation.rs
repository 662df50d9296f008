//! A region in full as a page.

use maud::html;

use super::document;
use super::parts::{difference, operators, steps};
use crate::printable::one_line;
use crate::report::{Explanation, wording};

/// The report as a page.
pub(crate) fn explanation(e: &Explanation) -> String {
    let r = &e.region;
    let title = format!("Region {} of {}, tier {}", r.id, e.regions, r.tier);
    let body = html! {
        header {
            h1 { (title) }
            p { (wording::tier_meaning(&r.tier)) @if r.repeats > 1 { "; one of " (r.repeats) " that are the same" } }
        }
        main {
            @for (name, cost, all) in [("A", &r.a, &e.a), ("B", &r.b, &e.b)] {
                section {
                    h2 { (name) }
                    p { (wording::energy_and_time(cost)) "; " (wording::work(cost)) }
                    (operators(all))
                }
            }
            @if r.best.energy_mj.is_some() {
                section {
                    h2 { "Cheapest known form" }
                    pre { (wording::cheapest(r, usize::MAX)) }
                    p { (wording::best(&r.best)) }
                    @if !r.cause.text.is_empty() { p { (one_line(&r.cause.text)) } }
                    @if let Some(flag) = &r.cause.flag { p { "flag " code { (one_line(flag)) } } }
                }
            }
            @if let Some(parts) = &r.difference {
                section {
                    h2 { "What the difference of " (wording::energy(Some(parts.mj.abs()))) " consists of" }
                    (difference(parts, 1.0))
                    @for made in wording::only_made(r) { p class="note" { (made) } }
                    @for fact in r.cause.switch.iter().flat_map(wording::switch) { p { (fact) } }
                }
            }
            section {
                h2 { "Proof" }
                @if e.steps.is_empty() { p { "Both sides have the same normal form." } }
                @for line in wording::chain(e) { p { (line) } }
                (steps(&e.steps, e.chain.as_ref(), 0))
            }
            @if !e.cheaper.is_empty() {
                section {
                    h2 { "Proof of the cheapest form" }
                    p { "Over letters for what it reads." }
                    (steps(&e.cheaper, e.cheaper_chain.as_ref(), e.steps.len()))
                }
            }
        }
    };
    document(&title, &body, None)
}
