//! What depends on parameters and constants alone is computed once, where they stay as they are.

use std::path::{Path, PathBuf};

use magneton_ir::check::compare;
use magneton_ir::emit::{self, EmitError, Workload};
use magneton_ir::energy::{CostModel, Objective, graph_total};
use magneton_ir::frontend;
use magneton_ir::ir::{Graph, text};
use magneton_ir::optimize::{Optimized, optimize};
use magneton_ir::progress::Silent;
use magneton_ir::prove::Context;
use magneton_ir::rules::{RuleSet, Tier};
use rayon::prelude::*;

fn parse(source: &str) -> Graph {
    text::parse("test.mir", source).unwrap_or_else(|e| panic!("{e:?}"))
}

fn costs(frozen: bool) -> CostModel {
    CostModel::shipped().unwrap().frozen(frozen)
}

fn optimized(graph: &Graph, frozen: bool) -> Optimized {
    let rules = RuleSet::library().unwrap();
    optimize(graph, &Context::under(&rules), Tier::Rounding, Objective::Energy, &costs(frozen)).unwrap()
}

fn precomputed(source: &str) -> Vec<String> {
    let found = optimized(&parse(source), true);
    found.optimization.precompute.iter().flat_map(|one| one.names.clone()).collect()
}

/// A layer whose weight is scaled at every call.
const SCALED: &str = "graph g(x: f32[64, 256], w: param f32[256, 256], s: buffer f32[256]) {
    v = mul(w, s)
    y = linear(x, v)
    return y
}";

#[test]
fn what_is_made_of_parameters_is_computed_once_and_the_workload_is_charged_as_before() {
    let graph = parse(SCALED);
    let (once, each_time) = (optimized(&graph, true).optimization, optimized(&graph, false).optimization);
    assert_eq!(once.energy_mj, each_time.energy_mj);
    assert_eq!(
        (once.time_us, &each_time.precompute[..], each_time.precompute_saves_mj),
        (each_time.time_us, &[][..], None)
    );
    let [one] = &once.precompute[..] else { panic!("{:?}", once.precompute) };
    assert_eq!((one.bytes, &one.from[..], &one.by[..]), (262_144, &["w".into(), "s".into()][..], &["mul".into()][..]));
    let lean = parse("graph g(x: f32[64, 256], v: param f32[256, 256]) { y = linear(x, v) return y }");
    assert_eq!(once.best_energy_mj.value, Some(graph_total(&lean, &costs(true)).energy_mj.value));
    assert!(once.assumptions.iter().any(|text| text.starts_with("parameters")));
}

#[test]
fn what_may_change_is_not_computed_once() {
    assert_eq!(precomputed(SCALED), ["v"]);
    let with = |from: &str, to: &str| {
        assert!(SCALED.contains(from));
        precomputed(&SCALED.replace(from, to))
    };
    // What a caller gives, what the workload writes, parameters that are trained.
    assert_eq!(with("s: buffer f32", "s: f32"), [""; 0]);
    assert_eq!(with("return y", "return y, v writes w"), [""; 0]);
    let written = "t = add(s, s) return y, t writes s";
    assert_eq!(with("return y", written), [""; 0]);
    assert_eq!(with("return y", "return y, v gradient w"), [""; 0]);
    assert_eq!(with("y = linear(x, v)", "y = dropout(linear(x, v); p=0.5, train=true)"), [""; 0]);
    assert_eq!(with("y = linear(x, v)", "y = dropout(linear(x, v); p=0.5, train=false)"), ["v"]);
    // What is given out belongs to the caller.
    assert_eq!(with("return y", "return y, v"), [""; 0]);
    // Nor is a view worth a word.
    assert_eq!(with("v = mul(w, s)", "v = permute(w; dims=[1, 0])"), [""; 0]);
}

#[test]
fn weights_are_not_unpacked_for_good() {
    let unpacked = |ty: &str, rows: usize| {
        precomputed(&format!(
            "graph g(x: f32[64, 4096], w: param {ty}[{rows}, 4096]) {{ y = linear(x, cast(w; dtype=f32)) return y }}"
        ))
    };
    assert_eq!(unpacked("f16", 65_536).len(), 1);
    assert_eq!(unpacked("i8", 65_536).len(), 0);
    assert_eq!(unpacked("i8", 1024).len(), 1);
}

#[test]
fn a_table_is_multiplied_once_where_that_wins() {
    let lookup = |rows: usize| {
        format!(
            "graph g(i: i64[8, 1024], e: param f32[{rows}, 768], w: param f32[768, 768]) {{
                y = linear(embedding(e, i), w) return y
            }}"
        )
    };
    let [one, other] = [true, false].map(|frozen| optimized(&parse(&lookup(50_000)), frozen).optimization);
    // The table is larger than what is looked up in it: only once for all is it multiplied.
    assert_eq!((one.precompute.len(), other.cheaper.len()), (1, 0));
    assert!(one.saves().unwrap() > 0.5);
}

