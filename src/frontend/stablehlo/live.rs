//! Leaves out what no output needs: XLA computes none of it.

use rustc_hash::FxHashMap;

use crate::ir::{Graph, NodeId, NodeKind, Value};
use crate::ops::Op;

/// The graph with all its inputs, and those nodes that its outputs are computed from.
pub(super) fn only(graph: Graph) -> Graph {
    // What could be added to one graph can be added to another.
    pruned(&graph).unwrap_or(graph)
}

fn pruned(graph: &Graph) -> Option<Graph> {
    let live = graph.live();
    let mut kept = Graph::new(graph.name.clone());
    kept.config = graph.config.clone();
    let mut moved: FxHashMap<NodeId, NodeId> = FxHashMap::default();
    for (id, node) in graph.nodes() {
        let is_input = matches!(node.kind, NodeKind::Input { .. });
        if !is_input && !live[id.index()] {
            continue;
        }
        let operands: Option<Vec<Value>> =
            graph.operands(id).iter().map(|v| Some(Value::new(*moved.get(&v.node)?, v.slot))).collect();
        let origin = node.origin.clone();
        let added = operands.and_then(|operands| match &node.kind {
            NodeKind::Input { role } => Some(kept.add_input(&node.name, *role, node.types[0].clone(), origin)),
            NodeKind::Literal(literal) => {
                kept.add_literal(&node.name, node.types[0].clone(), literal.data.clone(), origin).ok()
            }
            NodeKind::Op { op: Op::Table(def), attrs } => {
                kept.add_op(&node.name, def, attrs.clone(), &operands, origin).ok()
            }
            NodeKind::Op { op, attrs } => kept
                .add_custom(&node.name, op.clone(), attrs.clone(), &operands, node.types.iter().cloned(), origin)
                .ok(),
        });
        moved.insert(id, added?);
    }
    let found = |v: Value| moved.get(&v.node).map(|&node| Value::new(node, v.slot)).ok_or(());
    kept.take_outputs(graph, found).ok()?;
    Some(kept)
}
