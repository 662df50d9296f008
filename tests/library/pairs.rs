//! The pairs under `corpus/pairs`: `NAME.a.mir` and `NAME.b.mir` are proven equal, and no `NAME.b-wrong-*.mir` is.

use std::fs;
use std::path::{Path, PathBuf};

use magneton_ir::ir::{Graph, text};
use magneton_ir::progress::Silent;
use magneton_ir::prove::{Certificate, Context, Verdict, bind_graphs, prove, prove_bound};
use magneton_ir::rules::RuleSet;
use rayon::prelude::*;

fn load(path: &Path) -> Graph {
    let source = fs::read_to_string(path).unwrap();
    text::parse(&path.display().to_string(), &source).unwrap_or_else(|e| panic!("{e:?}"))
}

fn files(ending: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/pairs");
    let mut all: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    all.retain(|p| p.to_string_lossy().contains(ending));
    all.sort();
    all
}

fn side_a(b: &Path) -> PathBuf {
    let name = b.file_name().unwrap().to_string_lossy().into_owned();
    let stem = name.split(".b").next().unwrap().to_owned();
    b.with_file_name(format!("{stem}.a.mir"))
}

#[test]
fn right_pairs_are_proven() {
    let rules = RuleSet::library().unwrap();
    let pairs = files(".b.mir");
    assert!(!pairs.is_empty());
    let missed_of = |b: &PathBuf| {
        let graphs = bind_graphs(load(&side_a(b)), load(b), None);
        let proof = prove_bound(&graphs, &Context::under(&rules)).unwrap();
        if !matches!(proof.verdict, Verdict::Equivalent { .. }) {
            return Some(format!("{}: {:?} {:?}", b.display(), proof.verdict, proof.unproven));
        }
        // Through a file and back: the proof has to stand without the search.
        let file = Certificate::from_json(&proof.certificate(&graphs.a, &graphs.b, &rules).to_json()).unwrap();
        match file.verify(&graphs, &rules) {
            Ok(shown) if shown.holds() => None,
            other => Some(format!("{}: the proof file: {other:?}", b.display())),
        }
    };
    let missed: Vec<String> = pairs.par_iter().filter_map(missed_of).collect();
    assert!(missed.is_empty(), "not proven:\n{}", missed.join("\n"));
}

#[test]
fn wrong_pairs_are_refuted() {
    let rules = RuleSet::library().unwrap();
    let pairs = files(".b-wrong-");
    assert!(!pairs.is_empty());
    let missed_of = |b: &PathBuf| match prove(&load(&side_a(b)), &load(b), &rules, &Silent).unwrap().verdict {
        Verdict::Different(w) => {
            assert!(w.a != w.b);
            None
        }
        other => Some(format!("{}: {other:?}", b.display())),
    };
    let missed: Vec<String> = pairs.par_iter().filter_map(missed_of).collect();
    assert!(missed.is_empty(), "no witness for:\n{}", missed.join("\n"));
}
