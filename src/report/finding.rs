//! What of a report asks for a change, one by one: for code-scanning views, test reports, and the exit status.

use sha2::{Digest, Sha256};

use super::wording::{self, Line, SideName};
use super::{Cheaper, Comparison, Explanation, Form, Optimization, ReportedVerdict, Rewrite};
use super::{Finding, FindingKind, Saving, SourceLine};
use crate::energy::Objective;
use crate::printable::one_line;

/// A finding from its parts. `identity` is what stays the same when lines move.
fn finding(kind: FindingKind, text: String, places: Vec<SourceLine>, identity: &[&str]) -> Finding {
    let mut digest = Sha256::new();
    for part in [kind.id()].iter().chain(identity) {
        digest.update(part.as_bytes());
        digest.update([0]);
    }
    let fingerprint = digest.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let fails = kind != FindingKind::Waste;
    Finding { kind, text: one_line(&text).into_owned(), places, saving: None, fingerprint, fails, is_known: None }
}

/// The lines that are known of `at`, or the files.
fn places<const N: usize>(at: [(&Option<String>, &str); N]) -> Vec<SourceLine> {
    let mut lines: Vec<SourceLine> = at.iter().filter_map(|(line, _)| line.as_deref().map(SourceLine::parse)).collect();
    if lines.is_empty() {
        lines.extend(at.iter().map(|(_, file)| SourceLine { file: (*file).to_owned(), line: None }));
    }
    lines.dedup();
    lines
}

/// What `check` found, the worst first.
pub(super) fn of_comparison(c: &Comparison) -> Vec<Finding> {
    let mut all = Vec::new();
    if let Some(w) = &c.witness {
        let at = |place: &Option<super::SourcedOperator>| place.as_ref().and_then(|p| p.at.clone());
        let (at_a, at_b) = (at(&w.first_a), at(&w.first_b));
        let text = match &w.constants {
            Some([a, b]) => format!("{} is {a} in A and {b} in B, whatever the inputs are", w.output),
            None => format!("seed {}: {}{:?} is {} in A and {} in B", w.seed, w.output, w.index, w.a, w.b),
        };
        let places = places([(&at_b, &c.b.file), (&at_a, &c.a.file)]);
        all.push(finding(FindingKind::Different, text, places, &[&w.output]));
    }
    if c.verdict == ReportedVerdict::Unknown {
        all.extend(c.unproven.iter().map(|u| unproven(c, u)));
        if c.unproven.is_empty() {
            let files = places([(&None, &c.a.file), (&None, &c.b.file)]);
            all.push(finding(FindingKind::Unproven, wording::verdict(c), files, &[]));
        }
    }
    for line in wording::lines(c) {
        all.extend([SideName::A, SideName::B].into_iter().filter_map(|side| region_waste(c, &line, side)));
    }
    all.extend(wording::alike(&c.rewrites).iter().filter_map(|group| rewrite_waste(c, group)));
    all
}

fn unproven(c: &Comparison, u: &super::Unproven) -> Finding {
    let text = format!(
        "{} of A and {} of B are not proven equal ({})",
        u.a_ops.join(", "),
        u.b_ops.join(", "),
        wording::agreement(u.agrees_numerically)
    );
    let places = places([(&u.b_at, &c.b.file), (&u.a_at, &c.a.file)]);
    finding(FindingKind::Unproven, text, places, &[&u.a_ops.join(","), &u.b_ops.join(",")])
}

