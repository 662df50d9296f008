//! The shipped profile: what its raw windows say.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::*;
use crate::frontend;

fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn windows() -> Vec<Windows> {
    Windows::load(&file("corpus/energy/h200.windows.zip")).unwrap()
}

#[test]
fn the_shipped_profile_follows_from_its_raw_windows() {
    let mut joined = Profile::default();
    for run in windows() {
        joined.merge(run.profile("the windows").unwrap()).unwrap();
    }
    let shipped = Profile { estimator: None, ..Profile::shipped().unwrap() };
    assert!(joined == shipped, "`profile merge corpus/energy/h200.windows.zip -o corpus/energy/h200.json` gives another one");
}

#[test]
fn no_trial_of_an_operator_against_itself_shows_a_saving() {
    let mut trials = 0;
    for run in windows() {
        let mut sides: BTreeMap<u32, Vec<Figure>> = BTreeMap::new();
        for line in &run.lines {
            if let Line::Trial { number, taken, .. } = line {
                let entry = taken.entry(1, &run.header.protocol).unwrap();
                sides.entry(*number).or_default().push(entry.energy_mj.figure());
            }
        }
        for (number, sides) in sides {
            let [a, b] = sides[..] else { continue };
            assert!(!a.is_below(&b) && !b.is_below(&a), "trial {number}: {a:?}, {b:?}");
            trials += 1;
        }
    }
    assert!(trials >= 20, "{trials}");
}

#[test]
fn polling_the_meter_costs_less_than_a_hundredth_of_the_time() {
    let lines: Vec<Line> = windows().into_iter().flat_map(|run| run.lines).collect();
    let ratio = |line: &Line| match line {
        Line::Overhead { polled_us, alone_us, .. } => Some(polled_us / alone_us),
        _ => None,
    };
    let ratios: Vec<f64> = lines.iter().filter_map(ratio).collect();
    assert!(!ratios.is_empty() && ratios.iter().all(|r| *r < 1.01), "{ratios:?}");
}
