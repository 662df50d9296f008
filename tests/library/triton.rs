//! Calls of Triton kernels in files of PyTorch's. Of numbers that a kernel is given when it runs, a file says nothing.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use magneton_ir::frontend::{self, pt2};
use magneton_ir::ir::{Graph, NodeKind, text};
use magneton_ir::progress::Silent;
use magneton_ir::prove::{Verdict, prove};
use magneton_ir::rules::RuleSet;
use serde_json::json;

use crate::mutated_pt2::model;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn proven(a: &Graph, b: &Graph) -> bool {
    let rules = RuleSet::library().unwrap();
    matches!(prove(a, b, &rules, &Silent).unwrap().verdict, Verdict::Equivalent { .. })
}

#[test]
fn a_kernel_is_an_operator_of_its_name() {
    let graph = frontend::load(data("triton.pt2")).unwrap();
    let calls: Vec<&str> = frontend::custom_operators(&graph)
        .filter_map(|(_, node)| match &node.kind {
            NodeKind::Op { op, .. } => Some(op.name()),
            _ => None,
        })
        .collect();
    assert_eq!(calls, ["triton.scaled_sum", "triton.scaled_sum", "triton.at_least_zero"]);
}

#[test]
fn calls_that_only_look_alike_are_not_equal() {
    // The file would be the same, byte by byte, if the kernel were given another factor.
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("triton.pt2");
    fs::copy(data("triton.pt2"), &copy).unwrap();
    let text = |path: &Path| text::print(&frontend::load(path).unwrap());
    let calls = |text: &str| -> Vec<String> {
        let all = text.lines().filter_map(|line| line.split_once("call=\"")?.1.split('"').next());
        all.map(str::to_owned).collect()
    };
    let (own, other) = (calls(&text(&data("triton.pt2"))), calls(&text(&copy)));
    // The kernel that is given tensors alone is known by its code.
    assert_eq!((own.len(), other.len()), (2, 2), "{own:?}");
    let all: BTreeSet<&String> = own.iter().chain(&other).collect();
    assert_eq!(all.len(), 4, "{all:?}");
}

#[test]
fn two_calls_of_one_program_are_not_one() {
    // It gives the difference of two calls that differ in a number.
    let graph = frontend::load(data("triton.pt2")).unwrap();
    let source = "graph \"zero\"(x: f32[32, 64], y: f32[32, 64]) {\n  z: f32[32, 64] = sub(x, x)\n  return z\n}\n";
    let zero = text::parse("zero", source).unwrap();
    assert!(!proven(&graph, &zero));
}

#[test]
fn a_kernel_is_known_with_the_layout_of_its_operands() {
    let mut changed = model("triton.pt2");
    // The operand of the kernel that is known by its code alone.
    changed["graph_module"]["graph"]["tensor_values"]["getitem"]["strides"] =
        json!([{ "as_int": 1 }, { "as_int": 32 }]);
    let graph = pt2::read_json(Path::new("changed"), changed.to_string().as_bytes()).unwrap();
    let strides = |graph: &Graph| -> Vec<String> {
        let all = text::print(graph);
        all.split("strides=\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
    };
    assert_eq!(strides(&frontend::load(data("triton.pt2")).unwrap()), ["", "", ""]);
    assert_eq!(strides(&graph), ["", "", "x_ptr: [1, 32]"]);
}

#[test]
fn a_file_that_does_not_name_its_kernels_is_refused_with_the_way_out() {
    let error = frontend::load(data("triton-unnamed.pt2")).unwrap_err();
    let help = miette::Diagnostic::help(&error).map(|help| help.to_string()).unwrap_or_default();
    assert!(error.to_string().contains("neither which one nor what it writes"), "{error}");
    assert!(help.contains("run_decompositions({})"), "{help}");
}
