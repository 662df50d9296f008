//! Cheaper forms of one workload as Markdown.

use std::fmt::{self, Write};

use comfy_table::CellAlignment;

use super::{code, table};
use crate::printable::one_line;
use crate::report::{Optimization, wording};

/// The report as Markdown.
pub(crate) fn optimization(o: &Optimization) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write(o, &mut out);
    out
}

fn write(o: &Optimization, out: &mut String) -> fmt::Result {
    let saves = wording::saved(o);
    let verdict = saves.as_ref().map_or(format!("no form is known that {} beyond doubt", wording::less(o)), |s| {
        format!("cheaper forms save {s}")
    });
    writeln!(out, "**{}: {verdict}**\n", code(&o.file))?;
    writeln!(out, "- {} operators", o.ops)?;
    let (energy, us) = o.now_as_run();
    writeln!(out, "- now {}, {}", wording::figure(energy), wording::time(us))?;
    let waiting = wording::waiting(o.launched.as_ref(), &o.energy_mj).map(|waiting| format!("of these, {waiting}"));
    for fact in [waiting, wording::left_out(&o.left_out)].into_iter().flatten() {
        writeln!(out, "- {fact}")?;
    }
    if saves.is_some() {
        let (energy, us) = o.best_as_run();
        writeln!(out, "- best {}, {}", wording::figure(energy), wording::time(us))?;
    }
    if let Some(most) = wording::max_slowdown(o) {
        writeln!(out, "- {most}")?;
    }
    if let Some(once) = wording::precomputed(&o.precompute) {
        let saves = o.precompute_saves_mj.map_or(String::new(), |mj| {
            format!("; {} of the saving is what the workload computes of them every time", wording::energy(Some(mj)))
        });
        writeln!(out, "- computed once, before the first execution: {once}{saves}")?;
        for one in &o.precompute {
            writeln!(out, "  - {}", code(&wording::precomputed_alike(one)))?;
        }
    }
    if let Some(profile) = &o.profile {
        writeln!(out, "- per execution; figures for {}", one_line(profile))?;
    }
    if !o.cheaper.is_empty() {
        let mut rows = table(&["saves", "times", "tier", "now", "cheaper", "at", "by"]);
        for c in &o.cheaper {
            let slower = if c.trade_off { ", slower" } else { "" };
            rows.add_row([
                format!("{}{slower}", wording::saves(o, c)),
                c.ops.len().to_string(),
                c.tier.clone(),
                code(&c.from.join(", ")),
                code(&c.pattern),
                c.source.as_deref().map_or(String::new(), code),
                code(&c.rules().join(", ")),
            ]);
        }
        writeln!(out, "\n{rows}")?;
    }
    if !o.trade_offs.is_empty() {
        writeln!(out, "\nLess energy for more time, left out of the figures above:\n")?;
        let mut rows = table(&["saves", "takes", "now", "cheaper"]);
        for c in &o.trade_offs {
            let (saves, longer) = (wording::energy(Some(c.total_mj())), wording::more_time(c));
            rows.add_row([saves, longer, code(&c.from.join(", ")), code(&c.pattern)]);
        }
        writeln!(out, "{rows}")?;
        frontier(o, out)?;
    }
    if !o.assumptions.is_empty() {
        writeln!(out, "\nAssumed:\n")?;
    }
    for (text, _) in wording::grouped(&o.assumptions) {
        writeln!(out, "- {}", one_line(text))?;
    }
    Ok(())
}

/// What the workload takes with ever more of the trade-offs.
fn frontier(o: &Optimization, out: &mut String) -> fmt::Result {
    let all = wording::frontier(o);
    if all.is_empty() {
        return Ok(());
    }
    let mut rows = table(&["energy", "time", "form"]);
    for [energy, time, form] in all {
        rows.add_row([energy, time, code(&form)]);
    }
    for column in rows.column_iter_mut().take(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(out, "\nOf the kernels of one execution:\n\n{rows}")
}
