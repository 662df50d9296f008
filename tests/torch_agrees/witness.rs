//! Witnesses against an edited model hold under libtorch too: both graphs run whole, in f64.

use std::path::Path;

use crate::edits::sample;
use magneton_ir::frontend;
use magneton_ir::prove::{Context, Verdict, bind_graphs, prove_bound, rerun_with_torch};
use magneton_ir::rules::RuleSet;

/// The exports, and every how many kinds of edits are tried.
const MODELS: [(&str, usize); 2] = [("distilbert", 5), ("vit", 5)];

fn close(x: f64, y: f64) -> bool {
    x.is_nan() && y.is_nan() || (x - y).abs() <= 1e-6 * x.abs().max(y.abs())
}

#[test]
fn witnesses_have_the_same_values_under_libtorch() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/exports");
    let rules = RuleSet::library().unwrap();
    let mut seen = 0;
    for (model, step) in MODELS {
        let [a, b] = ["eager", "sdpa"].map(|form| frontend::load(folder.join(format!("{model}-{form}.pt2"))).unwrap());
        for (mutation, mutant) in sample(&b, 1).into_iter().step_by(step) {
            let bound = bind_graphs(a.clone(), mutant, None);
            let proof = prove_bound(&bound, &Context::under(&rules)).unwrap();
            let Verdict::Different(witness) = &proof.verdict else { continue };
            let [x, y] = rerun_with_torch(&bound, witness).unwrap();
            let what = format!("{} of {model}: {x}, {y} for {}, {}", mutation.kind.name, witness.a, witness.b);
            assert!(close(x, witness.a.to_f64()) && close(y, witness.b.to_f64()), "{what}");
            seen += 1;
        }
    }
    assert!(seen >= 10, "only {seen} witnesses");
}
