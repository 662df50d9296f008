//! Models in JAX and Flax against the same in PyTorch: what JAX 0.10.2 and `torch.export` of PyTorch 2.11 wrote, and which parameter
//! is which. Weights hold no values.

use std::fs;
use std::path::{Path, PathBuf};

use magneton_ir::frontend::{self, load_binding};
use magneton_ir::ir::NoContents;
use magneton_ir::prove::{Context, Verdict, bind_with_contents, prove_bound};
use magneton_ir::rules::RuleSet;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/jax").join(name)
}

/// What is found of a model and of its port, whose text `edit` has changed; with a binding file if `is_bound`.
fn verdict(model: &str, is_bound: bool, edit: impl Fn(String) -> String) -> Verdict {
    let folder = tempfile::tempdir().unwrap();
    let port = folder.path().join("port.mlir");
    fs::write(&port, edit(fs::read_to_string(data(&format!("{model}.mlir"))).unwrap())).unwrap();
    let (a, mut of_a) = frontend::load_with_contents(data(&format!("{model}.pt2"))).unwrap();
    let b = frontend::load(&port).unwrap();
    let stated = is_bound.then(|| load_binding(&data(&format!("{model}.bind")), &a, &b).unwrap());
    let bound = bind_with_contents(a, b, stated.as_ref(), [&mut *of_a, &mut NoContents]);
    prove_bound(&bound, &Context::under(&RuleSet::library().unwrap())).unwrap().verdict
}

fn assert_proven(models: &[&str], is_bound: bool) {
    for model in models {
        assert!(matches!(verdict(model, is_bound, |text| text), Verdict::Equivalent { .. }), "{model}");
    }
}

#[test]
fn ports_to_jax_were_not_proven_after_views_had_been_arranged_anew() {
    assert_proven(&["gpt2-1l", "vit-3l"], true);
}

/// Matrices are kept by heads, and images have their channels last.
#[test]
fn ports_to_jax_need_no_binding_file() {
    assert_proven(&["gpt2-1l", "vit-3l"], false);
}

/// Kernels have their channels last, and batch norms are written out.
#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn larger_ports_to_jax_are_proven() {
    for is_bound in [true, false] {
        assert_proven(&["llama-2l", "resnet50"], is_bound);
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_port_with_another_epsilon_is_different() {
    let other = |text: String| {
        assert!(text.contains("9.99999974E-6"));
        text.replacen("9.99999974E-6", "9.99999974E-4", 1)
    };
    // The file names one of two tied weights, of which the export reads the other one.
    assert!(matches!(verdict("gpt2-1l", true, other), Verdict::Different(_)));
    // Guesses may be wrong.
    assert!(matches!(verdict("gpt2-1l", false, other), Verdict::Unknown));
}
