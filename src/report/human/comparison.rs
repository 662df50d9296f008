//! The report for a terminal: the verdict, where the energy goes, why, and what to do next, on about one screen.

use std::fmt::{self, Write};

use anstyle::{AnsiColor, Style};
use comfy_table::CellAlignment;

use super::{HumanOptions, paragraph, plain, trimmed, widths};
use crate::printable::one_line;
use crate::report::wording::{self, Line};
use crate::report::{Comparison, Form, ReportedVerdict, Rewrite, Side, Unproven, Witness};

const BOLD: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const OPEN: Style = AnsiColor::Yellow.on_default().bold();
const FAINT: Style = Style::new().dimmed();

const HEADER: [&str; 8] = ["region", "×", "A", "B", "A costs", "B costs", "cheapest", "saves"];

/// A difference below this share of the side that costs more is told together with others.
const MINOR: f64 = 0.001;

/// Lines about why regions differ.
const MOST_LINES: usize = 18;

/// Names of operators in a list.
const MOST_NAMES: usize = 6;

/// The report as text with terminal styles; whoever prints it strips them where they are not wanted.
pub(crate) fn comparison(c: &Comparison, options: &HumanOptions) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let (lines, minor) = wording::lines(c).into_iter().partition(|line| !is_minor(c, line));
    let _ = Human { c, options, lines, minor }.write(&mut out);
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

struct Human<'c> {
    c: &'c Comparison,
    options: &'c HumanOptions,
    lines: Vec<Line<'c>>,
    /// Differences that hardly matter.
    minor: Vec<Line<'c>>,
}

/// Whether a difference is a tiny part of the whole.
fn is_minor(c: &Comparison, line: &Line) -> bool {
    let whole = c.a.energy_mj.value.zip(c.b.energy_mj.value).map(|(a, b)| a.max(b));
    let is_known = line.region.a.energy_mj.is_some() && line.region.b.energy_mj.is_some();
    is_known && line.region.tier != "none" && whole.is_some_and(|whole| line.weight_mj() < MINOR * whole)
}

