//! The waste of `corpus/waste`: `NAME.mir` has some, `NAME.lean.mir` computes the same without it. What `optimize` finds of it.
//!
//! The rules were made while looking at half of the graphs. Which half that is follows from a checksum of the name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use magneton_ir::energy::{CostModel, Launch, Objective, graph_total};
use magneton_ir::frontend;
use magneton_ir::ir::{Graph, text};
use magneton_ir::optimize::optimize;
use magneton_ir::prove::Context;
use magneton_ir::rules::{RuleSet, Tier};

/// A form that is claimed to cost no more than this many times what the lean form costs is as good.
const AS_GOOD: f64 = 1.01;

/// A smaller share of the energy is no saving.
const NOTHING: f64 = 1e-3;

/// The least that is found of either half: what the rules, the search and the figures of the profile give. To be raised.
const LEAST: [(&str, usize); 2] = [("developed on", 70), ("kept apart", 84)];

fn names() -> Vec<String> {
    let entries = std::fs::read_dir(folder()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.filter_map(|name| Some(name.strip_suffix(".lean.mir")?.to_owned())).collect();
    names.sort();
    names
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/waste")
}

fn graph(name: &str) -> Graph {
    frontend::load(folder().join(name)).unwrap_or_else(|e| panic!("{name}: {e:?}"))
}

/// FNV-1a, of which one bit decides.
fn half(name: &str) -> &'static str {
    let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    LEAST[(hash >> 16 & 1) as usize].0
}

/// What a person would say of a claim, given the prices in millijoules.
fn verdict(now: f64, lean: f64, best: f64) -> &'static str {
    if best <= AS_GOOD * lean && best < now {
        "found"
    } else if best < now * (1.0 - NOTHING) {
        "part of it"
    } else if lean > now * (1.0 - NOTHING) {
        "not cheaper by its prices"
    } else {
        "missed"
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn waste_is_found() {
    let (rules, costs) = (RuleSet::library().unwrap(), CostModel::shipped().unwrap().launched(Launch::Graph));
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for name in names() {
        let (wasteful, lean) = (graph(&format!("{name}.mir")), graph(&format!("{name}.lean.mir")));
        let found = optimize(&wasteful, &Context::under(&rules), Tier::Rounding, Objective::Energy, &costs)
            .unwrap()
            .optimization;
        let [now, best] = [&found.energy_mj, &found.best_energy_mj].map(|figure| figure.value.unwrap());
        let lean = graph_total(&lean, &costs).energy_mj.value;
        let (half, verdict) = (half(&name), verdict(now, lean, best));
        println!("{half:12} {verdict:25} {name:46} now {now:9.3} lean {lean:9.3} claimed {best:9.3} mJ");
        *counts.entry((half, verdict)).or_default() += 1;
    }
    println!("{counts:#?}");
    for (half, least) in LEAST {
        let found = counts.get(&(half, "found")).copied().unwrap_or(0);
        assert!(found >= least, "{half}: {found} of at least {least}");
    }
}

/// What a graph costs as it is, and in the cheapest form that is found, in millijoules.
fn now_and_best(inputs: &str, lines: &str) -> [f64; 2] {
    let (rules, costs) = (RuleSet::library().unwrap(), CostModel::shipped().unwrap().launched(Launch::Graph));
    let graph = text::parse("test", &format!("graph g({inputs}) {{\n{lines}\n}}")).unwrap_or_else(|e| panic!("{e:?}"));
    let found = optimize(&graph, &Context::under(&rules), Tier::Real, Objective::Energy, &costs).unwrap().optimization;
    [found.energy_mj, found.best_energy_mj].map(|figure| figure.value.unwrap())
}

/// It was free as well, so that whole products were given away.
#[test]
fn what_takes_the_place_of_a_free_step_costs_what_it_takes() {
    let inputs = "x: f32[8, 512, 1024], w: param f32[1024, 1024]";
    let layer = "y = linear(x, w)\n s = slice(y; dim=1, end=1) @ implicit\n z = squeeze(s; dim=1)\n return z";
    let lean = "s = slice(x; dim=1, end=1)\n y = linear(s, w)\n z = squeeze(s; dim=1)\n return y";
    let ([now, best], [lean, _]) = (now_and_best(inputs, layer), now_and_best(inputs, lean));
    assert!(best < now && best > 0.5 * lean, "now {now}, best {best}, lean {lean}");
}

/// Some kernel has to put the elements where they are kept.
#[test]
fn what_writes_to_a_part_of_memory_is_not_left_out() {
    let lines = "c = clone(x)\n r = slice(m; dim=0, start=4096, end=8192) @ implicit\n n = concat(c, r; dim=0) @ implicit\n return n";
    let [now, best] = now_and_best("x: f32[4096, 4096], m: f32[8192, 4096]", lines);
    assert!(now > 0.0 && best > 0.9 * now, "now {now}, best {best}");
}

/// A difference of a smaller share is not judged.
const DIFFERS: f64 = 0.04;

/// What both forms took on a GPU, in millijoules and microseconds, replayed in one piece.
#[derive(serde::Deserialize)]
struct Measured {
    wasteful: [f64; 2],
    lean: [f64; 2],
}

/// Nothing is fitted on these measurements. The goal is all of them.
#[test]
fn prices_tell_the_cheaper_form_as_a_gpu_does() {
    let text = std::fs::read_to_string(folder().join("measured.json")).unwrap();
    let measured: BTreeMap<String, Measured> = serde_json::from_str(&text).unwrap();
    let costs = CostModel::shipped().unwrap();
    let (mut right, mut judged) = (0, 0);
    let mut errors = Vec::new();
    for (name, Measured { wasteful, lean }) in &measured {
        let price = |file: String| graph_total(&graph(&file), &costs).energy_mj.value;
        let (of_wasteful, of_lean) = (price(format!("{name}.mir")), price(format!("{name}.lean.mir")));
        errors.extend([of_wasteful / wasteful[0] - 1.0, of_lean / lean[0] - 1.0].map(f64::abs));
        if (lean[0] / wasteful[0] - 1.0).abs() >= DIFFERS {
            judged += 1;
            let agrees = (of_lean < of_wasteful) == (lean[0] < wasteful[0]);
            right += usize::from(agrees);
            if !agrees {
                println!(
                    "{name}: measured {} and {} mJ, priced {of_wasteful:.3} and {of_lean:.3}",
                    wasteful[0], lean[0]
                );
            }
        }
    }
    errors.sort_by(f64::total_cmp);
    println!("right {right} of {judged}; prices are {:.3} off in the median", errors[errors.len() / 2]);
    assert!(right * 100 >= 90 * judged, "{right} of {judged}");
}
