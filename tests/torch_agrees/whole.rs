//! A graph replayed in one piece gives what the evaluator gives.

use std::path::{Path, PathBuf};

use magneton_ir::eval::{GraphProgram, LazyEvaluator, Options, random};
use magneton_ir::frontend;
use magneton_ir::ir::{Graph, NodeId, Number, TensorType, Value};
use magneton_ir::ops::replay_graph::GraphReplay;
use magneton_ir::ops::tensors::{elements, upload};
use tch::{Device, Tensor};

/// Beyond this many elements in all, the evaluator takes too long.
const MOST_ELEMENTS: usize = 200_000;

fn pairs() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/pairs");
    let mut files: Vec<PathBuf> = folder.read_dir().unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    files
}

fn input(graph: &Graph, i: usize) -> Vec<Number> {
    let ty = graph.ty(graph.inputs()[i].into());
    (0..ty.numel()).map(|flat| ty.dtype.element(random::element(random::mix(7, i as u64), ty, flat))).collect()
}

/// The largest difference of a replayed result to the evaluated one, relative to the largest value.
fn difference(graph: &Graph) -> f64 {
    let mut program = GraphProgram::new(graph, 0);
    for i in 0..graph.inputs().len() {
        program = program.with_input(i, input(graph, i)).unwrap();
    }
    let mut evaluator = LazyEvaluator::new(&program, Options { rounding: false, budget: 50_000_000 });

    let nodes: Vec<NodeId> = graph.nodes().map(|(id, _)| id).collect();
    let replay = GraphReplay::new(graph, &nodes, Device::Cpu).unwrap();
    let upload_one = |v: &Value| {
        let i = graph.inputs().iter().position(|&n| n == v.node).unwrap();
        upload(graph.ty(*v), &input(graph, i), Device::Cpu).unwrap()
    };
    let operands: Vec<Tensor> = replay.inputs().iter().map(upload_one).collect();
    let results = replay.run(&operands, true).unwrap();
    // An input that is handed on is computed by nothing.
    let computed = |v: &Value| !graph.inputs().contains(&v.node);
    let mut outputs: Vec<Value> = graph.outputs().iter().map(|o| o.value).filter(computed).collect();
    outputs.sort_unstable();
    outputs.dedup();
    assert_eq!(results.len(), outputs.len(), "{}", graph.name);

    let each = results.iter().zip(outputs).map(|(theirs, value)| {
        let (ours, theirs) = (evaluator.tensor(value).unwrap(), elements(theirs).unwrap());
        let floats = |values: Vec<Number>| values.into_iter().map(Number::to_f64).collect::<Vec<_>>();
        let (ours, theirs) = (floats(ours), floats(theirs));
        let scale = ours.iter().fold(1.0_f64, |m, v| m.max(v.abs()));
        assert_eq!(ours.len(), theirs.len(), "{}", graph.name);
        ours.iter().zip(theirs).fold(0.0_f64, |m, (a, b)| m.max((a - b).abs() / scale))
    });
    each.fold(0.0, f64::max)
}

/// A few roundings of the narrowest type; libtorch rounds between operators, the evaluator here does not.
fn tolerance(graph: &Graph) -> f64 {
    let types = graph.nodes().flat_map(|(_, node)| &node.types);
    let epsilons = types.filter(|ty| ty.dtype.is_float()).filter_map(|ty| ty.dtype.epsilon());
    (8.0 * epsilons.fold(0.0, f64::max)).max(1e-4)
}

#[test]
fn graphs_replayed_in_one_piece_give_the_values_of_the_evaluator() {
    let mut compared = 0;
    for file in pairs() {
        let graph = frontend::load(&file).unwrap();
        let size: usize = graph.nodes().flat_map(|(_, node)| &node.types).map(TensorType::numel).sum();
        if size > MOST_ELEMENTS {
            continue;
        }
        let (difference, tolerance) = (difference(&graph), tolerance(&graph));
        assert!(difference < tolerance, "{}: {difference}", file.display());
        compared += 1;
    }
    assert!(compared > 40, "{compared}");
}
