//! What launching takes the host: the figures of the shipped profile, and how well they tell the energy of graphs that were
//! launched one by one.

use std::collections::BTreeMap;
use std::path::Path;

use magneton_ir::energy::{Bill, Calls, Cost, CostModel, HostCosts, Launch, graph_items};
use magneton_ir::frontend;
use nalgebra::{Matrix3, Vector3};
use serde_json::Value;

/// A graph that was measured both ways, with its own prices.
struct Sample {
    name: String,
    /// The file of measurements that it stands in: each is from another card.
    file: usize,
    calls: Calls,
    price: Cost,
    host_us: f64,
    eager: Run,
    recorded: Run,
}

#[derive(Clone, Copy)]
struct Run {
    mj: f64,
    us: f64,
}

/// The lines of a file of measurements.
fn measurements(file: usize) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("corpus/energy/launches/truth{file}.jsonl"));
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn samples(model: &CostModel) -> Vec<Sample> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/energy/graphs");
    let text = std::fs::read_to_string(folder.join("measured.json")).unwrap();
    let places: BTreeMap<String, Value> = serde_json::from_str(&text).unwrap();
    let place =
        |name: &str| places.keys().find(|p| p.rsplit('/').next() == Some(name)).map(|p| folder.join(p)).unwrap();
    let mut all = Vec::new();
    for file in 1..=3 {
        let mut graphs: BTreeMap<String, BTreeMap<String, Value>> = BTreeMap::new();
        for line in measurements(file).iter().filter(|l| l["kind"] == "graph" && l["result"].is_object()) {
            let text = |key: &str| line[key].as_str().unwrap().to_owned();
            graphs.entry(text("name")).or_default().insert(text("mode"), line["result"].clone());
        }
        for (name, modes) in graphs {
            let (Some(eager), Some(recorded)) = (modes.get("eager"), modes.get("recorded")) else { continue };
            let number = |result: &Value, key: &str| result[key].as_f64().unwrap();
            let run = |result: &Value| Run { mj: number(result, "mj"), us: number(result, "us") };
            let graph = frontend::load(place(&name)).unwrap();
            let items = graph_items(&graph, model);
            all.push(Sample {
                calls: Calls::of_graph(&graph, &items),
                price: items.iter().collect::<Bill>().total(),
                host_us: number(eager, "host_us"),
                eager: run(eager),
                recorded: run(recorded),
                name,
                file,
            });
        }
    }
    all
}

/// Microseconds for an execution, an operator that launches something, and one that launches nothing: the least squares of
/// relative errors.
fn fitted(samples: &[&Sample]) -> [f64; 3] {
    let (mut left, mut right) = (Matrix3::zeros(), Vector3::zeros());
    for s in samples {
        let row = Vector3::new(1.0, s.calls.launching as f64, s.calls.silent as f64) / s.host_us;
        left += row * row.transpose();
        right += row;
    }
    left.lu().solve(&right).unwrap().into()
}

/// The root of the mean square of what `host` is off by, as a logarithm.
fn scatter(host: &HostCosts, samples: &[&Sample]) -> f64 {
    let error = |s: &&Sample| (s.host_us / host.time_us(s.calls).value).ln().powi(2);
    (samples.iter().map(error).sum::<f64>() / samples.len() as f64).sqrt()
}

/// What of `values` lies below all but a part of them.
fn quantile(mut values: Vec<f64>, part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * part).round() as usize]
}

/// The power in what launching adds to energy and time, in watts, for each graph that waits much.
fn powers(samples: &[&Sample]) -> Vec<f64> {
    let waiting = samples.iter().filter(|s| s.eager.us > 1.3 * s.recorded.us);
    waiting.map(|s| (s.eager.mj - s.recorded.mj) / (s.eager.us - s.recorded.us) * 1e3).collect()
}

fn close(shipped: f64, found: f64, by: f64) -> bool {
    (shipped / found - 1.0).abs() <= by
}

/// The files that the figures of the profile are fitted on; the other one is kept apart.
const FITTED: [usize; 2] = [1, 3];

#[test]
fn the_shipped_figures_are_those_of_the_measurements() {
    let model = CostModel::shipped().unwrap().launched(Launch::Eager);
    let host = model.host().unwrap();
    let all = samples(&model);
    let (seen, apart): (Vec<&Sample>, Vec<&Sample>) = all.iter().partition(|s| FITTED.contains(&s.file));
    assert!(seen.len() >= 25 && apart.len() >= 15, "{} {}", seen.len(), apart.len());
    for file in 1..=3 {
        let others: Vec<&Sample> = all.iter().filter(|s| s.file != file).collect();
        println!("without file {file}: {:?}", fitted(&others));
    }
    let found = fitted(&seen);
    println!("fitted: {found:?}, scatter {:.3}", scatter(host, &seen));
    let shipped = [host.execution_us, host.launching_us, host.silent_us];
    assert!(shipped.iter().zip(found).all(|(shipped, found)| close(*shipped, found, 0.02)), "{shipped:?} {found:?}");
    let (sd, watts) = (scatter(host, &apart), powers(&seen));
    println!("apart: scatter {sd:.3}");
    assert!(close(host.sd, sd, 0.05), "{} {sd}", host.sd);
    let found = [0.5, 0.05, 0.95].map(|part| quantile(watts.clone(), part));
    println!("watts: {found:?}; apart {:?}", [0.5, 0.05, 0.95].map(|part| quantile(powers(&apart), part)));
    let shipped = [host.waiting_w.mean, host.waiting_w.low, host.waiting_w.high];
    assert!(shipped.iter().zip(found).all(|(shipped, found)| close(*shipped, found, 0.02)), "{shipped:?} {found:?}");
}

