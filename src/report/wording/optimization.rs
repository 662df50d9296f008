//! Cheaper forms of one workload in words.

use super::{energy, time};
use crate::report::{Optimization, Point};

/// Operators that a line names.
const SHOWN: usize = 4;

/// Rows of a table of the frontier.
const MOST_ROWS: usize = 8;

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
