//! Cheaper forms of one workload in words.

use super::{ANY_HOST, energy, percent, time};
use crate::energy::Objective;
use crate::report::{Cheaper, Optimization, Point};

/// Operators that a line names.
const SHOWN: usize = 4;

/// Rows of a table of the frontier.
const MOST_ROWS: usize = 8;

/// What a form does that is better than another one.
pub(in crate::report) fn less(o: &Optimization) -> &'static str {
    match o.objective {
        Objective::Energy => "costs less",
        Objective::Time => "takes less time",
        Objective::Edp => "takes less energy × time",
    }
}

/// What the cheaper forms save of a workload as it is run: `14.6 %`, or `21.0 % of the time, 14.6 % less energy` where they were chosen
/// by time. None where that is nothing.
pub(in crate::report) fn saved(o: &Optimization) -> Option<String> {
    let waits = o.launched.as_ref().is_some_and(|l| l.share().is_some());
    let host = if waits { ANY_HOST } else { "" };
    let sure_mj = o.saves();
    if o.objective == Objective::Energy {
        return sure_mj.filter(|&s| s > 0.0).map(|s| format!("{}{host}", percent(s)));
    }
    // What a form may take more of is said, too.
    let (now, best) = (o.now_as_run().0.value?, o.best_as_run().0.value?);
    let energy = sure_mj.filter(|&s| s > 0.0).unwrap_or(if best > now { 1.0 - best / now } else { 0.0 });
    let time = o.saves_time()?;
    let product = 1.0 - (1.0 - energy) * (1.0 - time);
    match o.objective {
        Objective::Time => {
            (time > 0.0).then(|| format!("{} of the time{host}, {}", percent(time), amount(energy, "energy")))
        }
        _ => (product > 0.0).then(|| {
            let [energy, time] = [amount(energy, "energy"), amount(time, "time")];
            format!("{} of energy × time{host}: {energy}, {time}", percent(product))
        }),
    }
}

/// A fraction that is saved in words: `14.6 % less energy`, `2.0 % more energy`.
fn amount(saved: f64, of: &str) -> String {
    match saved {
        s if s > 0.0 => format!("{} less {of}", percent(s)),
        s if s < 0.0 => format!("{} more {of}", percent(-s)),
        _ => format!("as much {of}"),
    }
}

/// How much longer a form takes that is a trade-off: its kernels, or else the host that launches them.
pub(in crate::report) fn more_time(c: &Cheaper) -> String {
    let us = -c.total_us();
    if us > 0.0 { format!("{} longer", time(Some(us))) } else { "longer to launch".to_owned() }
}

/// What a cheaper form saves in all places of what forms were chosen by, with its share of the workload: `4.80 J (10.7 %)`.
pub(in crate::report) fn saves(o: &Optimization, c: &Cheaper) -> String {
    let part = |text: String, amount: f64, whole: Option<f64>| match whole.filter(|&whole| whole > 0.0) {
        Some(whole) => format!("{text} ({})", percent(amount / whole)),
        None => text,
    };
    let (mj, us) = (c.total_mj(), c.total_us());
    let in_energy = || part(energy(Some(mj)), mj, o.energy_mj.value);
    let in_time = || part(time(Some(us)), us, o.time_us);
    match o.objective {
        Objective::Energy => in_energy(),
        Objective::Time if mj < 0.0 => format!("{} for {} more", in_time(), energy(Some(-mj))),
        Objective::Time => in_time(),
        Objective::Edp if mj < 0.0 => format!("{} for {} more", in_time(), energy(Some(-mj))),
        Objective::Edp if us < 0.0 => format!("{} for {} more", in_energy(), time(Some(-us))),
        Objective::Edp => format!("{} and {}", in_energy(), in_time()),
    }
}

/// How much slower the best form was allowed to be; none where slower forms are left out.
pub(in crate::report) fn max_slowdown(o: &Optimization) -> Option<String> {
    o.max_slowdown
        .map(|most| format!("slower forms were allowed, up to {} more time than now for the whole", percent(most)))
}

/// The forms of the workload on the frontier of time against energy, and what each changes: as it is, the best one, and what has
/// ever more of the trade-offs.
pub(in crate::report) fn forms(o: &Optimization) -> Vec<(String, Point)> {
    let now = Point { energy_mj: o.energy_mj.value, time_us: o.time_us, trade_offs: 0 };
    let mut forms = vec![("now".to_owned(), now)];
    let mut has = 0;
    for &point in &o.frontier {
        let added = o.trade_offs.get(has..point.trade_offs).unwrap_or_default();
        let changes: Vec<String> = added.iter().map(|c| change(&c.from, &c.into)).collect();
        let name = if changes.is_empty() { "best".to_owned() } else { format!("and {}", changes.join("; ")) };
        has = point.trade_offs;
        forms.push((name, point));
    }
    forms
}

/// The same as rows of a table: energy, time, and what changes. Where there are more than a few forms, the last one has the
/// changes of those that are left out. Nothing where there is no choice.
pub(in crate::report) fn frontier(o: &Optimization) -> Vec<[String; 3]> {
    if o.frontier.len() < 2 {
        return Vec::new();
    }
    let row = |name: String, point: &Point| [energy(point.energy_mj), time(point.time_us), name];
    let forms = forms(o);
    match (forms.split_at_checked(MOST_ROWS - 1), forms.last()) {
        (Some((first, more)), Some((_, last))) if more.len() > 1 => {
            let has = first.last().map_or(0, |(_, point)| point.trade_offs);
            let name = format!("and {} forms more", last.trade_offs.saturating_sub(has));
            first.iter().map(|(name, point)| row(name.clone(), point)).chain([row(name, last)]).collect()
        }
        _ => forms.iter().map(|(name, point)| row(name.clone(), point)).collect(),
    }
}

/// Which operators give way to which, without those that are called either way.
pub(in crate::report) fn change(from: &[String], into: &[String]) -> String {
    let without = |all: &[String], others: &[String]| -> Vec<String> {
        let mut others = others.to_vec();
        let is_new = |op: &&String| match others.iter().position(|o| o == *op) {
            Some(at) => {
                others.swap_remove(at);
                false
            }
            None => true,
        };
        all.iter().filter(is_new).cloned().collect()
    };
    let (gone, new) = (without(from, into), without(into, from));
    match (gone.is_empty(), new.is_empty()) {
        (true, true) => format!("{} on other operands", few(into)),
        (false, true) => format!("without {}", few(&gone)),
        (true, false) => format!("{} before the rest", few(&new)),
        (false, false) => format!("{} instead of {}", few(&new), few(&gone)),
    }
}

/// The first names of a list, each once, and how many more there are.
fn few(names: &[String]) -> String {
    let mut seen = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    let names = seen;
    let more = names.len().saturating_sub(SHOWN);
    let shown = names.iter().take(SHOWN).map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{shown}, +{more}") } else { shown }
}
