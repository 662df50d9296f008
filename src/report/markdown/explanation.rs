//! A region in full as Markdown.

use std::fmt::{self, Write};

use super::{code, table};
use crate::printable::one_line;
use crate::report::{Chain, Explanation, Step, wording};

/// The report as Markdown.
pub(crate) fn explanation(e: &Explanation) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write(e, &mut out);
    out
}

fn write(e: &Explanation, out: &mut String) -> fmt::Result {
    let r = &e.region;
    writeln!(out, "**Region {} of {}, tier {}: {}**\n", r.id, e.regions, r.tier, wording::tier_meaning(&r.tier))?;
    if r.repeats > 1 {
        writeln!(out, "One of {} that are the same.\n", r.repeats)?;
    }
    for (name, cost, operators) in [("A", &r.a, &e.a), ("B", &r.b, &e.b)] {
        writeln!(out, "{name}: {}; {}\n", wording::energy_and_time(cost), wording::work(cost))?;
        let mut rows = table(&["operator", "kind", "types", "energy", "source"]);
        for o in operators {
            let source = o.source.as_deref().map_or(String::new(), code);
            rows.add_row([code(&o.name), code(&o.kind), code(&o.types), wording::energy(o.cost.energy_mj), source]);
        }
        writeln!(out, "{rows}\n")?;
    }
    if r.best.energy_mj.is_some() {
        writeln!(
            out,
            "Cheapest known form: {}; {}\n",
            code(&wording::cheapest(r, usize::MAX)),
            wording::best(&r.best)
        )?;
    }
    if let Some(difference) = &r.difference {
        super::difference("Difference of A and B", difference, 1.0, out)?;
    }
    let facts = wording::only_made(r).into_iter().chain(r.cause.switch.iter().flat_map(wording::switch));
    let facts: Vec<String> = facts.collect();
    facts.iter().try_for_each(|fact| writeln!(out, "- {fact}"))?;
    if !facts.is_empty() {
        out.push('\n');
    }
    if !r.cause.text.is_empty() {
        let flag = r.cause.flag.as_ref().map_or(String::new(), |f| format!("; flag {}", code(f)));
        writeln!(out, "{}{flag}\n", one_line(&r.cause.text))?;
    }
    wording::chain(e).iter().try_for_each(|line| writeln!(out, "{line}\n"))?;
    steps("Proof", &e.steps, e.chain.as_ref(), 0, out)?;
    let title = "Proof of the cheapest form, over letters for what it reads";
    steps(title, &e.cheaper, e.cheaper_chain.as_ref(), e.steps.len(), out)
}

/// Steps that begin with `chain` and come after `known` others.
fn steps(title: &str, steps: &[Step], chain: Option<&Chain>, known: usize, out: &mut String) -> fmt::Result {
    if steps.is_empty() {
        return Ok(());
    }
    writeln!(out, "{title}:\n")?;
    for (i, step) in steps.iter().enumerate() {
        let figures = wording::figures(steps, i, chain).map_or(String::new(), |figures| format!(", {figures}"));
        let doc = step.doc.replace('\n', " ");
        writeln!(out, "{}. {} ({}{figures}): {}", known + i + 1, code(&step.rule), step.tier, one_line(&doc))?;
        for d in &step.definitions {
            writeln!(out, "   - let {} = {}", one_line(&d.name), code(&d.text))?;
        }
        writeln!(out, "   - {}", code(&step.before))?;
        writeln!(out, "   - = {}", code(&step.after))?;
        for text in &step.assumes {
            writeln!(out, "   - assumed: {}", one_line(text))?;
        }
    }
    writeln!(out)
}