impl Human<'_> {
    fn write(&self, out: &mut String) -> fmt::Result {
        let style = match self.c.verdict {
            ReportedVerdict::Equivalent => GOOD,
            ReportedVerdict::Different => BAD,
            ReportedVerdict::Unknown => OPEN,
        };
        writeln!(out, "{style}{}{style:#}\n", wording::verdict(self.c))?;
        self.rejected(out)?;
        if let Some(witness) = &self.c.witness {
            self.witness(witness, out)?;
        }
        // A witness says more than a pair that was not proven.
        let open = if self.c.witness.is_some() { 0 } else { self.options.notes };
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
                let text = format!("{}{source}", place.op);
                self.paragraph(&format!("    {side}: "), "       ", &text, out)?;
            }
        }
        writeln!(out)
    }

    fn unproven(&self, u: &Unproven, out: &mut String) -> fmt::Result {
        let agrees = wording::agreement(u.agrees_numerically);
        let (a, b) = (wording::names(&u.a_ops, MOST_NAMES), wording::names(&u.b_ops, MOST_NAMES));
        let text = format!("not proven equal: {a} of A and {b} of B ({agrees})");
        self.paragraph("  ", "    ", &text, out)?;
        out.push('\n');
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
            let (energy, us) = side.as_run();
            [
                name.to_owned(),
                wording::shorten_start(file, room),
                format!("{covered_ops} of {ops} ops proven"),
                wording::figure(energy),
                wording::time(us),
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
        if !self.c.settings.is_empty() {
            let all = wording::settings(&self.c.settings, self.options.notes);
            self.paragraph("  set differently: ", "    ", &all, out)?;
        }
        for (name, side) in sides {
            for fact in wording::energy_facts(side) {
                self.paragraph(&format!("  energy of {name}: "), "    ", &fact, out)?;
            }
        }
        let savings = wording::savings(self.c);
        if !savings.is_empty() {
            let (energy, us) = self.c.best.as_run();
            let (energy, time) = (wording::energy(energy), wording::time(us));
            writeln!(out, "  cheapest known equivalent: {energy}, {time}; {BOLD}saves {}{BOLD:#}", savings.join(", "))?;
            if let Some(once) = wording::precomputed(&self.c.best.precompute) {
                writeln!(out, "    with {once} that it computes once, before the first execution")?;
            }
        }
        if let Some(profile) = &self.c.profile {
            self.paragraph("  per execution; figures for ", "    ", profile, out)?;
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
        let told = |lines: &[Line]| lines.iter().map(|l| l.region.repeats).sum::<usize>();
        self.minor(told(&self.minor), out)?;
        let more = told(&self.lines) - told(self.shown());
        let alike = regions.saturating_sub(told(&self.lines) + told(&self.minor));
        let plural = |n: usize| if n == 1 { "region" } else { "regions" };
        if more > 0 {
            writeln!(out, "  {FAINT}{more} other {} that differ: --format html shows all{FAINT:#}", plural(more))?;
        }
        if alike > 0 {
            writeln!(out, "  {FAINT}{alike} {} alike on both sides{FAINT:#}", plural(alike))?;
        }
        out.push('\n');
        Ok(())
    }

    /// Differences that hardly matter, in one line.
    fn minor(&self, regions: usize, out: &mut String) -> fmt::Result {
        if regions == 0 {
            return Ok(());
        }
        let ids: Vec<String> = self.minor.iter().take(MOST_NAMES).map(|l| l.region.id.to_string()).collect();
        let more = if self.minor.len() > ids.len() { ", …" } else { "" };
        let all: f64 = self.minor.iter().map(Line::weight_mj).sum();
        let (share, all, ids) = (wording::percent(MINOR), wording::energy(Some(all)), ids.join(", "));
        let text = match regions {
            _ if self.minor.iter().all(|line| line.weight_mj() == 0.0) => {
                format!("{regions} more have other operators that cost the same: {ids}{more}")
            }
            1 => format!("1 region differs by less than {share}, {all}: {ids}"),
            _ => format!("{regions} regions differ by less than {share} each, {all} in all: {ids}{more}"),
        };
        self.paragraph("  ", "    ", &text, out)
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
                wording::cheapest_side(r).to_owned(),
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
        let texts: Vec<String> = self.shown().iter().map(|line| self.cause(line)).filter(|t| !t.is_empty()).collect();
        let mut used = 0;
        for (i, text) in texts.iter().enumerate() {
            used += text.lines().count();
            if used > MOST_LINES && i > 0 {
                writeln!(out, "  {FAINT}why {} more differ: explain says{FAINT:#}", texts.len() - i)?;
                break;
            }
            out.push_str(text);
        }
        if !texts.is_empty() {
            out.push('\n');
        }
        Ok(())
    }

    /// Why the sides of a region differ, its cheapest form, and where it stands.
    fn cause(&self, line: &Line) -> String {
        let (r, cause) = (line.region, &line.region.cause);
        let form =
            (r.best.form == Form::Other && r.best.energy_mj.is_some()).then(|| format!("cheapest: {}", r.best.text));
        let flag = cause.flag.as_ref().map(|f| format!("flag {f}"));
        let text = (!cause.text.is_empty()).then(|| cause.text.clone());
        let times = r.repeats as f64;
        let parts = r.difference.as_ref().map(|d| {
            let whole = wording::energy(Some(d.mj.abs() * times));
            format!("of {whole}: {}", wording::main_parts(d, times).join("; "))
        });
        let made = wording::only_made(r);
        let mut out = String::new();
        for fact in text.into_iter().chain(parts).chain(made).chain(form).chain(flag) {
            let head = if out.is_empty() { format!("  region {}: ", r.id) } else { "    ".to_owned() };
            // Writing to a string cannot fail.
            let _ = self.paragraph(&head, "    ", &fact, &mut out);
        }
        if !out.is_empty() {
            let _ = self.places(line, &mut out);
            for fact in r.cause.switch.iter().flat_map(wording::switch) {
                let _ = self.paragraph("    ", "      ", &fact, &mut out);
            }
        }
        out
    }

    /// The source lines of both sides: on one line where they fit.
    fn places(&self, line: &Line, out: &mut String) -> fmt::Result {
        let cause = &line.region.cause;
        let places = match (&cause.a_source, &cause.b_source) {
            (Some(a), Some(b)) if a == b => vec![format!("both {a}")],
            (a, b) => a.iter().map(|a| format!("A {a}")).chain(b.iter().map(|b| format!("B {b}"))).collect(),
        };
        let one = places.join("   ");
        let fits = one.chars().count() + 4 <= self.options.width;
        let lines = if fits && !places.is_empty() { vec![one] } else { places };
        lines.iter().try_for_each(|place| self.paragraph("    ", "      ", place, out))
    }

    fn rewrites(&self, out: &mut String) -> fmt::Result {
        let whole = self.c.a.energy_mj.value.unwrap_or(0.0).max(self.c.b.energy_mj.value.unwrap_or(0.0));
        let total = |group: &[&Rewrite]| group.iter().map(|r| r.saves_mj).sum::<f64>();
        let (groups, minor): (Vec<_>, Vec<_>) =
            wording::alike(&self.c.rewrites).into_iter().partition(|group| total(group) >= MINOR * whole);
        for group in groups.iter().take(self.options.notes) {
            let Some(first) = group.first() else { continue };
            let from: Vec<String> = first.from.split(", ").map(str::to_owned).collect();
            let times = if group.len() > 1 { format!(" (×{})", group.len()) } else { String::new() };
            let each = wording::energy(Some(first.saves_mj));
            let all = wording::energy(Some(total(group)));
            let saves = if group.len() > 1 { format!("{each} each, {all} in all") } else { each };
            let from = wording::operators(&from, (self.options.width / 2).saturating_sub(16));
            self.paragraph(
                "  ",
                "    ",
                &format!("cheaper than {from} of {:?}{times}: saves {saves}", first.side),
                out,
            )?;
            self.paragraph("    ", "      ", &first.pattern, out)?;
        }
        let rest = groups.len().saturating_sub(self.options.notes) + minor.len();
        if rest > 0 {
            let left = groups.iter().skip(self.options.notes).chain(&minor);
            let saves = wording::energy(Some(left.map(|group| total(group)).sum()));
            let save = if rest == 1 { "form saves" } else { "forms save" };
            writeln!(out, "  {FAINT}{rest} more cheaper {save} {saves}: --format html shows all{FAINT:#}")?;
        }
        if !groups.is_empty() || rest > 0 {
            out.push('\n');
        }
        Ok(())
    }

    fn assumptions(&self, out: &mut String) -> fmt::Result {
        let groups = wording::grouped(&self.c.assumptions);
        for &(text, count) in groups.iter().take(self.options.notes) {
            let times = if count > 1 { format!(" (×{count})") } else { String::new() };
            self.paragraph("  assumed: ", "    ", &format!("{text}{times}"), out)?;
        }
        let rest = groups.len().saturating_sub(self.options.notes);
        if rest > 0 {
            writeln!(out, "  {FAINT}and {rest} more assumptions: --format json lists all{FAINT:#}")?;
        }
        if !groups.is_empty() {
            out.push('\n');
        }
        Ok(())
    }

    fn paragraph(&self, head: &str, indent: &str, text: &str, out: &mut String) -> fmt::Result {
        paragraph(self.options.width, head, indent, text, out)
    }

    fn next(&self, out: &mut String) -> fmt::Result {
        let (a, b) = (one_line(&self.c.a.file), one_line(&self.c.b.file));
        let dearest =
            || self.lines.first().map(|l| l.region.id).filter(|_| self.c.verdict == ReportedVerdict::Equivalent);
        let region = self.c.witness.as_ref().and_then(|w| w.region).or_else(dearest);
        match region {
            Some(id) => writeln!(out, "next: magneton-ir explain {} {} {id}", quoted(&a), quoted(&b)),
            None if self.c.verdict == ReportedVerdict::Unknown && !self.c.unproven.is_empty() => {
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

/// A file name as a shell takes it.
fn quoted(file: &str) -> String {
    let plain = file.chars().all(|c| c.is_alphanumeric() || "-_./+=:@%,".contains(c));
    if plain && !file.is_empty() { file.to_owned() } else { format!("'{}'", file.replace('\'', r"'\''")) }
}