struct Errors {
    errors: Vec<f64>,
    covered: usize,
}

impl Errors {
    fn of<'s>(
        what: &str,
        samples: impl Iterator<Item = &'s &'s Sample>,
        price: impl Fn(&Sample) -> ([f64; 3], f64),
    ) -> Errors {
        let mut all = Errors { errors: Vec::new(), covered: 0 };
        for s in samples {
            let ([value, low, high], truth) = price(s);
            all.errors.push(value / truth - 1.0);
            all.covered += usize::from(low <= truth && truth <= high);
            println!("{what} {:26} {:+.3} [{low:.1} {value:.1} {high:.1}] {truth:.1}", s.name, value / truth - 1.0);
        }
        println!(
            "{what}: {} graphs, median {:.3}, worst {:.3}, covered {}",
            all.errors.len(),
            all.part(0.5),
            all.part(1.0),
            all.covered
        );
        all
    }

    fn part(&self, part: f64) -> f64 {
        quantile(self.errors.iter().map(|e| e.abs()).collect(), part)
    }
}

/// Graphs of another card than those that the figures were fitted on.
#[test]
fn what_waiting_costs_is_told_for_graphs_kept_apart() {
    let model = CostModel::shipped().unwrap().launched(Launch::Eager);
    let all = samples(&model);
    let apart: Vec<&Sample> = all.iter().filter(|s| !FITTED.contains(&s.file)).collect();
    let plain = |value: f64| [value; 3];
    let of = |f: magneton_ir::energy::Figure| [f.value, f.low, f.high];
    let without = Errors::of("kernels as measured", apart.iter(), |s| (plain(s.recorded.mj), s.eager.mj));
    let power = model.host().unwrap().waiting_w.mean * 1e-3;
    let host_known = Errors::of("host as measured", apart.iter(), |s| {
        (plain(s.recorded.mj + power * (s.host_us - s.recorded.us).max(0.0)), s.eager.mj)
    });
    let recorded = Errors::of("recorded", apart.iter(), |s| (of(s.price.energy_mj), s.recorded.mj));
    let launched = Errors::of("launched", apart.iter(), |s| {
        (of(model.waiting(s.calls, &s.price).unwrap().energy_with(&s.price)), s.eager.mj)
    });
    let unaware = Errors::of("launched, without waiting", apart.iter(), |s| (of(s.price.energy_mj), s.eager.mj));
    assert!(host_known.part(0.5) < 0.5 * without.part(0.5));
    assert!(launched.part(0.5) < unaware.part(0.5) && launched.covered > unaware.covered);
    assert!(launched.part(0.5) < 2.0 * recorded.part(0.5));
}

/// Models as people write them, whose modules Python calls too: that adds nothing that the figures could tell from a host's scatter.
#[test]
fn modules_take_the_host_no_longer_than_hosts_differ() {
    let model = CostModel::shipped().unwrap().launched(Launch::Eager);
    let host = model.host().unwrap();
    // The exports of the same models, with the same batches and layers.
    let exports = [
        ("resnet50", "energy/graphs/models/resnet50.pt2"),
        ("shufflenet_v2_x1_0", "energy/graphs/models/shufflenet.pt2"),
        ("bert", "exports/bert-sdpa.pt2"),
        ("mistral", "exports/mistral-sdpa.pt2"),
        ("vit", "exports/vit-sdpa.pt2"),
    ];
    let lines: Vec<Value> = (1..=3).flat_map(measurements).filter(|l| l["kind"] == "module").collect();
    assert_eq!(lines.len(), exports.len());
    for line in lines {
        let name = line["name"].as_str().unwrap();
        let (_, path) = exports.iter().find(|(n, _)| *n == name).unwrap();
        let graph = frontend::load(Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(path)).unwrap();
        let predicted = host.time_us(Calls::of_graph(&graph, &graph_items(&graph, &model)));
        let (took, calls) = (line["result"]["host_us"].as_f64().unwrap(), &line["calls"]);
        println!("{name}: {calls} modules, {took:.0} µs, {:.2} of what is predicted", took / predicted.value);
        assert!((predicted.low..=predicted.high).contains(&took), "{name}: {took} {predicted:?}");
    }
}
