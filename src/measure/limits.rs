//! How large the integers may be that something is measured with: an operator that indexes by them, however far behind, must find
//! what it asks for. On a GPU an index out of range ends the process.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::ir::{Graph, NodeId, NodeKind, TensorType, Value};
use crate::ops::{Ask, Call, Interval, Op, range};

/// One above the largest integer that each of `inputs` may hold; none for other types, and for what no operator indexes by.
pub(super) fn limits(graph: &Graph, inputs: &[Value]) -> FxHashMap<Value, i64> {
    let indexes = inputs.iter().filter(|&&value| is_integer(graph, value)).filter_map(|&value| {
        let sizes = reached(graph, value).into_iter().flat_map(|user| asked(graph, user)).map(|(_, size)| size as i64);
        Some((value, sizes.max()?.max(1)))
    });
    let mut limits: FxHashMap<Value, i64> = indexes.collect();
    // Each is as large as some operator allows, and smaller where what is computed from it is too large for another one.
    while let Some((place, high)) = overrun(graph, &limits) {
        let is_cause = |&value: &Value| {
            let mut less = limits.clone();
            less.insert(value, 1);
            intervals(graph, &less).get(&place).is_none_or(|interval| interval.high < high)
        };
        let causes: Vec<Value> =
            limits.iter().filter(|(_, limit)| **limit > 1).map(|(value, _)| *value).filter(is_cause).collect();
        if causes.is_empty() {
            break;
        }
        for value in causes {
            limits.entry(value).and_modify(|limit| *limit = (*limit / 2).max(1));
        }
    }
    limits
}

fn is_integer(graph: &Graph, value: Value) -> bool {
    graph.ty(value).dtype.int_range().is_some()
}

/// The operators that read `value`, or integers that are computed from it.
fn reached(graph: &Graph, value: Value) -> FxHashSet<NodeId> {
    let mut reached = FxHashSet::default();
    let mut next = vec![value.node];
    while let Some(node) = next.pop() {
        for user in graph.users(node).filter(|user| reached.insert(*user)).collect::<Vec<_>>() {
            if graph.node(user).types.iter().any(|ty| ty.dtype.int_range().is_some()) {
                next.push(user);
            }
        }
    }
    reached
}

/// The operands of a node that are positions, and below what they have to be.
fn asked(graph: &Graph, node: NodeId) -> Vec<(Value, usize)> {
    let NodeKind::Op { op: Op::Table(op), attrs } = &graph.node(node).kind else { return Vec::new() };
    let operands = graph.operands(node);
    let types: SmallVec<[&TensorType; 4]> = operands.iter().map(|&operand| graph.ty(operand)).collect();
    let asks = (op.asks)(&Call { op, attrs, operands: &types });
    asks.iter()
        .filter_map(|&(at, ask)| match ask {
            Ask::Below(size) => Some((*operands.get(at)?, size)),
            _ => None,
        })
        .collect()
}

/// A position that would be beyond what is asked of it if inputs were as large as `limits` say, and how large it could be.
fn overrun(graph: &Graph, limits: &FxHashMap<Value, i64>) -> Option<(Value, f64)> {
    let known = intervals(graph, limits);
    let asked = graph.nodes().flat_map(|(id, _)| asked(graph, id));
    let mut high = asked.filter_map(|(value, size)| Some((value, size, known.get(&value)?.high)));
    high.find(|&(_, size, high)| high >= size as f64).map(|(value, _, high)| (value, high))
}

/// What integers lie in if inputs are as large as `limits` say, as far as that is known.
fn intervals(graph: &Graph, limits: &FxHashMap<Value, i64>) -> FxHashMap<Value, Interval> {
    let stated = limits.iter().filter_map(|(&value, &limit)| Some((value, Interval::new(0.0, (limit - 1) as f64)?)));
    let mut known: FxHashMap<Value, Interval> = stated.collect();
    for (id, node) in graph.nodes() {
        let NodeKind::Op { op: Op::Table(op), attrs } = &node.kind else { continue };
        let result = Value::from(id);
        // What is stated is not computed here.
        if known.contains_key(&result) || !is_integer(graph, result) {
            continue;
        }
        let operands = graph.operands(id);
        let types: SmallVec<[&TensorType; 4]> = operands.iter().map(|&operand| graph.ty(operand)).collect();
        let of_operands: SmallVec<[Option<Interval>; 4]> = operands.iter().map(|o| known.get(o).copied()).collect();
        if let Some(interval) = range(&Call { op, attrs, operands: &types }, &of_operands) {
            known.insert(result, interval);
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text;

    /// The limits of the inputs of a graph, in their order.
    fn of_inputs(source: &str) -> Vec<Option<i64>> {
        let graph = text::parse("test", source).unwrap();
        let inputs: Vec<Value> = graph.inputs().iter().map(|&id| id.into()).collect();
        let limits = limits(&graph, &inputs);
        inputs.iter().map(|value| limits.get(value).copied()).collect()
    }

    #[test]
    fn positions_that_are_gathered_before_they_pick_rows_are_below_their_number() {
        // As BERT looks its token types up: two rows, of which a third one was asked for.
        let limits = of_inputs(
            "graph g(w: param f32[2, 8], types: buffer i64[1, 16], at: i64[1, 4], mask: i64[1, 4]) {\n\
               picked = gather(types, at; dim=1)\n\
               rows = embedding(w, picked)\n\
               return rows, mask }",
        );
        assert_eq!(limits, [None, Some(2), Some(16), None]);
    }

    #[test]
    fn positions_behind_an_offset_are_as_much_smaller() {
        let limits = of_inputs(
            "graph g(w: param f32[10, 8], at: i64[4]) {\n next = add(at, 2)\n y = embedding(w, next)\n return y }",
        );
        assert!(limits[1].is_some_and(|limit| (1..=8).contains(&limit)), "{limits:?}");
    }
}
