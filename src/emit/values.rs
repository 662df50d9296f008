//! The values of what is computed once, from the weights that a file holds.

use rustc_hash::{FxHashMap, FxHashSet};

use super::EmitError;
use crate::eval::{GraphProgram, LazyEvaluator, Options};
use crate::extract::Once;
use crate::ir::{Contents, Graph, NodeId, NodeKind, Number, TensorType, Value};
use crate::ops::{Call, Op};

/// Elements that one tensor may take to compute, as the reference evaluator counts them.
const BUDGET: usize = 1 << 26;

/// Elements of tensors by name.
pub(super) type Values = FxHashMap<String, Vec<Number>>;

/// The outputs of the first part of `once`, computed from what `contents` holds of the inputs of `graph`. Every operator's result is
/// rounded to its type.
pub(super) fn values(once: &Once, graph: &Graph, contents: &mut dyn Contents) -> Result<Values, EmitError> {
    let mut all = Values::default();
    for output in once.before.outputs() {
        let lacks = |reason: &str| EmitError::Values { name: output.name.to_string(), reason: reason.to_owned() };
        // A product with a sum is one of its elements, and two operations.
        if operations(&once.before, output.value) / 2.0 > BUDGET as f64 {
            return Err(lacks("it takes too many operations"));
        }
        let mut program = GraphProgram::new(&once.before, 0);
        for input in inputs_of(&once.before, output.value) {
            let name = &once.before.node(input).name;
            let place = graph.inputs().iter().position(|&id| graph.node(id).name == *name);
            let data = place.and_then(|place| contents.elements(place));
            let data = data.ok_or_else(|| lacks(&format!("the file holds no values of `{name}`")))?;
            let own = once.before.inputs().iter().position(|&id| id == input);
            let given = own.and_then(|own| program.with_input(own, data).ok());
            program = given.ok_or_else(|| lacks(&format!("the values of `{name}` are of another size")))?;
        }
        let mut evaluator = LazyEvaluator::new(&program, Options { rounding: true, budget: BUDGET });
        let data = evaluator.tensor(output.value).map_err(|error| lacks(&error.to_string()))?;
        all.insert(output.name.to_string(), data);
    }
    Ok(all)
}

/// The arithmetic that a value takes: a product of large matrices would use up any budget before it is known to.
fn operations(graph: &Graph, value: Value) -> f64 {
    let of = |id: NodeId| match &graph.node(id).kind {
        NodeKind::Op { op: Op::Table(op), attrs } => {
            let operands: Vec<&TensorType> = graph.operands(id).iter().map(|&v| graph.ty(v)).collect();
            Call { op, attrs, operands: &operands }.work(&graph.node(id).types).flops
        }
        _ => 0.0,
    };
    needed(graph, value).into_iter().map(of).sum()
}

/// The inputs that a value depends on.
fn inputs_of(graph: &Graph, value: Value) -> Vec<NodeId> {
    needed(graph, value).into_iter().filter(|&id| matches!(graph.node(id).kind, NodeKind::Input { .. })).collect()
}

/// The nodes that a value depends on, with its own.
fn needed(graph: &Graph, value: Value) -> FxHashSet<NodeId> {
    let mut seen: FxHashSet<NodeId> = FxHashSet::default();
    let mut stack = vec![value.node];
    while let Some(id) = stack.pop() {
        if seen.insert(id) {
            stack.extend(graph.operands(id).iter().map(|v| v.node));
        }
    }
    seen
}
