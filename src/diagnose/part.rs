//! One side of a region: its nodes, with what they cost.

use crate::energy::Cost;
use crate::ir::{AttrValue, Graph, Node, NodeId, NodeKind};
use crate::ops::Op;

/// One side of a region.
#[derive(Clone, Copy)]
pub(crate) struct Part<'a> {
    pub graph: &'a Graph,
    pub nodes: &'a [NodeId],
    /// Cost of every node of the graph.
    pub costs: &'a [Cost],
}

impl<'a> Part<'a> {
    pub(super) fn total(&self) -> Cost {
        self.nodes.iter().map(|n| self.costs[n.index()]).sum()
    }

    pub(super) fn has(&self, op: &str) -> bool {
        self.ops().any(|name| name == op)
    }

    pub(super) fn ops(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.calls().map(|(_, op, _)| op.name())
    }

    /// The operators of the file with their attributes.
    pub(super) fn calls(&self) -> impl Iterator<Item = (&'a Node, &'a Op, &'a [AttrValue])> + use<'a> {
        let graph = self.graph;
        self.nodes.iter().map(move |&n| graph.node(n)).filter_map(|node| match &node.kind {
            NodeKind::Op { op, attrs } if !node.origin.implicit => Some((node, op, attrs.as_slice())),
            _ => None,
        })
    }

    /// The same with what each costs.
    pub(super) fn priced_calls(&self) -> impl Iterator<Item = (&'a Node, &'a Op, Cost)> + use<'a> {
        let (graph, costs) = (self.graph, self.costs);
        self.nodes.iter().filter_map(move |&n| match &graph.node(n).kind {
            NodeKind::Op { op, .. } if !graph.node(n).origin.implicit => Some((graph.node(n), op, costs[n.index()])),
            _ => None,
        })
    }

    /// `file:line` of the operator that costs most, or failing figures of the last one.
    pub(crate) fn source(&self) -> Option<String> {
        let energy = |n: &NodeId| self.costs[n.index()].energy_mj.value;
        let dearest = self.nodes.iter().copied().max_by(|x, y| energy(x).total_cmp(&energy(y)).then(x.cmp(y)))?;
        self.graph.node(dearest).origin.line().map(ToString::to_string)
    }
}
