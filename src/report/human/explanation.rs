//! One region in full, for a terminal.

use std::fmt::{self, Write};

use anstyle::Style;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets::NOTHING};

use super::proof::proof;
use super::snippet::snippet;
use super::{HumanOptions, paragraph};
use crate::printable::one_line;
use crate::report::{Cost, Explanation, Operator, Switch, wording};

const BOLD: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();

/// Calls of a path in such a report.
const CALLS: usize = 3;

/// Operators of a side in such a report.
const OPERATORS: usize = 8;

/// The explanation as text with terminal styles.
pub(crate) fn explanation(e: &Explanation, options: &HumanOptions) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = Human { e, options }.write(&mut out);
    out
}

struct Human<'e> {
    e: &'e Explanation,
    options: &'e HumanOptions,
}

impl Human<'_> {
    fn write(&self, out: &mut String) -> fmt::Result {
        let (e, r) = (self.e, &self.e.region);
        let meaning = wording::tier_meaning(&r.tier);
        writeln!(out, "{BOLD}region {} of {}, tier {}: {meaning}{BOLD:#}", r.id, e.regions, r.tier)?;
        if r.repeats > 1 {
            writeln!(out, "  one of {} that are the same", r.repeats)?;
        }
        for (name, cost, operators) in [("A", &r.a, &e.a), ("B", &r.b, &e.b)] {
            self.side(name, cost, operators, out)?;
        }
        out.push('\n');
        self.best(out)?;
        proof(e, self.options, out)
    }

    fn side(&self, name: &str, cost: &Cost, operators: &[Operator], out: &mut String) -> fmt::Result {
        let (energy, work) = (wording::energy_and_time(cost), wording::work(cost));
        writeln!(out, "\n{BOLD}{name}{BOLD:#}: {energy}\n  {work}")?;
        let source = operators.first().map(|o| &o.source).filter(|&s| operators.iter().all(|o| o.source == *s));
        if let Some(Some(source)) = source {
            paragraph(self.options.width, "  at ", "    ", source, out)?;
        }
        let (shown, rest) = self.shown(operators);
        let mut table = Table::new();
        table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic).force_no_tty();
        table.set_width(u16::try_from(self.options.width).unwrap_or(u16::MAX));
        for &o in &shown {
            table.add_row(if self.options.full { full_row(o, source.is_some()) } else { row(o, source.is_some()) });
        }
        if let Some(column) = table.column_mut(3) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        for line in table.lines() {
            writeln!(out, " {}", line.trim_end())?;
        }
        if !rest.is_empty() {
            let energy: Option<f64> = rest.iter().map(|o| o.cost.energy_mj).sum();
            writeln!(out, "  {FAINT}and {} more operators, {}: --full{FAINT:#}", rest.len(), wording::energy(energy))?;
        }
        Ok(())
    }

    /// The operators of a side that are shown, which are those that cost most, and the others; both in the file's order.
    fn shown<'o>(&self, operators: &'o [Operator]) -> (Vec<&'o Operator>, Vec<&'o Operator>) {
        if self.options.full || operators.len() <= OPERATORS + 1 {
            return (operators.iter().collect(), Vec::new());
        }
        // What has no known energy may cost most of all.
        let energy = |i: &usize| operators[*i].cost.energy_mj.unwrap_or(f64::INFINITY);
        let mut order: Vec<usize> = (0..operators.len()).collect();
        order.sort_by(|i, j| energy(j).total_cmp(&energy(i)));
        order.truncate(OPERATORS);
        let (shown, rest): (Vec<_>, Vec<_>) = operators.iter().enumerate().partition(|(i, _)| order.contains(i));
        let only = |all: Vec<(usize, &'o Operator)>| all.into_iter().map(|(_, o)| o).collect();
        (only(shown), only(rest))
    }

    fn best(&self, out: &mut String) -> fmt::Result {
        let r = &self.e.region;
        if r.best.energy_mj.is_some() {
            let text = format!("{}; {}", wording::cheapest(r, usize::MAX), wording::best(&r.best));
            paragraph(self.options.width, "cheapest known form: ", "  ", &text, out)?;
        }
        if !r.cause.text.is_empty() {
            paragraph(self.options.width, "  ", "  ", &r.cause.text, out)?;
        }
        if let Some(difference) = &r.difference {
            writeln!(out, "  of {} between A and B:", wording::energy(Some(difference.mj.abs())))?;
            for part in wording::parts(difference, 1.0) {
                paragraph(self.options.width, "    ", "      ", &part, out)?;
            }
        }
        for made in wording::only_made(r) {
            paragraph(self.options.width, "  ", "    ", &made, out)?;
        }
        if let Some(flag) = &r.cause.flag {
            let how = r.cause.how.as_ref().map_or(String::new(), |how| format!("; how: {how}"));
            paragraph(self.options.width, "  flag ", "    ", &format!("{flag}{how}"), out)?;
        }
        let calls = wording::paths(&r.cause.paths, if self.options.full { usize::MAX } else { CALLS });
        if !calls.is_empty() || r.cause.switch.is_some() {
            writeln!(out, "  the calls part:")?;
            for call in &calls {
                paragraph(self.options.width, "    ", "      ", call, out)?;
            }
        }
        if let Some(switch) = &r.cause.switch {
            self.switch(switch, out)?;
        }
        out.push('\n');
        Ok(())
    }

    /// What decides which way the calls take, with its line of source where that fits.
    fn switch(&self, switch: &Switch, out: &mut String) -> fmt::Result {
        let width = self.options.width;
        let message = format!("{} this:", wording::decides(switch));
        let facts = match snippet(&message, &switch.expression, width.saturating_sub(2)) {
            Some(lines) => {
                lines.lines().try_for_each(|line| writeln!(out, "  {line}"))?;
                wording::variables(switch)
            }
            None => wording::switch(switch),
        };
        facts.iter().try_for_each(|fact| paragraph(width, "    ", "      ", fact, out))
    }
}

