//! The shipped profile: what its raw windows say.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;

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

/// The operators of 20 µs and more that two runs on one card measured, one card after the other.
struct Repeated {
    card: String,
    runs: [Windows; 2],
}

impl Repeated {
    /// The version of the method.
    fn version(&self) -> u32 {
        self.runs[0].header.protocol.version
    }
}

/// The cards that the slope of power over temperature was taken from.
fn first_five() -> Vec<Repeated> {
    repeated().into_iter().filter(|card| card.version() == 6).collect()
}

/// The runs that were made to see how well figures repeat: two on one card, of the same operators in several passes.
fn repeated() -> Vec<Repeated> {
    let mut cards: IndexMap<String, Vec<Windows>> = IndexMap::new();
    for run in windows().into_iter().filter(|run| measurements(&[run]).values().any(|all| all.len() > 1)) {
        cards.entry(run.header.card.clone()).or_default().push(run);
    }
    cards.into_iter().filter_map(|(card, runs)| Some(Repeated { card, runs: runs.try_into().ok()? })).collect()
}

/// The measurements of every operator.
fn measurements<'w>(runs: &[&'w Windows]) -> BTreeMap<&'w str, Vec<&'w Taken>> {
    let mut all: BTreeMap<&str, Vec<&Taken>> = BTreeMap::new();
    for line in runs.iter().flat_map(|run| &run.lines) {
        if let Line::Operator { key, taken } = line {
            all.entry(key).or_default().push(taken);
        }
    }
    all
}

/// Watts per degree by least squares: power over temperature, each about its mean over the passes of one operator on one
/// card.
fn watts_per_c<'a>(cards: impl Iterator<Item = &'a Repeated>) -> f64 {
    let (mut xx, mut xy) = (0.0, 0.0);
    for Repeated { runs: [first, second], .. } in cards {
        for all in measurements(&[first, second]).values() {
            let seen: Vec<(f64, f64)> =
                all.iter().filter(|t| follows(t)).map(|t| (t.temperature_c, watts(t))).collect();
            let mean = |of: fn(&(f64, f64)) -> f64| seen.iter().map(of).sum::<f64>() / seen.len() as f64;
            let (c, w) = (mean(|p| p.0), mean(|p| p.1));
            xx += seen.iter().map(|p| (p.0 - c).powi(2)).sum::<f64>();
            xy += seen.iter().map(|p| (p.0 - c) * (p.1 - w)).sum::<f64>();
        }
    }
    xy / xx
}

/// Whether the power of a measurement is free to follow the temperature: what the power limit holds back draws what it
/// allows at any, and what waits for the host scatters far more.
fn follows(taken: &Taken) -> bool {
    !taken.state().is_capped() && !taken.launch_bound
}

fn watts(taken: &Taken) -> f64 {
    meter::per_execution(&taken.points, None).map_or(f64::NAN, |(energy_mj, time_us)| energy_mj / time_us * 1e3)
}

#[test]
fn what_a_degree_costs_is_what_the_passes_on_every_card_tell() {
    let cards = first_five();
    let known = Profile::shipped().unwrap().runs[0].warmth.unwrap().watts_per_c;
    for card in &cards {
        let own = watts_per_c([card].into_iter());
        println!("{}: {own:.2} W/°C", card.card);
        assert!((own - known).abs() < 0.4, "{}: {own}", card.card);
    }
    let all = watts_per_c(cards.iter());
    assert!((all - known).abs() < 0.05, "{all}");
}

/// How far apart the two runs of one card are, by operator of 20 µs and more, and how many differ beyond their intervals.
fn differences(repeated: &Repeated, watts_per_c: f64) -> (Vec<f64>, usize) {
    let Repeated { card, runs: runs @ [first, second] } = repeated;
    let [left, right] = runs.each_ref().map(|run| measurements(&[run]));
    let warmth = Some(Warmth { watts_per_c, reference_c: REFERENCE_C });
    let (mut errors, mut beyond) = (Vec::new(), 0);
    for (key, all) in &left {
        let Some(again) = right.get(key) else { continue };
        let entry = |run: &Windows, all: &[&Taken]| {
            passes::join(all, &Run { warmth, ..run.header.run() }, &run.header.protocol).unwrap()
        };
        let (a, b) = (entry(first, all), entry(second, again));
        if a.time_us.mean < 20.0 {
            continue;
        }
        let error = (b.energy_mj.mean / a.energy_mj.mean - 1.0).abs();
        if error > 0.01 {
            println!("{card}: {error:.4} {key}");
        }
        errors.push(error);
        let (a, b) = (a.energy_mj.figure(), b.energy_mj.figure());
        beyond += usize::from(a.is_below(&b) || b.is_below(&a));
    }
    errors.sort_by(f64::total_cmp);
    println!("{card}: {}, {beyond} beyond their intervals", told(&errors));
    (errors, beyond)
}

/// `59 comparisons: 0.0025 in the median, ...` of sorted errors.
fn told(errors: &[f64]) -> String {
    let (median, most, close) = (errors[errors.len() / 2], errors[errors.len() - 1], within(errors));
    format!("{} comparisons: {median:.4} in the median, {most:.4} at most, {close} within 1 %", errors.len())
}

/// The errors of all cards that were measured by a version of the method, sorted, and how many lie beyond their intervals.
fn repeat_errors(version: u32, watts_per_c: impl Fn(&Repeated) -> f64) -> (Vec<f64>, usize) {
    let (mut errors, mut beyond) = (Vec::new(), 0);
    for card in repeated().iter().filter(|card| card.version() == version) {
        let (own, farther) = differences(card, watts_per_c(card));
        errors.extend(own);
        beyond += farther;
    }
    errors.sort_by(f64::total_cmp);
    println!("method {version}: {}, {beyond} beyond their intervals", told(&errors));
    (errors, beyond)
}

fn within(errors: &[f64]) -> usize {
    errors.iter().filter(|e| **e <= 0.01).count()
}

/// Four passes, each in as few places as keep the operands out of the cache. What a degree costs is taken from the other
/// cards, so that nothing here was fitted on what it is tested by.
#[test]
fn with_operands_in_few_places_most_figures_repeat() {
    let cards = first_five();
    let slope = |card: &Repeated| watts_per_c(cards.iter().filter(|other| other.card != card.card));
    let (errors, beyond) = repeat_errors(6, slope);
    assert!(errors.len() > 170 && errors[errors.len() / 2] < 0.005 && errors[errors.len() - 1] < 0.015);
    assert!(within(&errors) * 50 > errors.len() * 48 && beyond == 0);
}

fn known_slope(_: &Repeated) -> f64 {
    Profile::shipped().unwrap().runs[0].warmth.unwrap().watts_per_c
}

/// Three passes and more, each in sixteen places that lie alike, in memory fresh from the driver.
#[test]
fn with_operands_in_many_places_that_lie_alike_nearly_all_figures_repeat() {
    let (errors, beyond) = repeat_errors(7, known_slope);
    assert!(errors.len() == 59 && within(&errors) == 57 && errors[errors.len() - 1] < 0.017 && beyond <= 1);
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