#[test]
fn a_side_is_charged_for_what_it_computes_and_only_the_cheapest_form_is_not() {
    let graph = parse(SCALED);
    let rules = RuleSet::library().unwrap();
    let compared =
        |frozen| compare(&graph, &graph, &rules, Tier::Rounding, &costs(frozen), &Silent).unwrap().comparison;
    let (once, each_time) = (compared(true), compared(false));
    assert_eq!((once.a.energy_mj, once.b.energy_mj), (each_time.a.energy_mj, each_time.b.energy_mj));
    assert_eq!((once.best.saves_vs_a, once.best.precompute.len()), (once.best.saves_vs_b, 1));
    assert_eq!(once.best.energy_mj, optimized(&graph, true).optimization.best_energy_mj.value);
    assert_eq!((each_time.best.saves_vs_a, each_time.best.precompute.len()), (None, 0));
}

/// The graphs of some folders of the repository.
fn graphs() -> impl Iterator<Item = (PathBuf, Graph)> {
    let folders = ["corpus/pairs", "corpus/bugs", "corpus/cases", "corpus/exports"];
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = folders.into_iter().flat_map(move |folder| std::fs::read_dir(root.join(folder)).unwrap());
    let mut files: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.into_iter().filter_map(|path| Some((path.clone(), frontend::load(&path).ok()?)))
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_is_claimed_is_what_the_part_costs_that_every_execution_computes() {
    let costs = costs(true);
    // A quarter of them: `optimize` has a test of its own for what it claims of all.
    let some: Vec<(PathBuf, Graph)> = graphs().step_by(4).collect();
    let cut = some.par_iter().filter(|(path, graph)| {
        let found = optimized(graph, true);
        let told = &found.optimization;
        let executed = found.once.as_ref().map_or(&found.rewritten, |once| &once.each);
        let cost = graph_total(executed, &costs).energy_mj.value;
        let (Some(now), Some(best)) = (told.energy_mj.value, told.best_energy_mj.value) else { return false };
        assert!((best - cost).abs() <= 1e-9 * now, "{}: {best} {cost}", path.display());
        assert!(best <= now, "{}: {best} of {now}", path.display());
        let forms: f64 = told.cheaper.iter().map(magneton_ir::report::Cheaper::total_mj).sum();
        let parts = forms + told.precompute_saves_mj.unwrap_or(0.0);
        assert!(parts <= (now - best) * 1.002 + 1e-9, "{}: {parts} of {}", path.display(), now - best);
        assert!(told.cheaper.iter().all(|form| !form.trade_off));
        if let Some(once) = &found.once {
            let given: Vec<&str> = once.precomputed().map(|id| &*once.each.node(id).name).collect();
            let made: Vec<&str> = once.before.outputs().iter().map(|output| &*output.name).collect();
            assert_eq!(given, made, "{}", path.display());
        }
        found.once.is_some()
    });
    let cut = cut.count();
    assert!(cut >= 6, "{cut}");
}

fn written(path: &Path, graph: &Graph, to: &Path) -> Result<(), EmitError> {
    let rules = RuleSet::library().unwrap();
    let found = optimized(graph, true);
    let mut loaded = frontend::load_with(path, &frontend::LoadOptions::default()).unwrap();
    let workload = Workload { path, graph, contents: &mut *loaded.contents };
    emit::write(&found.rewritten, found.once.as_ref(), workload, to, &Context::under(&rules), Tier::Rounding)
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn both_parts_together_are_proven_to_be_the_workload() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("lean.mir");
    let small = ["bert-eager", "whisper-eager", "llama3-8b-4l-eager", "gpt2-sdpa"];
    for name in small {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("corpus/exports/{name}.pt2"));
        let graph = frontend::load(&path).unwrap();
        written(&path, &graph, &to).unwrap_or_else(|error| panic!("{name}: {error:?}"));
    }
}

#[test]
fn an_archive_with_weights_gets_those_that_are_computed_once() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/weights-scaled.pt2");
    let graph = frontend::load(&path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("lean.pt2");
    written(&path, &graph, &to).unwrap_or_else(|error| panic!("{error:?}"));
    let back = frontend::load_with(&to, &frontend::LoadOptions::default()).unwrap();
    let found = optimized(&graph, true);
    let operators = |graph: &Graph| graph.operators().count();
    assert_eq!(operators(&back.graph), operators(&found.once.as_ref().unwrap().each));
    assert!(operators(&back.graph) < operators(&graph));
    assert_eq!(
        graph_total(&back.graph, &costs(true)).energy_mj.value,
        found.optimization.best_energy_mj.value.unwrap()
    );
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn without_values_no_archive_is_written() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/exports/whisper-eager.pt2");
    let graph = frontend::load(&path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let answer = written(&path, &graph, &folder.path().join("lean.pt2"));
    assert!(matches!(answer, Err(EmitError::Values { .. })), "{answer:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
