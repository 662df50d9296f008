//! A comparison as Markdown.

use std::fmt::{self, Write};

use super::{code, table};
use crate::printable::one_line;
use crate::report::{Comparison, wording};

/// The report as Markdown.
pub(crate) fn comparison(c: &Comparison) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write(c, &mut out);
    out
}

fn write(c: &Comparison, out: &mut String) -> fmt::Result {
    writeln!(out, "**{}**\n", wording::verdict(c))?;
    for rejected in &c.rejected {
        writeln!(out, "- {}", wording::rejected(rejected))?;
    }
    if !c.rejected.is_empty() {
        writeln!(out, "- {}\n", wording::HOW_TO_REPORT)?;
    }
    let mut sides = table(&["side", "file", "operators proven", "energy per execution", "time"]);
    for (name, side) in [("A", &c.a), ("B", &c.b)] {
        sides.add_row([
            name.to_owned(),
            code(&side.file),
            format!("{} of {}", side.covered_ops, side.ops),
            wording::figure(side.as_run().0),
            wording::time(side.as_run().1),
        ]);
    }
    writeln!(out, "{sides}\n")?;
    for (name, side) in [("A", &c.a), ("B", &c.b)] {
        for fact in wording::energy_facts(side) {
            writeln!(out, "- energy of {name}: {fact}")?;
        }
    }
    for saving in wording::savings(c) {
        let energy = wording::energy(c.best.as_run().0);
        writeln!(out, "- the cheapest known equivalent ({energy}) saves {saving}")?;
    }
    if let Some(once) = wording::precomputed(&c.best.precompute) {
        writeln!(out, "- with {once} that it computes once, before the first execution")?;
        for one in &c.best.precompute {
            writeln!(out, "  - {}", code(&wording::precomputed_alike(one)))?;
        }
    }
    if let Some(profile) = &c.profile {
        writeln!(out, "- figures for {}", one_line(profile))?;
    }
    if let Some(w) = &c.witness {
        match &w.constants {
            Some([a, b]) => writeln!(out, "- {} is {} in A and {} in B", code(&w.output), code(a), code(b))?,
            None => {
                let element = code(&format!("{}{:?}", one_line(&w.output), w.index));
                writeln!(out, "- seed {}: {element} is {} in A and {} in B", w.seed, w.a, w.b)?;
            }
        }
        if let Some(region) = w.region {
            writeln!(out, "- the sides part in region {region}: its operands agree, its results do not")?;
        }
        for (side, place) in [("A", &w.first_a), ("B", &w.first_b)] {
            if let Some(place) = place {
                let source = place.source.as_ref().map_or(String::new(), |s| format!(", {}", code(s)));
                writeln!(out, "- look first at {} of {side}{source}", code(&place.op))?;
            }
        }
    }
    for u in &c.unproven {
        writeln!(out, "- not proven equal: {} of A and {} of B", code(&u.a_ops.join(", ")), code(&u.b_ops.join(", ")))?;
    }
    if let Some(difference) = &c.difference {
        super::difference("\nDifference of A and B", difference, 1.0, out)?;
    }
    let lines = wording::lines(c);
    if !lines.is_empty() {
        let mut regions = table(&["region", "×", "A", "B", "A costs", "B costs", "cheapest", "saves", "why"]);
        for line in &lines {
            let (r, cause) = (line.region, &line.region.cause);
            let flag = cause.flag.as_ref().map_or(String::new(), |f| format!("; flag {}", code(f)));
            regions.add_row([
                r.id.to_string(),
                r.repeats.to_string(),
                code(&wording::operators(&r.a_kinds, 60)),
                code(&wording::operators(&r.b_kinds, 60)),
                line.energy(r.a.energy_mj),
                line.energy(r.b.energy_mj),
                wording::cheapest(r, 60),
                line.saving_text(c),
                format!("{}{flag}", one_line(&cause.text)),
            ]);
        }
        writeln!(out, "\n{regions}")?;
        for region in lines.iter().map(|l| l.region) {
            if let Some(difference) = &region.difference {
                out.push('\n');
                super::difference(&format!("Region {}", region.id), difference, region.repeats as f64, out)?;
            }
            let switch = region.cause.switch.iter().flat_map(wording::switch);
            for fact in wording::only_made(region).into_iter().chain(switch) {
                writeln!(out, "- {fact}")?;
            }
        }
    }
    if !c.rewrites.is_empty() {
        writeln!(out, "\nCheaper forms across regions:\n")?;
        for group in wording::alike(&c.rewrites) {
            let Some(r) = group.first() else { continue };
            let times = if group.len() > 1 { format!(" ({} times)", group.len()) } else { String::new() };
            let saves = wording::energy(Some(r.saves_mj));
            writeln!(out, "- {} could be {}{times}: saves {saves} each", code(&r.from), code(&r.pattern))?;
        }
    }
    if !c.settings.is_empty() {
        writeln!(out, "\nSet differently: {}", one_line(&wording::settings(&c.settings, usize::MAX)))?;
    }
    if !c.assumptions.is_empty() {
        writeln!(out, "\nAssumed:\n")?;
        for (text, count) in wording::grouped(&c.assumptions) {
            let times = if count > 1 { format!(" (×{count})") } else { String::new() };
            writeln!(out, "- {}{times}", one_line(text))?;
        }
    }
    Ok(())
}
