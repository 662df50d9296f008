//! The waste of `corpus/waste`: `NAME.mir` has some, `NAME.lean.mir` computes the same without it. What `optimize` finds of it.
//!
//! The rules were made while looking at half of the graphs. Which half that is follows from a checksum of the name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use magneton_ir::energy::{CostModel, Launch, Objective, graph_total};
use magneton_ir::frontend;
use magneton_ir::ir::Graph;
use magneton_ir::optimize::optimize;
use magneton_ir::prove::Context;
use magneton_ir::rules::{RuleSet, Tier};

/// A form that is claimed to cost no more than this many times what the lean form costs is as good.
const AS_GOOD: f64 = 1.01;

/// A smaller share of the energy is no saving.
const NOTHING: f64 = 1e-3;

/// The least that is found of either half: what the rules, the search and the figures of the profile give. To be raised.
const LEAST: [(&str, usize); 2] = [("developed on", 69), ("kept apart", 73)];

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
