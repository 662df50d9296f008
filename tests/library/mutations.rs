//! Single semantic edits of real exports: none may come out equivalent, and nearly all are shown to be different.
//!
//! A sample of the campaign that `cargo bench --bench mutations` runs in full.

use std::collections::BTreeSet;
use std::path::Path;

use crate::edits::{KINDS, sample};
use magneton_ir::frontend;
use magneton_ir::ir::Graph;
use magneton_ir::progress::Silent;
use magneton_ir::prove::{Verdict, prove};
use magneton_ir::rules::RuleSet;
use rayon::prelude::*;

fn export(name: &str) -> Graph {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/exports");
    frontend::load(folder.join(format!("{name}.pt2"))).unwrap()
}

#[test]
fn most_kinds_of_edits_apply_to_two_models() {
    let kinds: BTreeSet<&str> = ["gpt2-sdpa", "mistral-eager"]
        .iter()
        .flat_map(|name| sample(&export(name), 1))
        .map(|(mutation, _)| mutation.kind.name)
        .collect();
    assert!(kinds.len() >= 25, "only {} of {} kinds: {kinds:?}", kinds.len(), KINDS.len());
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn no_edit_comes_out_equivalent() {
    let rules = RuleSet::library().unwrap();
    let mut pairs = Vec::new();
    for (other, edited, first) in [("gpt2-eager", "gpt2-sdpa", 0), ("mistral-eager", "mistral-sdpa", 2)] {
        let (a, b) = (export(other), export(edited));
        // Every sixth kind: the whole campaign takes minutes.
        for (mutation, mutant) in sample(&b, 1).into_iter().skip(first).step_by(6) {
            let what = format!("{} at {} of {edited}", mutation.kind.name, b.node(mutation.node).name);
            pairs.push((what, a.clone(), mutant));
        }
    }
    let count = pairs.len();
    let missed = pairs.into_par_iter().filter_map(|(what, a, mutant)| {
        match prove(&a, &mutant, &rules, &Silent).unwrap().verdict {
            Verdict::Equivalent { .. } => panic!("{what}: proven equivalent"),
            Verdict::Unknown => Some(what),
            Verdict::Different(_) => None,
        }
    });
    let missed: Vec<String> = missed.collect();
    assert!(count >= 8 && missed.len() * 20 <= count, "of {count} edits these were not found:\n{}", missed.join("\n"));
}