/// The types of results in a few words: `3 × f32[8, 768]`.
fn results(types: &str) -> String {
    let all: Vec<&str> = types.split_inclusive(']').map(|ty| ty.trim_start_matches(", ")).collect();
    match all.as_slice() {
        [first, .., _] if all.iter().all(|ty| ty == first) => format!("{} × {first}", all.len()),
        [first, rest @ ..] if !rest.is_empty() => format!("{first}, +{}", rest.len()),
        _ => types.to_owned(),
    }
}

/// Name, kind, what it makes, energy, and the place if the side does not say it already.
fn row(o: &Operator, is_placed: bool) -> Vec<String> {
    let makes = o.types.rsplit_once("-> ").map_or(o.types.as_str(), |(_, results)| results);
    let source = o.source.as_deref().unwrap_or("");
    let place = source.split(' ').next().unwrap_or("").rsplit('/').next().unwrap_or("");
    let mut row = vec![
        wording::shorten(&o.name, 30),
        wording::shorten(&o.kind, 20),
        wording::shorten(&results(makes), 32),
        wording::energy(o.cost.energy_mj),
    ];
    if !is_placed {
        let left = 96 - row.iter().map(|cell| cell.chars().count() + 2).sum::<usize>().min(80);
        row.push(wording::shorten_start(place, left.min(24)));
    }
    row
}

/// The same with all of its types and its source line.
fn full_row(o: &Operator, is_placed: bool) -> Vec<String> {
    let [name, kind, types] = [&o.name, &o.kind, &o.types].map(|text| one_line(text).into_owned());
    let mut row = vec![name, kind, types, wording::energy(o.cost.energy_mj)];
    if !is_placed {
        row.push(one_line(o.source.as_deref().unwrap_or("")).into_owned());
    }
    row
}
