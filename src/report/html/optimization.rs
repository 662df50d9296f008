//! Cheaper forms of one workload as a page.

use maud::html;

use super::document;
use super::frontier::frontier;
use super::parts::{assumptions, bar, card, precomputed, steps};
use crate::printable::one_line;
use crate::report::{Cheaper, Optimization, wording};

/// The report as a page.
pub(crate) fn optimization(o: &Optimization) -> String {
    let saves = wording::saved(o);
    let verdict = saves.as_ref().map_or(format!("No form is known that {} beyond doubt", wording::less(o)), |s| {
        format!("Cheaper forms save {s}")
    });
    let ((energy_now, us_now), (energy_best, us_best)) = (o.now_as_run(), o.best_as_run());
    let mut now = vec![wording::figure_range(energy_now), wording::time(us_now)];
    now.extend(wording::waiting(o.launched.as_ref(), &o.energy_mj));
    let mut best = vec![wording::figure_range(energy_best), wording::time(us_best)];
    best.extend(wording::max_slowdown(o));
    let share = |c: &Cheaper| o.share(c).unwrap_or(0.0);
    let most = o.cheaper.iter().map(share).fold(0.0, f64::max);
    let body = html! {
        header {
            h1 { (verdict) }
            p { code { (one_line(&o.file)) } ", " (o.ops) " operators" }
        }
        main {
            section class="cards" {
                (card("Now", &wording::energy(energy_now.value), &now))
                @if saves.is_some() { (card("Best", &wording::energy(energy_best.value), &best)) }
            }
            @if let Some(left_out) = wording::left_out(&o.left_out) { p { (left_out) } }
            @for (i, c) in o.cheaper.iter().enumerate() {
                section {
                    h2 {
                        (i + 1) ". saves " (wording::saves(o, c))
                        @if c.ops.len() > 1 { ", " (c.ops.len()) " times" }
                        @if c.trade_off { ", slower: a trade-off" }
                        " " span class="tag" { (c.tier) }
                    }
                    (bar(share(c), most, "a"))
                    dl {
                        dt { "now" } dd { code { (one_line(&c.from.join(", "))) } }
                        dt { "cheaper" } dd { code { (one_line(&c.pattern)) } }
                        @if let Some(source) = &c.source { dt { "at" } dd { code { (one_line(source)) } } }
                    }
                    details { summary { "Proof, " (c.steps.len()) " steps" } (steps(&c.steps, None, 0)) }
                    details {
                        summary { "Operators that it replaces" }
                        ul { @for names in &c.ops { li { code { (one_line(&names.join(", "))) } } } }
                    }
                }
            }
            (frontier(o))
            (precomputed(&o.precompute))
            (assumptions(&o.assumptions))
        }
        @if let Some(profile) = &o.profile { footer { "Per execution; figures for " (one_line(profile)) } }
    };
    document(&format!("{}: cheaper forms", one_line(&o.file)), &body, None)
}
