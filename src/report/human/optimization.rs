//! Cheaper forms of one workload, for a terminal.

use std::fmt::{self, Write};

use anstyle::Style;

use super::HumanOptions;
use crate::printable::one_line;
use crate::report::{Optimization, wording};

const BOLD: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();

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
        writeln!(out, "  the rules know no form that costs less beyond doubt")?;
    } else {
        let (energy, us) = o.best_as_run();
        let (best, time) = (wording::figure(energy), wording::time(us));
        let saves = wording::saved(o).map_or(String::new(), |s| format!("; {BOLD}saves {s}{BOLD:#}"));
        writeln!(out, "  best  {best}, {time}{saves}")?;
    }
    if let Some(once) = wording::precomputed(&o.precompute) {
        let saves = o.precompute_saves_mj.map_or(String::new(), |mj| {
            format!("; {} of the saving is what the workload computes of them every time", wording::energy(Some(mj)))
        });
        writeln!(out, "  once  {once}, computed before the first execution{saves}")?;
        for one in o.precompute.iter().take(MOST_PRECOMPUTED) {
            writeln!(out, "        {}", wording::shorten(&wording::precomputed_alike(one), width.saturating_sub(8)))?;
        }
        if let Some(more) = o.precompute.get(MOST_PRECOMPUTED..).and_then(wording::precomputed) {
            writeln!(out, "        and {more}")?;
        }
    }
    if let Some(profile) = &o.profile {
        writeln!(out, "  {FAINT}per execution; figures for {}{FAINT:#}", one_line(profile))?;
    }
    for (i, c) in o.cheaper.iter().enumerate() {
        let times = if c.ops.len() > 1 { format!(", {} times", c.ops.len()) } else { String::new() };
        let slower = if c.trade_off { ", slower: a trade-off" } else { "" };
        let total = wording::energy(Some(c.total_mj()));
        writeln!(out, "\n{BOLD}{}. saves {total}{times}{slower}{BOLD:#}, tier {}", i + 1, c.tier)?;
        let room = width.saturating_sub(11);
        writeln!(out, "  now      {}", wording::shorten(&c.from.join(", "), room))?;
        writeln!(out, "  cheaper  {}", wording::shorten(&c.pattern, room))?;
        if let Some(source) = &c.source {
            writeln!(out, "  at       {}", wording::shorten_start(source, room))?;
        }
        writeln!(out, "  by       {}", wording::shorten(&c.rules().join(", "), room))?;
    }
    if !o.trade_offs.is_empty() {
        writeln!(out, "\n{BOLD}less energy for more time{BOLD:#}, left out of the figures above")?;
        for c in &o.trade_offs {
            let (saves, us) = (wording::energy(Some(c.total_mj())), -c.saves_us * c.ops.len() as f64);
            let form = format!("{} for {}", c.pattern, c.from.join(", "));
            let text = format!("saves {saves}, takes {} longer: {form}", wording::time(Some(us)));
            writeln!(out, "  {}", wording::shorten(&text, width.saturating_sub(2)))?;
        }
        for point in o.frontier.iter().skip(1) {
            let (energy, time) = (wording::energy(point.energy_mj), wording::time(point.time_us));
            writeln!(out, "  with some of them: {energy}, {time}")?;
        }
    }
    if !o.assumptions.is_empty() {
        out.push('\n');
    }
    for (text, _) in wording::grouped(&o.assumptions) {
        writeln!(out, "  assumed: {}", one_line(text))?;
    }
    Ok(())
}
