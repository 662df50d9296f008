//! Fanout-free parts: operators that nothing needs any more once a value is computed in another way.

use rustc_hash::FxHashSet;

use crate::ir::{Graph, NodeId, NodeKind};
use crate::ops::{Movement, Op};

/// Operators that one rewrite may replace. Larger parts hold more forms than a search gets through.
pub(super) const MAX_OPERATORS: usize = 12;

/// Users of every node, and which nodes stay whatever becomes of their users.
pub(super) struct Users {
    users: Vec<Vec<NodeId>>,
    is_output: Vec<bool>,
    /// Whether the result of a node is stored as a part of larger memory. Such a write is an implicit join of tensors.
    is_written: Vec<bool>,
}

impl Users {
    pub(super) fn of(graph: &Graph) -> Users {
        let mut is_output = vec![false; graph.len()];
        for output in graph.outputs() {
            is_output[output.value.node.index()] = true;
        }
        let users: Vec<Vec<NodeId>> = graph.nodes().map(|(id, _)| graph.users(id).collect()).collect();
        let joins = |&n: &NodeId| {
            let node = graph.node(n);
            let is_concat = |op: &Op| op.def().is_some_and(|def| def.movement() == Some(Movement::Concat));
            node.origin.implicit && matches!(&node.kind, NodeKind::Op { op, .. } if is_concat(op))
        };
        let is_written = graph.nodes().map(|(id, node)| !node.origin.implicit && users[id.index()].iter().any(joins));
        Users { is_written: is_written.collect(), users, is_output }
    }

    /// The operators that read a node.
    pub(super) fn of_node(&self, node: NodeId) -> &[NodeId] {
        &self.users[node.index()]
    }

    /// Whether the result of a node is stored as a part of larger memory: whatever form it has, some kernel has to put it there.
    pub(super) fn is_written(&self, node: NodeId) -> bool {
        self.is_written[node.index()]
    }
}

/// The maximal fanout-free cone of `root`, nearest operators first up to `limit` of the file's operators; in
/// topological order.
pub(super) fn cone(graph: &Graph, users: &Users, root: NodeId, limit: usize) -> Vec<NodeId> {
    let mut inside: FxHashSet<NodeId> = FxHashSet::default();
    inside.insert(root);
    let mut count = 1;
    let mut ring = vec![root];
    while !ring.is_empty() {
        let mut next = Vec::new();
        for node in ring {
            for operand in graph.operands(node) {
                let n = operand.node;
                let node = graph.node(n);
                let free = matches!(node.kind, NodeKind::Op { .. })
                    && !inside.contains(&n)
                    && !users.is_output[n.index()]
                    && !users.is_written[n.index()]
                    && users.users[n.index()].iter().all(|u| inside.contains(u));
                if !free {
                    continue;
                }
                let counts = usize::from(!node.origin.implicit);
                if count + counts > limit {
                    continue;
                }
                count += counts;
                inside.insert(n);
                next.push(n);
            }
        }
        ring = next;
    }
    let mut part: Vec<NodeId> = inside.into_iter().collect();
    part.sort_unstable();
    part
}
