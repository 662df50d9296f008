//! The keys of a graph's nodes.

use smallvec::SmallVec;

use super::fused_key::fused_key;
use super::key::KernelKey;
use super::work::WorkWithLayout;
use crate::ir::{Graph, Layout, NodeId, NodeKind, TensorType, Value, read_value};

/// The key of a node's execution; `None` for inputs and literals, which execute nothing.
///
/// `layouts` is what [`crate::ir::layouts`] gives for the graph. Casts that a kernel does on the fly (implicit nodes) are
/// seen through: the key holds the type that is read from memory.
pub(crate) fn key_of(graph: &Graph, layouts: &[SmallVec<[Layout; 1]>], node: NodeId) -> Option<KernelKey> {
    let operands = graph.operands(node);
    let read: SmallVec<[Value; 4]> = operands.iter().map(|&v| read_value(graph, v)).collect();
    let key = written_key(graph, layouts, node, &read)?.canonical();
    // An operator that does not cast on the fly reads what the operator before it stored.
    let fits = read[..] == operands[..] || key.def().is_none() || WorkWithLayout::of_key(&key).is_some();
    if fits { Some(key) } else { Some(written_key(graph, layouts, node, &operands)?.canonical()) }
}

/// The key of a node as it is written, before calls that run the same kernel get the same key. `None` for inputs and literals, and
/// for an operator that may cast on the fly, which takes more to find out.
pub(super) fn written_key_of(graph: &Graph, layouts: &[SmallVec<[Layout; 1]>], node: NodeId) -> Option<KernelKey> {
    let operands = graph.operands(node);
    let reads_itself = operands.iter().all(|&v| read_value(graph, v) == v);
    if reads_itself { written_key(graph, layouts, node, &operands) } else { None }
}

fn written_key(
    graph: &Graph,
    layouts: &[SmallVec<[Layout; 1]>],
    node: NodeId,
    operands: &[Value],
) -> Option<KernelKey> {
    let NodeKind::Op { op, attrs } = &graph.node(node).kind else { return None };
    if let Some(key) = fused_key(graph, layouts, node) {
        return Some(key);
    }
    let types: SmallVec<[&TensorType; 4]> = operands.iter().map(|&v| graph.ty(v)).collect();
    let of = |v: &Value| layouts.get(v.node.index())?.get(v.slot as usize);
    let operand_layouts: SmallVec<[&Layout; 4]> = operands.iter().map(of).collect::<Option<_>>()?;
    Some(KernelKey::written(op, attrs, &types, &operand_layouts, &graph.config))
}
