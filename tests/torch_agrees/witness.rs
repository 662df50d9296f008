//! Witnesses against an edited model hold under libtorch too: both graphs run whole, in f64.

use std::path::Path;

use crate::edits::sample;
use magneton_ir::frontend;
use magneton_ir::prove::{Context, Verdict, bind_graphs, prove_bound, rerun_with_torch};
use magneton_ir::rules::RuleSet;
use rayon::prelude::*;

/// The exports, and every how many kinds of edits are tried.
const MODELS: [(&str, usize); 2] = [("distilbert", 5), ("vit", 5)];

fn close(x: f64, y: f64) -> bool {
    x.is_nan() && y.is_nan() || (x - y).abs() <= 1e-6 * x.abs().max(y.abs())
}

#[test]
fn witnesses_have_the_same_values_under_libtorch() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/exports");
    let rules = RuleSet::library().unwrap();
    let mut pairs = Vec::new();
    for (model, step) in MODELS {
        let [a, b] = ["eager", "sdpa"].map(|form| frontend::load(folder.join(format!("{model}-{form}.pt2"))).unwrap());
        for (mutation, mutant) in sample(&b, 1).into_iter().step_by(step) {
            pairs.push((format!("{} of {model}", mutation.kind.name), bind_graphs(a.clone(), mutant, None)));
        }
    }
    let witnesses = pairs.into_par_iter().filter(|(what, bound)| {
        let proof = prove_bound(bound, &Context::under(&rules)).unwrap();
        let Verdict::Different(witness) = &proof.verdict else { return false };
        let [x, y] = rerun_with_torch(bound, witness).unwrap();
        let values = format!("{what}: {x}, {y} for {}, {}", witness.a, witness.b);
        assert!(close(x, witness.a.to_f64()) && close(y, witness.b.to_f64()), "{values}");
        true
    });
    let seen = witnesses.count();
    assert!(seen >= 10, "only {seen} witnesses");
}
