//! A comparison as a page: the verdict, where the energy goes, both graphs.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::data::data;
use super::document;
use super::parts::{assumptions, bar, card, difference, precomputed};
use crate::printable::one_line;
use crate::report::wording::{self, Line};
use crate::report::{Comparison, Details, PlacedOperator, ReportedVerdict, Side, Unproven, Witness};

/// Kinds of operators that get a bar of their own.
const MOST_KINDS: usize = 12;

/// Groups of regions that are shown at once; the graphs below have all.
const MOST_GROUPS: usize = 100;

/// The report as a page.
pub(crate) fn comparison(c: &Comparison) -> String {
    let verdict = wording::verdict(c);
    let (word, rest) = verdict.split_once([',', ':']).unwrap_or((&verdict, ""));
    let class = format!("{:?}", c.verdict).to_lowercase();
    let body = html! {
        header {
            h1 class=(class) { (word) }
            p { (rest.trim()) }
            p class="files" { "A " code { (one_line(&c.a.file)) } " and B " code { (one_line(&c.b.file)) } }
        }
        main {
            (rejected(c))
            (cards(c))
            @if let Some(witness) = &c.witness { (part_at(witness)) }
            @if !c.unproven.is_empty() && c.verdict != ReportedVerdict::Different { (open(&c.unproven)) }
            @if let Some(whole) = &c.difference {
                section {
                    h2 { "What the difference of " (wording::energy(Some(whole.mj.abs()))) " consists of" }
                    (difference(whole, 1.0))
                }
            }
            (savings(c))
            @if let Some(details) = &c.details {
                (kinds(details))
                (graphs())
            }
            (precomputed(&c.best.precompute))
            (assumptions(&c.assumptions))
            @if !c.settings.is_empty() {
                section {
                    h2 { "Set differently" }
                    p { (one_line(&wording::settings(&c.settings, usize::MAX))) }
                }
            }
        }
        footer {
            @if let Some(profile) = &c.profile { p { "Per execution; figures for " (one_line(profile)) } }
            p { "magneton-ir " (env!("CARGO_PKG_VERSION")) }
        }
    };
    let title = format!("{word}: {} and {}", one_line(&c.a.file), one_line(&c.b.file));
    document(&title, &body, c.details.as_deref().map(|details| data(c, details)).as_deref())
}

fn rejected(c: &Comparison) -> Markup {
    html! {
        @for rejected in &c.rejected { p class="warning" { (wording::rejected(rejected)) } }
        @if !c.rejected.is_empty() { p class="warning" { (wording::HOW_TO_REPORT) } }
    }
}

fn cards(c: &Comparison) -> Markup {
    let side = |side: &Side| {
        let (energy, us) = side.as_run();
        let mut notes = vec![
            wording::figure_range(energy),
            wording::time(us),
            format!("{} of {} operators proven", side.covered_ops, side.ops),
        ];
        if !side.flags.is_empty() {
            notes.push(format!("flags: {}", one_line(&side.flags.join(", "))));
        }
        notes.extend(wording::energy_facts(side));
        (wording::energy(energy.value), notes)
    };
    let ((energy_a, notes_a), (energy_b, notes_b)) = (side(&c.a), side(&c.b));
    let (best, us) = c.best.as_run();
    let savings: Vec<String> =
        wording::savings(c).iter().map(|s| format!("saves {s}")).chain([wording::time(us)]).collect();
    html! {
        section class="cards" {
            (card("A", &energy_a, &notes_a))
            (card("B", &energy_b, &notes_b))
            @if best.is_some() {
                (card("Cheapest known equivalent", &wording::energy(best), &savings))
            }
        }
    }
}

fn part_at(w: &Witness) -> Markup {
    let output = one_line(&w.output);
    html! {
        section {
            h2 { "Where they part" }
            @match &w.constants {
                Some([a, b]) => p { code { (output) } " is " (one_line(a)) " in A and " (one_line(b)) " in B, whatever the inputs are." },
                None => {
                    p { "Seed " (w.seed) ": " code { (output) (format!("{:?}", w.index)) } " is " (w.a.to_string()) " in A and " (w.b.to_string()) " in B." }
                    p { "Largest difference among the sampled elements: " (wording::digits(w.max_abs_error)) "." }
                }
            }
            @if let Some(region) = w.region {
                p { "The sides part in " a href={ "#r" (region) } { "region " (region) } ": its operands agree, its results do not." }
            }
            dl {
                @for (side, place) in [("A", &w.first_a), ("B", &w.first_b)] {
                    @if let Some(place) = place {
                        dt { "look first at, in " (side) }
                        dd { code { (one_line(&place.op)) } " " (one_line(place.source.as_deref().unwrap_or(""))) }
                    }
                }
            }
        }
    }
}

fn open(unproven: &[Unproven]) -> Markup {
    html! {
        section {
            h2 { "Not proven" }
            @for u in unproven {
                p {
                    code { (one_line(&u.a_ops.join(", "))) } " of A and " code { (one_line(&u.b_ops.join(", "))) } " of B: "
                    (wording::agreement(u.agrees_numerically))
                }
                @for (name, text) in [("A", &u.a_mir), ("B", &u.b_mir), ("Proven by this rule, if it holds", &u.rule)] {
                    @if let Some(text) = text { details { summary { (name) } pre { (text) } } }
                }
            }
        }
    }
}

