//! The report for a terminal: the verdict, where the energy goes, why, and what to do next, on about one screen.

use std::fmt::{self, Write};

use anstyle::{AnsiColor, Style};
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table};

use super::HumanOptions;
use crate::printable::one_line;
use crate::report::wording::{self, Line};
use crate::report::{Comparison, Side, Unproven, Verdict, Witness};

const BOLD: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const OPEN: Style = AnsiColor::Yellow.on_default().bold();
const FAINT: Style = Style::new().dimmed();

const HEADER: [&str; 8] = ["region", "×", "A", "B", "A costs", "B costs", "cheapest", "saves"];

/// Longest lists below the table.
const MOST_NOTES: usize = 4;

/// The report as text with terminal styles; whoever prints it strips them where they are not wanted.
pub fn comparison(c: &Comparison, options: &HumanOptions) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = Human { c, options, lines: wording::lines(c) }.write(&mut out);
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

struct Human<'c> {
    c: &'c Comparison,
    options: &'c HumanOptions,
    lines: Vec<Line<'c>>,
}

impl Human<'_> {
    fn write(&self, out: &mut String) -> fmt::Result {
        let style = match self.c.verdict {
            Verdict::Equivalent => GOOD,
            Verdict::Different => BAD,
            Verdict::Unknown => OPEN,
        };
        writeln!(out, "{style}{}{style:#}\n", wording::verdict(self.c))?;
        self.rejected(out)?;
        if let Some(witness) = &self.c.witness {
            self.witness(witness, out)?;
        }
        // A witness says more than a pair that was not proven.
        let open = if self.c.witness.is_some() { 0 } else { MOST_NOTES };
        for unproven in self.c.unproven.iter().take(open) {
            self.unproven(unproven, out)?;
        }
        self.sides(out)?;
        self.table(out)?;
        self.causes(out)?;
        self.rewrites(out)?;
        self.assumptions(out)?;
        self.next(out)
    }

    fn rejected(&self, out: &mut String) -> fmt::Result {
        for rejected in &self.c.rejected {
            writeln!(out, "  {}", wording::rejected(rejected))?;
        }
        if !self.c.rejected.is_empty() {
            writeln!(out, "  {}\n", wording::HOW_TO_REPORT)?;
        }
        Ok(())
    }

    fn witness(&self, w: &Witness, out: &mut String) -> fmt::Result {
        let (output, index) = (one_line(&w.output), &w.index);
        if let Some([a, b]) = &w.constants {
            let (a, b) = (one_line(a), one_line(b));
            return writeln!(out, "  {output} is {a} in A and {b} in B, whatever the inputs are\n");
        }
        writeln!(out, "  seed {}: {output}{index:?} is {} in A and {} in B", w.seed, w.a, w.b)?;
        writeln!(out, "  largest difference among the sampled elements: {}", wording::digits(w.max_abs_error))?;
        if let Some(region) = w.region {
            writeln!(
                out,
                "  the sides part in region {region}: its operands agree, its results do not; look first at"
            )?;
        }
        for (side, place) in [("A", &w.first_a), ("B", &w.first_b)] {
            if let Some(place) = place {
                let source = place.source.as_ref().map_or(String::new(), |s| format!("  {s}"));
                let room = self.options.width.saturating_sub(6);
                writeln!(out, "    {side}: {}", wording::shorten(&format!("{}{source}", place.op), room))?;
            }
        }
        writeln!(out)
    }

    fn unproven(&self, u: &Unproven, out: &mut String) -> fmt::Result {
        let room = self.options.width.saturating_sub(60) / 2;
        let list = |ops: &[String]| wording::shorten(&ops.join(", "), room.max(12));
        let agrees = wording::agreement(u.agrees_numerically);
        writeln!(out, "  not proven equal: {} of A and {} of B ({agrees})\n", list(&u.a_ops), list(&u.b_ops))?;
        for text in [&u.a_mir, &u.b_mir].into_iter().flatten() {
            indented(text, out)?;
        }
        if let Some(rule) = &u.rule {
            writeln!(out, "  proven by this rule, if it holds:\n")?;
            indented(rule, out)?;
        }
        Ok(())
    }

    fn sides(&self, out: &mut String) -> fmt::Result {
        let cells = |(name, side): (&str, &Side), room: usize| {
            let Side { file, ops, covered_ops, .. } = side;
            [
                name.to_owned(),
                wording::shorten_start(file, room),
                format!("{covered_ops} of {ops} ops proven"),
                wording::figure(&side.energy_mj),
                wording::time(side.time_us),
            ]
        };
        let sides = [("A", &self.c.a), ("B", &self.c.b)];
        let full = sides.map(|side| cells(side, usize::MAX));
        let others = widths(&full).iter().enumerate().filter(|&(column, _)| column != 1).map(|(_, w)| w + 2).sum();
        let room = self.options.width.saturating_sub(others).saturating_sub(3).max(16);
        let mut table = plain(self.options.width);
        for side in sides {
            table.add_row(cells(side, room));
        }
        writeln!(out, "{}", trimmed(&table))?;
        for (name, side) in [("A", &self.c.a), ("B", &self.c.b)].into_iter().filter(|(_, s)| !s.flags.is_empty()) {
            writeln!(out, "  flags of {name}: {}", one_line(&side.flags.join(", ")))?;
        }
        for (name, side) in sides {
            let facts = [wording::basis(&side.energy_basis_mj), wording::left_out(&side.left_out)];
            for fact in facts.into_iter().flatten() {
                let room = self.options.width.saturating_sub(15);
                writeln!(out, "  {FAINT}energy of {name}: {}{FAINT:#}", wording::shorten(&fact, room))?;
            }
        }
        let best = &self.c.best;
        let savings: Vec<String> = [(best.saves_vs_a, "A"), (best.saves_vs_b, "B")]
            .into_iter()
            .filter_map(|(saves, name)| {
                saves.filter(|&s| s > 0.0).map(|s| format!("{} of {name}", wording::percent(s)))
            })
            .collect();
        if !savings.is_empty() {
            let energy = wording::energy(best.energy_mj);
            let time = wording::time(best.time_us);
            writeln!(out, "  cheapest known equivalent: {energy}, {time}; {BOLD}saves {}{BOLD:#}", savings.join(", "))?;
        }
        if let Some(profile) = &self.c.profile {
            writeln!(
                out,
                "  {FAINT}per execution; figures for {}{FAINT:#}",
                wording::shorten(profile, self.options.width - 28)
            )?;
        }
        out.push('\n');
        Ok(())
    }

    fn shown(&self) -> &[Line<'_>] {
        &self.lines[..self.lines.len().min(self.options.regions)]
    }

    fn table(&self, out: &mut String) -> fmt::Result {
        let regions = self.c.regions.len();
        if regions == 0 {
            return Ok(());
        }
        if !self.lines.is_empty() {
            let mut table = plain(self.options.width);
            table.set_header(HEADER);
            for row in self.rows() {
                table.add_row(row);
            }
            for column in [1, 4, 5] {
                if let Some(column) = table.column_mut(column) {
                    column.set_cell_alignment(CellAlignment::Right);
                }
            }
            writeln!(out, "{}", trimmed(&table))?;
        }
        let told: usize = self.shown().iter().map(|l| l.region.repeats).sum();
        let rest = regions.saturating_sub(told);
        if rest > 0 {
            let plural = if rest == 1 { "region" } else { "regions" };
            let text = if self.lines.is_empty() {
                format!("{rest} {plural}, alike on both sides")
            } else {
                format!("{rest} other {plural}")
            };
            writeln!(out, "  {FAINT}{text}{FAINT:#}")?;
        }
        out.push('\n');
        Ok(())
    }

    /// The cells of the table. The operators get the room that the other columns leave; what one side does
    /// not need, the other one gets.
    fn rows(&self) -> Vec<[String; HEADER.len()]> {
        let cells = |l: &Line, room_a, room_b| {
            let r = l.region;
            [
                r.id.to_string(),
                r.repeats.to_string(),
                wording::operators(&r.a_kinds, room_a),
                wording::operators(&r.b_kinds, room_b),
                l.energy(r.a.energy_mj),
                l.energy(r.b.energy_mj),
                wording::cheapest(r, 16),
                l.saving_text(self.c),
            ]
        };
        let full: Vec<_> = self.shown().iter().map(|l| cells(l, usize::MAX, usize::MAX)).collect();
        let rows = [HEADER.map(str::to_owned)].into_iter().chain(full).collect::<Vec<_>>();
        let [region, times, a, b, cost_a, cost_b, cheapest, saves] = widths(&rows);
        // Two blanks around every cell, one before the line.
        let others = region + times + cost_a + cost_b + cheapest + saves + 2 * HEADER.len() + 1;
        let room = self.options.width.saturating_sub(others).max(20);
        let (room_a, room_b) = (room - b.min(room / 2), room - a.min(room / 2));
        self.shown().iter().map(|l| cells(l, room_a, room_b)).collect()
    }

    fn causes(&self, out: &mut String) -> fmt::Result {
        let mut any = false;
        for line in self.shown() {
            let (r, cause) = (line.region, &line.region.cause);
            let flag = cause.flag.as_ref().map(|f| format!("flag {f}"));
            let sources = [("A", &cause.a_source), ("B", &cause.b_source)];
            let room = (self.options.width / 2).saturating_sub(7);
            let place = |(name, source): (_, &Option<String>)| {
                source.as_ref().map(|s| format!("{name} {}", wording::shorten_start(s, room)))
            };
            let places = match sources {
                [(_, Some(a)), (_, Some(b))] if a == b => format!("both {}", wording::shorten_start(a, 2 * room)),
                _ => sources.into_iter().filter_map(place).collect::<Vec<_>>().join("   "),
            };
            let facts = (!cause.text.is_empty()).then(|| cause.text.clone()).into_iter().chain(flag);
            for (i, fact) in facts.enumerate() {
                let head = if i == 0 { format!("  region {}: ", r.id) } else { "    ".to_owned() };
                let room = self.options.width.saturating_sub(head.chars().count());
                writeln!(out, "{head}{}", wording::shorten(&fact, room))?;
                any = true;
            }
            let told = !cause.text.is_empty() || cause.flag.is_some();
            if told && !places.is_empty() {
                writeln!(out, "    {FAINT}{places}{FAINT:#}")?;
            }
        }
        if any {
            out.push('\n');
        }
        Ok(())
    }

    fn rewrites(&self, out: &mut String) -> fmt::Result {
        let groups = wording::alike(&self.c.rewrites);
        let room = self.options.width.saturating_sub(8);
        for group in groups.iter().take(MOST_NOTES) {
            let Some(first) = group.first() else { continue };
            let from: Vec<String> = first.from.split(", ").map(str::to_owned).collect();
            let times = if group.len() > 1 { format!(" (×{})", group.len()) } else { String::new() };
            let total: f64 = group.iter().map(|r| r.saves_mj).sum();
            let each = wording::energy(Some(first.saves_mj));
            let saves =
                if group.len() > 1 { format!("{each} each, {} in all", wording::energy(Some(total))) } else { each };
            writeln!(
                out,
                "  cheaper than {} of {:?}{times}: saves {saves}",
                wording::operators(&from, room / 2),
                first.side
            )?;
            writeln!(out, "    {}", wording::shorten(&first.pattern, room))?;
        }
        self.more(groups.len(), "cheaper forms", out)
    }

    fn assumptions(&self, out: &mut String) -> fmt::Result {
        let groups = wording::grouped(&self.c.assumptions);
        for &(text, count) in groups.iter().take(MOST_NOTES) {
            let times = if count > 1 { format!(" (×{count})") } else { String::new() };
            let room = self.options.width.saturating_sub(11 + times.chars().count());
            writeln!(out, "  assumed: {}{times}", wording::shorten(text, room))?;
        }
        self.more(groups.len(), "assumptions", out)
    }

    /// Ends a list that shows the first few of `count`.
    fn more(&self, count: usize, what: &str, out: &mut String) -> fmt::Result {
        if count > MOST_NOTES {
            writeln!(out, "  {FAINT}and {} more {what}: --format json lists all{FAINT:#}", count - MOST_NOTES)?;
        }
        if count > 0 {
            out.push('\n');
        }
        Ok(())
    }

    fn next(&self, out: &mut String) -> fmt::Result {
        let (a, b) = (one_line(&self.c.a.file), one_line(&self.c.b.file));
        let dearest = || self.lines.first().map(|l| l.region.id).filter(|_| self.c.verdict == Verdict::Equivalent);
        let region = self.c.witness.as_ref().and_then(|w| w.region).or_else(dearest);
        match region {
            Some(id) => writeln!(out, "next: magneton-ir explain {} {} {id}", quoted(&a), quoted(&b)),
            None if self.c.verdict == Verdict::Unknown && !self.c.unproven.is_empty() => {
                writeln!(out, "next: if they should be equal, state the missing rule in a file and pass --rules FILE")
            }
            None => Ok(()),
        }
    }
}

/// A block of text, set off from what surrounds it.
fn indented(text: &str, out: &mut String) -> fmt::Result {
    text.lines().try_for_each(|line| writeln!(out, "    {line}"))?;
    writeln!(out)
}

/// Characters in the widest cell of every column.
fn widths<const N: usize>(rows: &[[String; N]]) -> [usize; N] {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    widths
}

/// A file name as a shell takes it.
fn quoted(file: &str) -> String {
    let plain = file.chars().all(|c| c.is_alphanumeric() || "-_./+=:@%,".contains(c));
    if plain && !file.is_empty() { file.to_owned() } else { format!("'{}'", file.replace('\'', r"'\''")) }
}

fn plain(width: usize) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic).force_no_tty();
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    table
}

/// The table's text without blanks at the ends of lines.
fn trimmed(table: &Table) -> String {
    table.lines().map(|l| format!(" {}", l.trim_end())).collect::<Vec<_>>().join("\n")
}
