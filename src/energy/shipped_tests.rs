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
    assert!(
        joined == shipped,
        "`profile merge corpus/energy/h200.windows.zip -o corpus/energy/h200.json` gives another one"
    );
}

#[test]
fn no_trial_of_an_operator_against_itself_shows_a_saving() {
    let mut trials = 0;
    for run in windows() {
        let mut sides: BTreeMap<u32, Vec<Figure>> = BTreeMap::new();
        for line in &run.lines {
            if let Line::Trial { number, taken, .. } = line {
                let entry = taken.entry(&run.header.run(), &run.header.protocol).unwrap();
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

/// Figures repeat on one card, from process to process: operators of 20 µs and more.
#[test]
fn a_second_run_on_the_same_card_gives_the_same_figures() {
    let runs = windows();
    let [first, second] = [0, 1].map(|i| runs[i].profile("the windows").unwrap());
    assert_eq!(first.runs[0].card, second.runs[0].card);
    let differences = first.diff(&second);
    let both: Vec<_> = differences.iter().filter(|d| d.left.is_some_and(|e| e.time_us.mean >= 20.0)).collect();
    let mut errors: Vec<f64> = both.iter().filter_map(|d| Some((d.ratio()? - 1.0).abs())).collect();
    errors.sort_by(f64::total_cmp);
    assert!(errors.len() > 50, "{}", errors.len());
    assert!(errors[errors.len() / 2] < 0.005 && errors[errors.len() - 1] < 0.01, "{errors:?}");
    assert!(both.iter().filter(|d| d.ratio().is_some()).all(|d| !d.changed()));
}

/// Operators measured one by one add up to the model that is replayed in one piece, at the clock that the power limit
/// leaves to all of them together.
#[test]
fn operators_add_up_to_their_models() {
    let model = CostModel::shipped().unwrap();
    let models = ["gpt2", "llama3-8b-4l", "llama3-8b", "qwen2-4l"];
    let sides = models.iter().flat_map(|m| [format!("{m}-eager"), format!("{m}-sdpa")].map(|name| (name, 0.05)));
    // `serving` misses by more in time than the others; why is not known.
    let serving = ["serving-plain", "serving-merged"].map(|name| (name.to_owned(), 0.1));
    for (name, most) in sides.chain(serving) {
        let path = format!("corpus/exports/{name}.pt2");
        let calls = graph_calls(&frontend::load(file(&path)).unwrap(), &model);
        let sum = at_power_cap(&calls, &model);
        assert_eq!(sum.energy_mj.source, Source::Measured, "{name}");
        let (energy, time) = sum_to_whole(&sum.energy_mj, &sum.time_us, &model.profile().replays[&path]).unwrap();
        println!("{name}: sum of operators / whole: energy {energy:.3}, time {time:.3}");
        assert!((energy - 1.0).abs() < most && (time - 1.0).abs() < most, "{name}: {energy}, {time}");
    }
}

#[test]
fn the_models_are_measured_throughout() {
    let model = CostModel::shipped().unwrap();
    for name in ["gpt2", "llama3-8b", "qwen2-4l"].iter().flat_map(|m| [format!("{m}-eager"), format!("{m}-sdpa")]) {
        let graph = frontend::load(file(&format!("corpus/exports/{name}.pt2"))).unwrap();
        let sum: Cost = graph_costs(&graph, &model).into_iter().sum();
        assert_eq!((sum.energy_mj.source, sum.time_us.source), (Source::Measured, Source::Measured), "{name}");
    }
}

#[test]
fn the_estimator_predicts_what_was_left_out_of_its_fit_as_well_as_it_claims() {
    let fitted = Estimator::fit(&Profile::shipped().unwrap());
    let overall = fitted.overall;
    assert!(overall.median < 0.15 && (overall.covered - COVERAGE).abs() < 0.05, "{overall:?}");
}
