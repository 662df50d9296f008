//! The proof of a region as an argument, for a terminal.

use std::fmt::{self, Write};
use std::ops::Range;

use anstyle::Style;

use super::{HumanOptions, paragraph};
use crate::printable::one_line;
use crate::report::{Chain, Explanation, Step, wording};

const BOLD: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();

/// Lines of a report that is not shown in full.
const LINES: usize = 60;

/// Writes the proof below what `out` holds of the report already, within its lines unless all is to be shown.
pub(super) fn proof(e: &Explanation, options: &HumanOptions, out: &mut String) -> fmt::Result {
    writeln!(out, "{BOLD}proof{BOLD:#}")?;
    wording::chain(e).iter().try_for_each(|line| paragraph(options.width, "  ", "    ", line, out))?;
    if e.steps.is_empty() {
        writeln!(out, "  both sides have the same normal form")?;
    }
    let rest = if e.cheaper.is_empty() { 0 } else { 3 };
    let left = LINES.saturating_sub(out.lines().count() + rest);
    // Half of the room is for the second proof, where there is one.
    let room = if e.cheaper.is_empty() { left } else { left / 2 };
    Steps { e, options, steps: &e.steps, chain: e.chain.as_ref(), known: 0 }.write(room, out)?;
    if !e.cheaper.is_empty() {
        writeln!(out, "\n{BOLD}proof of the cheapest form{BOLD:#}, over letters for what it reads")?;
        let room = LINES.saturating_sub(out.lines().count());
        let chain = e.cheaper_chain.as_ref();
        Steps { e, options, steps: &e.cheaper, chain, known: e.steps.len() }.write(room, out)?;
    }
    Ok(())
}

/// Steps that begin with `chain` and come after `known` others.
struct Steps<'e> {
    e: &'e Explanation,
    options: &'e HumanOptions,
    steps: &'e [Step],
    chain: Option<&'e Chain>,
    known: usize,
}

impl Steps<'_> {
    /// The steps, numbered, in at most `room` lines unless all is to be shown. Where that is too little, some are told by their rules
    /// alone: those that change the energy least.
    fn write(&self, room: usize, out: &mut String) -> fmt::Result {
        let groups = self.groups();
        let text = |is_brief| -> Vec<String> { groups.iter().map(|group| self.text(group, is_brief)).collect() };
        let lines = |text: &String| text.lines().count();
        let (mut texts, in_full) = (text(true), text(false));
        let room = if self.options.full { usize::MAX } else { room };
        let mut used: usize = texts.iter().map(lines).sum();
        let fits = used <= room;
        let changes = |group: &Range<usize>| self.steps.get(group.start).map_or(0.0, changes_mj);
        let mut order: Vec<usize> = (0..groups.len()).collect();
        order.sort_by(|&i, &j| changes(&groups[j]).total_cmp(&changes(&groups[i])));
        for i in order {
            let with = used - lines(&texts[i]) + lines(&in_full[i]);
            if with <= room {
                (texts[i], used) = (in_full[i].clone(), with);
            }
        }
        used = 0;
        for (group, text) in groups.iter().zip(&texts) {
            used += lines(text);
            // One line is kept for what is left out.
            if !fits && used + 1 > room {
                let rest = self.steps.len() - group.start;
                let plural = if rest == 1 { "step" } else { "steps" };
                writeln!(out, "  {FAINT}and {rest} more {plural}: --full{FAINT:#}")?;
                break;
            }
            out.push_str(text);
        }
        Ok(())
    }

    /// Whether a step is told in a line: it only rearranges what is computed.
    fn is_folded(&self, at: usize) -> bool {
        !self.options.full && wording::changes_nothing(self.steps, at, self.chain)
    }

    /// The steps by places, those together that are told in one line.
    fn groups(&self) -> Vec<Range<usize>> {
        let mut groups: Vec<Range<usize>> = Vec::new();
        let joins = |at: usize| self.is_folded(at) && self.steps.get(at).is_some_and(|step| step.assumes.is_empty());
        for at in 0..self.steps.len() {
            match groups.last_mut() {
                Some(last) if joins(at) && joins(last.start) => last.end = at + 1,
                _ => groups.push(at..at + 1),
            }
        }
        groups
    }

    fn text(&self, group: &Range<usize>, is_brief: bool) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = match group.len() {
            1 => self.step(group.start, is_brief || self.is_folded(group.start), &mut out),
            _ => self.together(group, &mut out),
        };
        out
    }

    fn step(&self, at: usize, is_brief: bool, out: &mut String) -> fmt::Result {
        let Some(step) = self.steps.get(at) else { return Ok(()) };
        let width = self.options.width;
        let rule = wording::rule(self.steps, at, self.chain);
        let text = format!("{rule}: {}", step.doc.replace('\n', " "));
        paragraph(width, &format!("  {}. ", self.known + at + 1), "     ", &text, out)?;
        self.definitions(at, is_brief, out)?;
        if !is_brief {
            let (before, after) = (&step.before, &step.after);
            let one = format!("     {} = {}", one_line(before), one_line(after));
            if one.chars().count() <= width {
                writeln!(out, "{one}")?;
            } else {
                paragraph(width, "     ", "       ", before, out)?;
                paragraph(width, "     = ", "       ", after, out)?;
            }
        }
        step.assumes.iter().try_for_each(|text| paragraph(width, "     assumed: ", "       ", text, out))
    }

    /// Steps that change nothing, by the names of their rules.
    fn together(&self, group: &Range<usize>, out: &mut String) -> fmt::Result {
        let mut rules: Vec<&str> = self.steps.get(group.clone()).unwrap_or_default().iter().map(|s| &*s.rule).collect();
        rules.dedup();
        let head = format!("  {} to {}. ", self.known + group.start + 1, self.known + group.end);
        let text = format!("{} [same energy]", rules.join(", "));
        paragraph(self.options.width, &head, "     ", &text, out)?;
        group.clone().try_for_each(|at| self.definitions(at, true, out))
    }

    /// The names that a step introduces. A step that is told by its rule leaves out those that stand in the tables above or that
    /// nothing uses after it.
    fn definitions(&self, at: usize, is_brief: bool, out: &mut String) -> fmt::Result {
        let (Some(step), later) = (self.steps.get(at), self.steps.get(at + 1..).unwrap_or_default()) else {
            return Ok(());
        };
        let is_operator = |name: &str| self.e.a.iter().chain(&self.e.b).any(|o| o.name == name);
        let is_used = |name: &str| later.iter().any(|step| uses(step, name));
        let mut told = step.definitions.iter().filter(|d| !is_brief || is_used(&d.name) && !is_operator(&d.name));
        told.try_for_each(|d| {
            paragraph(self.options.width, "     let ", "       ", &format!("{} = {}", d.name, d.text), out)
        })
    }
}

/// By how much a step changes what is spent; without a limit where that is not known.
fn changes_mj(step: &Step) -> f64 {
    step.before_mj.zip(step.after_mj).map_or(f64::INFINITY, |(before, after)| (before - after).abs())
}

/// Whether the text of a step may use a name.
fn uses(step: &Step, name: &str) -> bool {
    let defined = step.definitions.iter().map(|d| &d.text);
    [&step.before, &step.after].into_iter().chain(defined).chain(&step.assumes).any(|text| text.contains(name))
}
