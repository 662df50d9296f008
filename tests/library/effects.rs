//! The pairs under `tests/data/effects`, which PyTorch exported: programs that draw, write, run in a mode or hold constants.
//! `NAME.b-same.pt2` is proven equal to `NAME.a.pt2`, `NAME.b-other.pt2` is not, `NAME.refused.pt2` is not read.

use std::fs;
use std::path::{Path, PathBuf};

use magneton_ir::frontend;
use magneton_ir::prove::{BoundPair, Context, ProveError, Verdict, bind_graphs, prove_bound};
use magneton_ir::rules::RuleSet;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/effects")
}

/// The pairs with that ending of the second file.
fn pairs(ending: &str) -> Vec<(PathBuf, PathBuf)> {
    let all = fs::read_dir(folder()).unwrap().map(|e| e.unwrap().path());
    let pair = |b: PathBuf| {
        let name = b.file_name()?.to_string_lossy().strip_suffix(ending)?.to_owned();
        Some((b.with_file_name(format!("{name}.a.pt2")), b))
    };
    let mut pairs: Vec<_> = all.filter_map(pair).collect();
    pairs.sort();
    assert!(pairs.len() > 20, "{ending}: only {} pairs", pairs.len());
    pairs
}

fn bound(a: &Path, b: &Path) -> BoundPair {
    let load = |path: &Path| frontend::load(path).unwrap_or_else(|e| panic!("{}: {e:?}", path.display()));
    bind_graphs(load(a), load(b), None)
}

fn verdict(a: &Path, b: &Path, rules: &RuleSet) -> Result<Verdict, ProveError> {
    prove_bound(&bound(a, b), &Context::under(rules)).map(|proof| proof.verdict)
}

#[test]
fn the_same_effects_are_proven_equal() {
    let rules = RuleSet::library().unwrap();
    let mut missed = Vec::new();
    for (a, b) in pairs(".b-same.pt2") {
        match verdict(&a, &b, &rules) {
            Ok(Verdict::Equivalent { .. }) => {}
            other => missed.push(format!("{}: {other:?}", b.display())),
        }
    }
    assert!(missed.is_empty(), "not proven:\n{}", missed.join("\n"));
}

#[test]
fn other_effects_are_never_proven_equal() {
    let rules = RuleSet::library().unwrap();
    let mut missed = Vec::new();
    for (a, b) in pairs(".b-other.pt2") {
        if let Ok(Verdict::Equivalent { .. }) = verdict(&a, &b, &rules) {
            missed.push(b.display().to_string());
        }
    }
    assert!(missed.is_empty(), "proven equal:\n{}", missed.join("\n"));
}

#[test]
fn no_program_differs_from_itself() {
    let rules = RuleSet::library().unwrap();
    for (a, _) in pairs(".b-other.pt2") {
        match verdict(&a, &a, &rules) {
            Ok(Verdict::Equivalent { .. }) => {}
            // What one run draws, another does not.
            Ok(Verdict::Unknown) if a.to_string_lossy().contains("draw-") => {}
            other => panic!("{}: {other:?}", a.display()),
        }
    }
}

/// A write through `as_strided` was lost, and a tensor that shows memory by strides kept its elements when that was written. An operator
/// that reads at other places what it writes was taken to read all of it first.
#[test]
fn writes_to_memory_that_is_read_by_strides_or_at_other_places_are_refused() {
    let all = fs::read_dir(folder()).unwrap().map(|e| e.unwrap().path());
    let refused: Vec<PathBuf> = all.filter(|path| path.to_string_lossy().ends_with(".refused.pt2")).collect();
    assert_eq!(refused.len(), 4);
    for path in refused {
        let error = frontend::load(&path).unwrap_err();
        let is_known =
            ["may share memory", "reads the same memory"].iter().any(|why| format!("{error:?}").contains(why));
        assert!(is_known, "{}: {error:?}", path.display());
    }
}
