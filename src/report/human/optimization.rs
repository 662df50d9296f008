//! Cheaper forms of one workload, for a terminal.

use std::fmt::{self, Write};

use anstyle::Style;
use comfy_table::CellAlignment;

use super::{HumanOptions, paragraph, plain, trimmed, widths};
use crate::printable::one_line;
use crate::report::{Cheaper, Optimization, wording};

const BOLD: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();

/// Findings that save a smaller share of the whole are counted in one line.
const SMALL: f64 = 1e-3;

/// Kinds of precomputed tensors that are listed.
const MOST_PRECOMPUTED: usize = 8;

/// The report as text with terminal styles, in lines of at most `width` characters where words allow.
pub(crate) fn optimization(o: &Optimization, options: &HumanOptions) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write(o, options.width, &mut out);
    out
}

fn write(o: &Optimization, width: usize, out: &mut String) -> fmt::Result {
    let (energy, us) = o.now_as_run();
    let (now, time) = (wording::figure(energy), wording::time(us));
    writeln!(out, "{BOLD}{}: {} operators{BOLD:#}\n\n  now   {now}, {time}", one_line(&o.file), o.ops)?;
    let waiting = wording::waiting(o.launched.as_ref(), &o.energy_mj).map(|waiting| format!("of these, {waiting}"));
    for fact in [waiting, wording::left_out(&o.left_out)].into_iter().flatten() {
        writeln!(out, "        {fact}")?;
    }
    if o.cheaper.is_empty() && o.precompute.is_empty() {
        writeln!(out, "  the rules know no form that {} beyond doubt", wording::less(o))?;
    } else {
        let (energy, us) = o.best_as_run();
        let (best, time) = (wording::figure(energy), wording::time(us));
        let saves = wording::saved(o).map_or(String::new(), |s| format!("; {BOLD}saves {s}{BOLD:#}"));
        writeln!(out, "  best  {best}, {time}{saves}")?;
        if let Some(most) = wording::max_slowdown(o) {
            writeln!(out, "        {most}")?;
        }
    }
    if let Some(once) = wording::precomputed(&o.precompute) {
        let saves = o.precompute_saves_mj.map_or(String::new(), |mj| {
            format!("; {} of the saving is what the workload computes of them every time", wording::energy(Some(mj)))
        });
        let text = format!("{once}, computed before the first execution{saves}");
        paragraph(width, "  once  ", "        ", &text, out)?;
        for one in o.precompute.iter().take(MOST_PRECOMPUTED) {
            paragraph(width, "        ", "          ", &wording::precomputed_alike(one), out)?;
        }
        if let Some(more) = o.precompute.get(MOST_PRECOMPUTED..).and_then(wording::precomputed) {
            writeln!(out, "        and {more}")?;
        }
    }
    if let Some(profile) = &o.profile {
        writeln!(out, "  {FAINT}per execution; figures for {}{FAINT:#}", one_line(profile))?;
    }
    let (told, folded): (Vec<&Cheaper>, Vec<&Cheaper>) =
        o.cheaper.iter().partition(|c| o.share(c).is_none_or(|share| share >= SMALL) || o.cheaper.len() == 1);
    for (i, c) in told.iter().enumerate() {
        finding(i + 1, o, c, width, out)?;
    }
    if !folded.is_empty() {
        let all = wording::energy(Some(folded.iter().map(|c| c.total_mj()).sum()));
        let (count, each) = (folded.len(), wording::percent(SMALL));
        writeln!(out, "\n{FAINT}{count} more save less than {each} each, {all} together: --format json{FAINT:#}")?;
    }
    if !o.trade_offs.is_empty() {
        writeln!(out, "\n{BOLD}less energy for more time{BOLD:#}, left out of the figures above")?;
        for c in &o.trade_offs {
            let saves = wording::energy(Some(c.total_mj()));
            let form = format!("{} for {}", c.pattern, c.from.join(", "));
            let text = format!("saves {saves}, takes {}: {form}", wording::more_time(c));
            paragraph(width, "  ", "    ", &text, out)?;
        }
        frontier(o, width, out)?;
    }
    if !o.assumptions.is_empty() {
        out.push('\n');
    }
    for (text, _) in wording::grouped(&o.assumptions) {
        writeln!(out, "  assumed: {}", one_line(text))?;
    }
    Ok(())
}

/// What the workload takes with ever more of the trade-offs, each in one line.
fn frontier(o: &Optimization, width: usize, out: &mut String) -> fmt::Result {
    let rows = wording::frontier(o);
    if rows.is_empty() {
        return Ok(());
    }
    let [energy, time, _] = widths(&rows);
    // Two blanks before each column, one before the line.
    let room = width.saturating_sub(energy + time + 7).max(16);
    let mut table = plain(width);
    for [energy, time, form] in rows {
        table.add_row([energy, time, wording::shorten(&form, room)]);
    }
    for column in table.column_iter_mut().take(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(out, "\n  {FAINT}kernels of one execution{FAINT:#}\n{}", trimmed(&table))
}

/// What to do, where, and what it brings, in one line; then the form to call, with names for its parts.
fn finding(number: usize, o: &Optimization, c: &Cheaper, width: usize, out: &mut String) -> fmt::Result {
    let place = c.source.as_deref().and_then(|source| source.split(' ').next()?.rsplit('/').next());
    // Without a source line, the value that is computed in another way says where.
    let place = place.or_else(|| c.ops.first()?.last().map(String::as_str)).unwrap_or("?");
    let times = if c.ops.len() > 1 { format!(" in {} places", c.ops.len()) } else { String::new() };
    let slower = if c.trade_off { ", slower: a trade-off" } else { "" };
    let assumed = match c.assumptions() {
        0 => String::new(),
        1 => ", with 1 assumption".to_owned(),
        n => format!(", with {n} assumptions"),
    };
    let saves = wording::saves(o, c);
    let text = format!(
        "{place}: {} saves {saves}{times}{slower}, tier {}{assumed}",
        wording::change(&c.from, &c.into),
        c.tier
    );
    writeln!(out, "\n{BOLD}{number}. {}{BOLD:#}", one_line(&text))?;
    let mut line = |head: &str, text: &str| paragraph(width, &format!("  {head:9}"), "           ", text, out);
    line("now", &c.from.join(", "))?;
    for d in &c.definitions {
        line("let", &format!("{} = {}", d.name, d.text))?;
    }
    line("cheaper", &c.call)?;
    if let Some(source) = &c.source {
        line("at", source)?;
    }
    line("by", &c.rules().join(", "))
}
