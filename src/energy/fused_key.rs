//! The keys of kernels that compute several operators of a graph.

use std::sync::LazyLock;

use smallvec::SmallVec;

use super::key::KernelKey;
use crate::ir::{Graph, Layout, NodeId, NodeKind, TensorType, Value};
use crate::ops::{self, Arithmetic, Elements, Family, Op, OpDef, is_number};

/// The key of a kernel that computes `node` together with operators before it, elementwise at last: it reads what these read. `None`
/// where there are none but numbers, casts and views.
pub(super) fn fused_key(graph: &Graph, layouts: &[SmallVec<[Layout; 1]>], node: NodeId) -> Option<KernelKey> {
    let is_elementwise = |op: &Op| op.def().is_some_and(|def| matches!(def.elements, Elements::Placewise(_)));
    let ends_elementwise = op_of(graph, node).is_some_and(is_elementwise) && graph.ty(node.into()).dtype.is_float();
    let computes = |op: &Op| op.arithmetic() != Arithmetic::Cast;
    if !ends_elementwise || !graph.operands(node).iter().any(|&v| is_inside(graph, v, computes)) {
        return None;
    }
    let mut reads: Vec<Value> = Vec::new();
    let mut next: Vec<Value> = graph.operands(node).into_iter().rev().collect();
    while let Some(value) = next.pop() {
        // Of what a lookup reads, it takes as much as it gives.
        if is_inside(graph, value, |op| op.def().is_some_and(|def| def.family != Family::Index)) {
            next.extend(graph.operands(value.node).into_iter().rev());
        } else if !is_number_of(graph, value) && !reads.contains(&value) {
            reads.push(value);
        }
    }
    let all: Vec<Value> = std::iter::once(Value::from(node)).chain(reads).collect();
    let types: SmallVec<[&TensorType; 4]> = all.iter().map(|&v| graph.ty(v)).collect();
    let lie: SmallVec<[&Layout; 4]> =
        all.iter().map(|v| layouts.get(v.node.index())?.get(v.slot as usize)).collect::<Option<_>>()?;
    static FUSED: LazyLock<Option<&OpDef>> =
        LazyLock::new(|| ops::all().find(|def| def.arithmetic() == Arithmetic::Fused));
    Some(KernelKey::written(&Op::Table((*FUSED)?), &[], &types, &lie, &graph.config))
}

/// Whether the kernel of what reads `value` computes it, by an operator that is no view, no number and that is `wanted`.
fn is_inside(graph: &Graph, value: Value, wanted: impl Fn(&Op) -> bool) -> bool {
    let is_view =
        |op: &Op| op.def().is_none_or(|def| def.family == Family::View && def.arithmetic() == Arithmetic::Other);
    graph.node(value.node).origin.implicit
        && !is_number_of(graph, value)
        && op_of(graph, value.node).is_some_and(|op| !is_view(op) && wanted(op))
}

fn is_number_of(graph: &Graph, value: Value) -> bool {
    op_of(graph, value.node).and_then(Op::def).is_some_and(is_number)
}

fn op_of(graph: &Graph, node: NodeId) -> Option<&Op> {
    match &graph.node(node).kind {
        NodeKind::Op { op, .. } => Some(op),
        _ => None,
    }
}
