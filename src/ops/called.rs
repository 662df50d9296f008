//! What of a graph PyTorch calls something for.

use super::{Arithmetic, Family, OpDef, is_number};
use crate::ir::{Graph, NodeId, NodeKind, Value, read_value};

/// Whether PyTorch calls something for this node. Casts that an elementwise kernel does on the fly are its own; numbers
/// of the source are made where they are read.
pub fn is_called(graph: &Graph, id: NodeId) -> bool {
    let node = graph.node(id);
    let elementwise = |user: NodeId| match &graph.node(user).kind {
        NodeKind::Op { op, .. } => op.def().is_some_and(|def| def.family == Family::Elementwise),
        _ => false,
    };
    match &node.kind {
        NodeKind::Op { op, .. } if node.origin.implicit && op.arithmetic() == Arithmetic::Cast => {
            let given_out = graph.outputs().iter().any(|o| o.value.node == id);
            given_out || !graph.users(id).all(elementwise)
        }
        NodeKind::Op { op, .. } => !op.def().is_some_and(is_number),
        _ => false,
    }
}

/// The value that a call of `op` reads where the graph says `value`.
pub fn operand_read(graph: &Graph, value: Value, op: &OpDef) -> Value {
    if op.family == Family::Elementwise { read_value(graph, value) } else { value }
}
