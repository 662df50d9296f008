//! What the importer and the op table make of many ATen operators, against the values that PyTorch computed.

use std::fs;
use std::path::{Path, PathBuf};

use magneton_ir::eval::{EvalError, GraphProgram, LazyEvaluator, Options};
use magneton_ir::frontend;
use magneton_ir::ir::{DType, Graph, NodeKind, Number};
use magneton_ir::ops::Op;
use serde_json::Value;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn numbers(list: &Value) -> Vec<f64> {
    let number = |v: &Value| v.as_f64().unwrap_or_else(|| v.as_str().unwrap().parse().unwrap());
    list.as_array().unwrap().iter().map(number).collect()
}

/// How far a value may be from PyTorch's: results of chains of a few operators.
fn tolerance(dtype: DType) -> f64 {
    match dtype {
        DType::F32 | DType::F64 => 1e-4,
        DType::BF16 | DType::F16 => 2e-2,
        _ => 0.0,
    }
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance * b.abs().max(1.0)
}

/// Places where the graph computes something else than PyTorch recorded, and the number of outputs compared.
fn differences(graph: &Graph, recorded: &str) -> (Vec<String>, usize) {
    let recorded: Value = serde_json::from_str(&fs::read_to_string(data(recorded)).unwrap()).unwrap();
    let mut program = GraphProgram::new(graph, 0);
    for (position, &input) in graph.inputs().iter().enumerate() {
        let name = &*graph.node(input).name;
        let given = recorded["inputs"].get(name).unwrap_or_else(|| panic!("no values for the input {name}"));
        let dtype = graph.ty(input.into()).dtype;
        let elements = numbers(given).into_iter().map(|v| dtype.element(v)).collect();
        program = program.with_input(position, elements).unwrap();
    }
    let outputs = recorded["outputs"].as_array().unwrap();
    assert_eq!(outputs.len(), graph.outputs().len());
    let mut evaluator = LazyEvaluator::new(&program, Options { rounding: true, budget: 1 << 24 });
    let (mut found, mut compared) = (Vec::new(), 0);
    for (output, expected) in graph.outputs().iter().zip(outputs) {
        let computed = match evaluator.tensor(output.value) {
            Ok(values) => values.into_iter().map(Number::to_f64).collect::<Vec<_>>(),
            Err(EvalError::NoSemantics(_)) => continue,
            Err(error) => {
                found.push(format!("{}: {error}", output.name));
                continue;
            }
        };
        compared += 1;
        let tolerance = tolerance(graph.ty(output.value).dtype);
        let expected = numbers(expected);
        assert_eq!(computed.len(), expected.len(), "{}", output.name);
        let first = computed.iter().zip(&expected).position(|(&a, &b)| !close(a, b, tolerance));
        if let Some(i) = first {
            found.push(format!("{}: element {i} is {}, PyTorch has {}", output.name, computed[i], expected[i]));
        }
    }
    (found, compared)
}

/// Compares `export` with the values in `recorded`, of at least `least` outputs.
fn agrees(export: &str, recorded: &str, least: usize) {
    let graph = frontend::load(data(export)).unwrap();
    let (found, compared) = differences(&graph, recorded);
    assert!(found.is_empty(), "{} of {compared}:\n{}", found.len(), found.join("\n"));
    assert!(compared > least, "only {compared}");
}

fn none_is_opaque(export: &str) {
    let graph = frontend::load(data(export)).unwrap();
    let is_opaque = |kind: &NodeKind| matches!(kind, NodeKind::Op { op: Op::Custom(_), .. });
    let opaque: Vec<&str> =
        graph.nodes().filter(|(_, node)| is_opaque(&node.kind)).map(|(_, node)| &*node.name).collect();
    assert!(opaque.is_empty(), "{export}: {opaque:?}");
}

#[test]
fn exported_operators_compute_what_pytorch_computes() {
    agrees("operators.pt2", "operators.json", 230);
}

#[test]
fn decomposed_operators_compute_what_pytorch_computes() {
    agrees("operators-decomposed.pt2", "operators.json", 230);
}

#[test]
fn less_common_operators_compute_what_pytorch_computes() {
    agrees("more-operators.pt2", "more-operators.json", 150);
}

#[test]
fn less_common_operators_decomposed_compute_what_pytorch_computes() {
    agrees("more-operators-decomposed.pt2", "more-operators.json", 150);
}

#[test]
fn operators_that_are_several_nodes_compute_what_pytorch_computes() {
    agrees("further-operators.pt2", "further-operators.json", 63);
    agrees("further-operators-decomposed.pt2", "further-operators.json", 63);
}

#[test]
fn operators_that_the_sweep_found_compute_what_pytorch_computes() {
    for export in ["swept-operators.pt2", "swept-operators-decomposed.pt2"] {
        agrees(export, "swept-operators.json", 130);
        none_is_opaque(export);
    }
}

#[test]
fn operators_of_training_compute_what_pytorch_computes() {
    for export in ["gradients.pt2", "gradients-decomposed.pt2"] {
        agrees(export, "gradients.json", 70);
        none_is_opaque(export);
    }
}

#[test]
fn exported_operators_on_complex_numbers_compute_what_pytorch_computes() {
    agrees("complex-operators.pt2", "complex-operators.json", 125);
    agrees("complex-operators-decomposed.pt2", "complex-operators.json", 125);
}
