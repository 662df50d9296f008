//! One region in full, for a terminal.

use std::fmt::{self, Write};

use anstyle::Style;
use comfy_table::{ContentArrangement, Table, presets::NOTHING};
use serde::Serialize;

use crate::printable::one_line;

use super::{Cost, Region, wording};

/// A region with everything that is known about it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    pub region: Region,
    /// How many regions there are.
    pub regions: usize,
    pub a: Vec<Operator>,
    pub b: Vec<Operator>,
    /// Steps of the proof beyond normal forms, in the order in which they are applied.
    pub steps: Vec<Step>,
    /// Steps of the proofs of the cheaper forms that neither side has, over letters.
    pub cheaper: Vec<Step>,
}

/// An operator of the input file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Operator {
    pub name: String,
    pub kind: String,
    /// Types of operands and results, as `(f32[2], f32[2]) -> f32[2]`.
    pub types: String,
    pub cost: Cost,
    /// `file:line code`.
    pub source: Option<String>,
}

/// Two terms that a rule says are equal.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    pub rule: String,
    pub tier: String,
    pub doc: String,
    pub before: String,
    pub after: String,
}

const BOLD: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();

/// The explanation as text with terminal styles, in lines of at most `width` characters where words allow.
pub fn explanation(e: &Explanation, width: usize) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write(e, width, &mut out);
    out
}

fn write(e: &Explanation, width: usize, out: &mut String) -> fmt::Result {
    let r = &e.region;
    let meaning = wording::tier_meaning(&r.tier);
    writeln!(out, "{BOLD}region {} of {}, tier {}: {meaning}{BOLD:#}", r.id, e.regions, r.tier)?;
    if r.repeats > 1 {
        writeln!(out, "  one of {} that are the same", r.repeats)?;
    }
    for (name, cost, operators) in [("A", &r.a, &e.a), ("B", &r.b, &e.b)] {
        side(name, cost, operators, width, out)?;
    }
    out.push('\n');
    if r.best.energy_mj.is_some() {
        writeln!(out, "{BOLD}cheapest known form{BOLD:#}: {}", wording::cheapest(r, width))?;
        let (energy, time) = (wording::energy(r.best.energy_mj), wording::time(r.best.time_us));
        let savings = [(r.best.saves_vs_a, "A"), (r.best.saves_vs_b, "B")];
        let savings = savings.into_iter().filter_map(|(s, n)| s.filter(|&s| s > 0.0).map(|s| (s, n)));
        let savings: String = savings.map(|(s, n)| format!(", saves {} of {n}", wording::percent(s))).collect();
        let slower = if r.best.trade_off { "; slower: a trade-off" } else { "" };
        writeln!(out, "  {energy}, {time}{savings}{slower}")?;
    }
    if !r.cause.text.is_empty() {
        writeln!(out, "  {}", one_line(&r.cause.text))?;
    }
    if let Some(flag) = &r.cause.flag {
        writeln!(out, "  flag {}", one_line(flag))?;
    }
    writeln!(out, "\n{BOLD}proof{BOLD:#}")?;
    if e.steps.is_empty() {
        writeln!(out, "  both sides have the same normal form")?;
    }
    steps(&e.steps, out)?;
    if !e.cheaper.is_empty() {
        writeln!(out, "\n{BOLD}proof of the cheapest form{BOLD:#}, over letters for what it reads")?;
    }
    steps(&e.cheaper, out)
}

/// The steps of a proof, numbered.
fn steps(steps: &[Step], out: &mut String) -> fmt::Result {
    for (i, step) in steps.iter().enumerate() {
        writeln!(out, "  {}. {} [{}]", i + 1, step.rule, step.tier)?;
        writeln!(out, "     {FAINT}{}{FAINT:#}", step.doc.replace('\n', " "))?;
        writeln!(out, "     {}", one_line(&step.before))?;
        writeln!(out, "     = {}", one_line(&step.after))?;
    }
    Ok(())
}

fn side(name: &str, cost: &Cost, operators: &[Operator], width: usize, out: &mut String) -> fmt::Result {
    let Cost { launches, flops, bytes, energy_source, .. } = cost;
    let range = cost.energy_range_mj.map_or(String::new(), |[low, high]| {
        let source = format!("{energy_source:?}").to_lowercase();
        format!(" ({} to {}, {source})", wording::energy(Some(low)), wording::energy(Some(high)))
    });
    let (energy, time) = (wording::energy(cost.energy_mj), wording::time(cost.time_us));
    writeln!(out, "\n{BOLD}{name}{BOLD:#}: energy {energy}{range}, {time}")?;
    let (flops, bytes) = (wording::amount(*flops, "FLOP"), wording::amount(*bytes, "B"));
    writeln!(out, "  kernels {launches}, arithmetic {flops}, memory traffic {bytes}")?;
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic).force_no_tty();
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    for o in operators {
        let source = wording::shorten(o.source.as_deref().unwrap_or(""), width);
        let [name, kind, types] = [&o.name, &o.kind, &o.types].map(|text| one_line(text).into_owned());
        table.add_row([name, kind, types, wording::energy(o.cost.energy_mj), source]);
    }
    for line in table.lines() {
        writeln!(out, " {}", line.trim_end())?;
    }
    Ok(())
}
