//! Layouts that the IR infers, against the strides that PyTorch recorded in real exports.

use std::fs;
use std::path::Path;

use super::archive::Archive;
use super::argument::Argument;
use super::schema::node_name;
use super::{dtype, parse, schema};
use crate::ir::{Layout, layouts};
use rustc_hash::FxHashMap;

/// Compares every value of `program` with the layout of its node; gives the names of those that differ.
fn compare(
    program: &schema::Graph,
    nodes: &FxHashMap<&str, usize>,
    all: &[smallvec::SmallVec<[Layout; 1]>],
    found: &mut Vec<String>,
) -> usize {
    let mut compared = 0;
    for node in &program.nodes {
        for nested in node.inputs.iter().filter_map(|i| match &i.arg {
            Argument::Graph(g) => Some(&g.graph),
            _ => None,
        }) {
            compared += compare(nested, nodes, all, found);
        }
        let Some(&index) = nodes.get(node_name(node)) else { continue };
        let names = node.outputs.iter().flat_map(Argument::tensors);
        for (slot, name) in names.enumerate() {
            let meta = &program.tensor_values[name];
            let shape = dtype::tensor_type(meta).unwrap().shape;
            let recorded = dtype::strides(meta).unwrap();
            let Some(inferred) = all[index].get(slot).map(|l| &l.strides) else { continue };
            // PyTorch sometimes swaps the operands of an einsum, and so the order of what it writes; not followed yet.
            if node.target == "torch.ops.aten.einsum.default" {
                continue;
            }
            let same = shape.iter().enumerate().all(|(d, &size)| size == 1 || recorded[d] == inferred[d]);
            if !same {
                found.push(format!("{name} ({}) {shape:?}: {recorded:?} recorded, {inferred:?} inferred", node.target));
            }
            compared += 1;
        }
    }
    compared
}

#[test]
fn layouts_are_those_that_pytorch_recorded() {
    let models = ["qwen2-4l-eager", "qwen2-4l-sdpa", "gpt2-eager", "gpt2-sdpa", "llama3-8b-eager", "llama3-8b-sdpa"];
    let models = models.map(|name| format!("corpus/exports/{name}.pt2"));
    let operators = ["tests/data/operators.pt2", "tests/data/operators-decomposed.pt2"].map(str::to_owned);
    for name in models.iter().chain(&operators) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        let mut archive = Archive::open(&path, fs::File::open(&path).unwrap()).unwrap();
        let member = archive.model().unwrap();
        let program = parse(&path, &member, &archive.read(&member).unwrap()).unwrap();
        let graph = crate::frontend::load(&path).unwrap();
        let nodes = graph.nodes().map(|(id, n)| (&*n.name, id.index())).collect();
        let mut found = Vec::new();
        let compared = compare(&program.graph_module.graph, &nodes, &layouts(&graph), &mut found);
        assert!(compared > 250, "{name}: only {compared} values compared");
        assert!(found.is_empty(), "{name}: {} of {compared}\n{}", found.len(), found.join("\n"));
    }
}
