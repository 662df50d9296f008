//! The values of what is computed once, from the weights that a file holds.

use rustc_hash::{FxHashMap, FxHashSet};

use super::EmitError;
use crate::eval::{EvalError, GraphProgram, LazyEvaluator, Options, Program, Source, product, product_steps};
use crate::extract::Once;
use crate::ir::{Contents, Graph, NodeId, NodeKind, Number, TensorType, Value};
use crate::ops::{Call, Op};

/// Elements that one tensor may take to compute, as the reference evaluator counts them.
const BUDGET: usize = 1 << 26;

/// Steps of a matrix product from which on it is computed at once.
const LARGE: u64 = 1 << 20;

/// Steps of all matrix products that one tensor may take: under a minute of one core.
const MOST_STEPS: u64 = 1 << 33;

const OPTIONS: Options = Options { rounding: true, budget: BUDGET };

/// Elements of tensors by name.
pub(super) type Values = FxHashMap<String, Vec<Number>>;

/// The outputs of the first part of `once`, computed from what `contents` holds of the inputs of `graph`. Every operator's result is
/// rounded to its type.
pub(super) fn values(once: &Once, graph: &Graph, contents: &mut dyn Contents) -> Result<Values, EmitError> {
    let mut all = Values::default();
    for output in once.before.outputs() {
        let lacks = |reason: &str| EmitError::Values { name: output.name.to_string(), reason: reason.to_owned() };
        let products = products(&once.before, output.value);
        let steps: u64 = products.iter().map(|(_, steps)| steps).sum();
        // A product with a sum is one of its elements, and two operations.
        let others = operations(&once.before, output.value) / 2.0 - steps as f64;
        if steps > MOST_STEPS || others > BUDGET as f64 {
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
        for (value, _) in products {
            let data = computed(&program, value).map_err(|error| lacks(&error.to_string()))?;
            program = program.with_value(value, data);
        }
        let mut evaluator = LazyEvaluator::new(&program, OPTIONS);
        let data = evaluator.tensor(output.value).map_err(|error| lacks(&error.to_string()))?;
        all.insert(output.name.to_string(), data);
    }
    Ok(all)
}

/// The large matrix products that a value depends on, in topological order, with the steps that each takes.
fn products(graph: &Graph, value: Value) -> Vec<(Value, u64)> {
    let mut nodes: Vec<NodeId> = needed(graph, value).into_iter().collect();
    nodes.sort_unstable();
    let steps = |id: NodeId| match &graph.node(id).kind {
        NodeKind::Op { op: Op::Table(op), attrs } => {
            let operands: Vec<&TensorType> = graph.operands(id).iter().map(|&v| graph.ty(v)).collect();
            product_steps(&Call { op, attrs, operands: &operands }, graph.ty(id.into()))
        }
        _ => None,
    };
    let large = |id: NodeId| Some((id.into(), steps(id).filter(|&steps| steps >= LARGE)?));
    nodes.into_iter().filter_map(large).collect()
}

/// The elements of a matrix product.
fn computed(program: &GraphProgram, value: Value) -> Result<Vec<Number>, EvalError> {
    let mut evaluator = LazyEvaluator::new(program, OPTIONS);
    let Source::Call { op, attrs, types, operands, .. } = program.source(value) else {
        return evaluator.tensor(value);
    };
    let operands: Vec<Vec<Number>> = operands.iter().map(|&o| evaluator.tensor(o)).collect::<Result<_, _>>()?;
    let whole = product(&Call { op, attrs, operands: &types }, program.ty(value), &operands);
    whole.unwrap_or_else(|| evaluator.tensor(value))
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