fn region_waste(c: &Comparison, line: &Line, side: SideName) -> Option<Finding> {
    let r = line.region;
    let (energy_mj, whole, kinds, source, file) = match side {
        SideName::A => (line.saving_of(side)?, c.a.as_run().0.value, &r.a_kinds, &r.cause.a_source, &c.a.file),
        SideName::B => (line.saving_of(side)?, c.b.as_run().0.value, &r.b_kinds, &r.cause.b_source, &c.b.file),
    };
    let name = if side == SideName::A { "A" } else { "B" };
    let share = whole
        .filter(|&w| w > 0.0)
        .map_or(String::new(), |w| format!(" ({} of {name})", wording::percent(energy_mj / w)));
    let times = if r.repeats > 1 { format!(" in {} places", r.repeats) } else { String::new() };
    let cause = if r.cause.text.is_empty() { String::new() } else { format!(": {}", r.cause.text) };
    let flag = r.cause.flag.as_ref().map_or(String::new(), |f| format!("; flag {f}"));
    let text = format!(
        "{} of {name} could be {}{times}, which saves {}{share}{cause}{flag}",
        wording::operators(kinds, 80),
        r.best.text,
        wording::energy(Some(energy_mj)),
    );
    let place = places([(source, file)]);
    let code = place.first().map_or(String::new(), |p| p.file.clone());
    let waste = finding(FindingKind::Waste, text, place, &[name, &kinds.join(","), &r.best.text, &code]);
    let side = Some(if side == SideName::A { Form::A } else { Form::B });
    Some(Finding { saving: Some(Saving { energy_mj, side, trade_off: r.best.trade_off }), ..waste })
}

/// A form that several regions are part of: both sides can be replaced alike.
fn rewrite_waste(c: &Comparison, group: &[&Rewrite]) -> Option<Finding> {
    let first = group.first()?;
    let file = if first.side == Form::B { &c.b.file } else { &c.a.file };
    let energy_mj = group.iter().map(|r| r.saves_mj).sum();
    let times = if group.len() > 1 { format!(" in {} places", group.len()) } else { String::new() };
    let text =
        format!("{} could be {}{times}, which saves {}", first.from, first.pattern, wording::energy(Some(energy_mj)));
    let waste = finding(FindingKind::Waste, text, places([(&first.at, file)]), &[&first.from, &first.pattern]);
    let trade_off = first.saves_us < 0.0;
    Some(Finding { saving: Some(Saving { energy_mj, side: None, trade_off }), ..waste })
}

/// What `explain` found in its region.
pub(super) fn of_explanation(e: &Explanation) -> Vec<Finding> {
    let r = &e.region;
    let one = |(saves, energy, name, source, file): (Option<f64>, Option<f64>, &str, &Option<String>, &String)| {
        let energy_mj = saves.filter(|&s| s > 0.0)? * energy?;
        let text = format!(
            "region {} of {name} could be {}, which saves {}",
            r.id,
            r.best.text,
            wording::energy(Some(energy_mj))
        );
        let waste = finding(FindingKind::Waste, text, places([(source, file)]), &[name, &r.best.text]);
        Some(Finding { saving: Some(Saving { energy_mj, side: None, trade_off: r.best.trade_off }), ..waste })
    };
    let sides = [
        (r.best.saves_vs_a, r.a.energy_mj, "A", &r.cause.a_source, &e.a_file),
        (r.best.saves_vs_b, r.b.energy_mj, "B", &r.cause.b_source, &e.b_file),
    ];
    sides.into_iter().filter_map(one).collect()
}

/// What `optimize` found.
pub(super) fn of_optimization(o: &Optimization) -> Vec<Finding> {
    let one = |c: &Cheaper| {
        let times = if c.ops.len() > 1 { format!(" in {} places", c.ops.len()) } else { String::new() };
        let saves = match o.objective {
            Objective::Energy => wording::energy(Some(c.total_mj())),
            Objective::Time | Objective::Edp => wording::saves(o, c),
        };
        let text = format!("{} could be {}{times}, which saves {saves}", c.from.join(", "), c.pattern);
        let waste = finding(FindingKind::Waste, text, places([(&c.source, &o.file)]), &[&c.from.join(","), &c.pattern]);
        Finding { saving: Some(Saving { energy_mj: c.total_mj(), side: None, trade_off: c.trade_off }), ..waste }
    };
    o.cheaper.iter().map(one).collect()
}
