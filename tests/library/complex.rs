//! Programs of complex numbers that PyTorch exported: `NAME.b-same.pt2` under `tests/data/complex` is proven equal to `NAME.a.pt2`,
//! `NAME.b-other.pt2` is not.

use std::fs;
use std::path::{Path, PathBuf};

use magneton_ir::frontend;
use magneton_ir::prove::{Context, ProveError, Verdict, bind_graphs, prove_bound};
use magneton_ir::rules::{RuleSet, Tier};
use serde_json::json;

use crate::programs::{node, program, reference, tensor};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/complex")
}

/// The verdicts of the pairs with that ending of the second file, by name.
fn verdicts(ending: &str) -> Vec<(String, Result<Verdict, ProveError>)> {
    let rules = RuleSet::library().unwrap();
    let load = |path: &Path| frontend::load(path).unwrap_or_else(|e| panic!("{}: {e:?}", path.display()));
    let mut names: Vec<String> = fs::read_dir(folder())
        .unwrap()
        .filter_map(|e| e.unwrap().file_name().to_string_lossy().strip_suffix(ending).map(str::to_owned))
        .collect();
    names.sort();
    let verdict = |name: String| {
        let [a, b] = [".a.pt2", ending].map(|end| load(&folder().join(format!("{name}{end}"))));
        let proof = prove_bound(&bind_graphs(a, b, None), &Context::under(&rules));
        (name, proof.map(|proof| proof.verdict))
    };
    names.into_iter().map(verdict).collect()
}

#[test]
fn forms_with_complex_numbers_and_with_their_parts_are_proven_equal() {
    let all = verdicts(".b-same.pt2");
    assert!(all.len() > 5, "{}", all.len());
    for (name, verdict) in all {
        // A product of complex numbers may be fused or not: it is never equal to its parts' bit for bit.
        let proven = matches!(verdict, Ok(Verdict::Equivalent { tier, .. }) if tier > Tier::Exact);
        assert!(proven, "{name}: {verdict:?}");
    }
}

#[test]
fn wrong_forms_are_different() {
    let all = verdicts(".b-other.pt2");
    assert!(all.len() > 5, "{}", all.len());
    for (name, verdict) in all {
        match name.as_str() {
            // What is returned is not of one type.
            "returned-as-parts" => assert!(verdict.is_err(), "{name}: {verdict:?}"),
            // No one knows what an operator computes that the table lacks: it is not the same on complex numbers.
            "opaque-on-parts" => assert!(!matches!(verdict, Ok(Verdict::Equivalent { .. })), "{name}: {verdict:?}"),
            _ => assert!(matches!(verdict, Ok(Verdict::Different { .. })), "{name}: {verdict:?}"),
        }
    }
}

/// The code of complex64.
const COMPLEX: i64 = 10;

/// What reading a program says that multiplies complex numbers and states a result of these sizes.
fn product(operand: &[i64], result: &[i64]) -> Result<(), String> {
    let times = node("torch.ops.aten.mul.Tensor", json!({ "self": reference("x"), "other": reference("x") }), "y");
    let types = json!({ "x": tensor(COMPLEX, operand), "y": tensor(COMPLEX, result) });
    let text = program(vec![times], types).to_string();
    frontend::pt2::read_json(Path::new("model.json"), text.as_bytes()).map(|_| ()).map_err(|e| e.to_string())
}

#[test]
fn stated_types_of_complex_numbers_have_to_fit() {
    assert_eq!(product(&[2, 3], &[2, 3]), Ok(()));
    let refused = product(&[2, 3], &[2, 4]).unwrap_err();
    assert!(refused.contains("f32[2, 4, 2]"), "{refused}");
    // As many real numbers are other numbers.
    assert!(product(&[3, 2], &[2, 3]).is_err());
}