fn savings(c: &Comparison) -> Markup {
    let lines = wording::lines(c);
    let rewrites = wording::alike(&c.rewrites);
    let total = |l: &Line, of_one: Option<f64>| of_one.unwrap_or(0.0) * l.region.repeats as f64;
    let most =
        lines.iter().map(|l| total(l, l.region.a.energy_mj).max(total(l, l.region.b.energy_mj))).fold(0.0, f64::max);
    html! {
        @if !lines.is_empty() {
            section {
                h2 { "Where the two differ" }
                @for line in lines.iter().take(MOST_GROUPS) { (group(c, line, most)) }
                @if lines.len() > MOST_GROUPS { p class="note" { "and " (lines.len() - MOST_GROUPS) " more, below" } }
            }
        }
        @if !rewrites.is_empty() {
            section {
                h2 { "Cheaper forms across regions" }
                ul {
                    @for group in rewrites.iter().take(MOST_GROUPS) {
                        @if let Some(r) = group.first() {
                            li {
                                code { (one_line(&r.from)) } " could be " code { (one_line(&r.pattern)) }
                                @if group.len() > 1 { " (×" (group.len()) ")" }
                                ": saves " (wording::energy(Some(r.saves_mj))) " each, tier " (r.tier)
                            }
                        }
                    }
                }
            }
        }
    }
}

fn group(c: &Comparison, line: &Line, most: f64) -> Markup {
    let (r, cause) = (line.region, &line.region.cause);
    let all = |of_one: Option<f64>| of_one.unwrap_or(0.0) * r.repeats as f64;
    let side = |kinds: &[String], energy: Option<f64>, name: &str| {
        html! {
            div {
                p { span class="who" { (name.to_uppercase()) } " " code { (wording::operators(kinds, 40)) } }
                (bar(all(energy), most, name))
                p class="note" { (line.energy(energy)) }
            }
        }
    };
    let saves = line.saving_text(c);
    let sources = match [&cause.a_source, &cause.b_source] {
        [Some(a), Some(b)] if a == b => vec![("both", a)],
        [a, b] => a.iter().map(|s| ("A", s)).chain(b.iter().map(|s| ("B", s))).collect(),
    };
    html! {
        div class="group" {
            p { a href={ "#r" (r.id) } { "region " (r.id) } @if r.repeats > 1 { " ×" (r.repeats) } }
            (side(&r.a_kinds, r.a.energy_mj, "a"))
            (side(&r.b_kinds, r.b.energy_mj, "b"))
            div {
                @if line.saving.is_some() { p { b { "saves " (saves) } ": cheapest is " (wording::cheapest(r, 60)) } }
                p { (one_line(&cause.text)) }
                @if let Some(flag) = &cause.flag { p { "flag " code { (one_line(flag)) } } }
                @if let Some(parts) = &r.difference {
                    details { summary { "what the difference consists of" } (difference(parts, r.repeats as f64)) }
                }
                @for made in wording::only_made(r) { p class="note" { (made) } }
                @for fact in cause.switch.iter().flat_map(wording::switch) { p class="note" { (fact) } }
                @for (name, source) in sources { p class="note" { (name) " " (one_line(source)) } }
            }
        }
    }
}

/// Millijoules of A and of B by kind of operator.
fn kinds(details: &Details) -> Markup {
    let mut all: BTreeMap<&str, [f64; 2]> = BTreeMap::new();
    for (operators, side) in [(&details.a, 0), (&details.b, 1)] {
        for PlacedOperator { operator, .. } in operators {
            all.entry(&operator.kind).or_default()[side] += operator.cost.energy_mj.unwrap_or(0.0);
        }
    }
    let mut all: Vec<(&str, [f64; 2])> = all.into_iter().filter(|(_, [a, b])| a + b > 0.0).collect();
    all.sort_by(|(_, x), (_, y)| y[0].max(y[1]).total_cmp(&x[0].max(x[1])));
    let most = all.first().map_or(0.0, |(_, [a, b])| a.max(*b));
    let rest = all.split_off(all.len().min(MOST_KINDS));
    let others = format!("{} other kinds", rest.len());
    if !rest.is_empty() {
        all.push((&others, rest.iter().fold([0.0, 0.0], |[a, b], (_, [x, y])| [a + x, b + y])));
    }
    html! {
        @if !all.is_empty() {
            section {
                h2 { "Where the energy goes" }
                div class="kinds" {
                    @for (kind, sides) in &all {
                        div class="kind" {
                            code { (one_line(kind)) }
                            @for (value, side) in sides.iter().zip(["a", "b"]) {
                                span class="who" { (side.to_uppercase()) }
                                (bar(*value, most, side))
                                span class="number" { @if *value > 0.0 { (wording::energy(Some(*value))) } @else { "–" } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The place in which the script draws the graphs.
fn graphs() -> Markup {
    html! {
        section id="graphs" {
            h2 { "Both graphs" }
            p class="note" { "Modules as the files record them; a row holds what is equal. The stronger the colour, the more energy. A click on a region shows its operators and its proof." }
            noscript { p { "This part needs JavaScript." } }
            div class="tools" {
                input id="search" type="search" placeholder="operator, kind, module or source" aria-label="search" autocomplete="off";
            }
            div id="tree" {}
        }
        dialog id="panel" aria-labelledby="panel-title" {}
    }
}
