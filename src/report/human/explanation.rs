//! One region in full, for a terminal.

use std::fmt::{self, Write};

use super::HumanOptions;
use crate::printable::one_line;
use crate::report::{Cost, Explanation, Operator, Step, wording};
use anstyle::Style;
use comfy_table::{ContentArrangement, Table, presets::NOTHING};

const BOLD: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();

/// The explanation as text with terminal styles, in lines of at most `width` characters where words allow.
pub fn explanation(e: &Explanation, options: &HumanOptions) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write(e, options.width, &mut out);
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
        writeln!(out, "  {}", wording::best(&r.best))?;
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
    let (energy, work) = (wording::energy_and_time(cost), wording::work(cost));
    writeln!(out, "\n{BOLD}{name}{BOLD:#}: {energy}\n  {work}")?;
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
