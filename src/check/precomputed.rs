//! What is computed once, as reports list it.

use rustc_hash::FxHashSet;

use crate::extract::Once;
use crate::ir::{Graph, NodeId, NodeKind};
use crate::report::Precomputed;

/// What everything that is computed once rests on.
pub(crate) const FROZEN: &str =
    "parameters, and buffers that the workload does not write, are the same at every execution";

/// The tensors that are computed once. Those of layers that repeat are told together.
pub(crate) fn precomputed(once: &Once) -> Vec<Precomputed> {
    let mut all: Vec<Precomputed> = Vec::new();
    for output in once.before.outputs() {
        let (from, by) = made_of(&once.before, output.value.node);
        let ty = once.before.ty(output.value);
        let one = Precomputed {
            names: vec![output.name.to_string()],
            ty: ty.to_string(),
            bytes: ty.bytes() as u64,
            from,
            by,
        };
        match all.iter_mut().find(|known| known.ty == one.ty && known.by == one.by) {
            Some(known) => known.names.extend(one.names),
            None => all.push(one),
        }
    }
    all.sort_by_key(|one| std::cmp::Reverse(one.total_bytes()));
    all
}

/// The inputs and the operators, in order, that a value is made of.
fn made_of(graph: &Graph, value: NodeId) -> (Vec<String>, Vec<String>) {
    let mut seen: FxHashSet<NodeId> = FxHashSet::default();
    let mut stack = vec![value];
    while let Some(id) = stack.pop() {
        if seen.insert(id) {
            stack.extend(graph.operands(id).iter().map(|v| v.node));
        }
    }
    let mut nodes: Vec<NodeId> = seen.into_iter().collect();
    nodes.sort_unstable();
    let (mut from, mut by) = (Vec::new(), Vec::new());
    for node in nodes.into_iter().map(|id| graph.node(id)) {
        match &node.kind {
            NodeKind::Input { .. } => from.push(node.name.to_string()),
            NodeKind::Op { op, .. } if !node.origin.implicit => by.push(op.name().to_owned()),
            NodeKind::Op { .. } | NodeKind::Literal(_) => {}
        }
    }
    (from, by)
}
