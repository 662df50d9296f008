//! How nodes of a graph and their outputs are named.

use petgraph::graph::NodeIndex;

/// A node of a [`Graph`](super::Graph).
pub type NodeId = NodeIndex<u32>;

/// One output of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value {
    /// The node that gives it.
    pub node: NodeId,
    /// Which of the node's outputs it is.
    pub slot: u32,
}

impl Value {
    /// Output `slot` of `node`.
    pub fn new(node: NodeId, slot: u32) -> Self {
        Value { node, slot }
    }
}

impl From<NodeId> for Value {
    /// The first (usually the only) output of a node.
    fn from(node: NodeId) -> Self {
        Value { node, slot: 0 }
    }
}
