//! What depends on parameters and constants alone, and so is the same at every execution.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::{Graph, NodeId, NodeKind, Role, Target, TensorType};
use crate::ops::{Call, Draws, Op};

/// The nodes of a graph that depend on nothing that changes between executions.
pub(crate) struct Fixed {
    /// Bytes of parameters that each node is made of; what it reads twice counts twice. `None` where it is not fixed.
    made_of: Vec<Option<u64>>,
}

impl Fixed {
    /// Parameters and buffers that the graph does not write are fixed, and so is what is computed from them without chance. In a
    /// graph that trains nothing is, nor where `frozen` is off.
    pub(crate) fn of(graph: &Graph, frozen: bool) -> Fixed {
        let mut made_of = vec![None; graph.len()];
        if !frozen || trains(graph) {
            return Fixed { made_of };
        }
        let written: FxHashSet<&str> = graph
            .outputs()
            .iter()
            .filter_map(|output| match &output.target {
                Target::Write(input) => Some(&**input),
                _ => None,
            })
            .collect();
        for (id, node) in graph.nodes() {
            made_of[id.index()] = match &node.kind {
                NodeKind::Input { role: Role::User } => None,
                NodeKind::Input { .. } => (!written.contains(&*node.name)).then(|| graph.ty(id.into()).bytes() as u64),
                NodeKind::Literal(_) => Some(0),
                NodeKind::Op { .. } if !repeats(graph, id) => None,
                NodeKind::Op { .. } => graph.operands(id).iter().map(|v| made_of[v.node.index()]).try_fold(0, added),
            };
        }
        Fixed { made_of }
    }

    /// Bytes of parameters that a node is made of; `None` where it is not fixed.
    pub(crate) fn made_of(&self, node: NodeId) -> Option<u64> {
        self.made_of.get(node.index()).copied().flatten()
    }

    /// Whether any node is fixed.
    pub(crate) fn any(&self) -> bool {
        self.made_of.iter().any(Option::is_some)
    }
}

/// The bytes that something is made of, with another part of it.
pub(crate) fn added(all: u64, part: Option<u64>) -> Option<u64> {
    part.map(|part| all.saturating_add(part))
}

/// Whether parameters change between executions, as far as the graph tells: it states how, or drops elements out by chance.
fn trains(graph: &Graph) -> bool {
    let is_parameter = |name: &str| {
        let inputs = graph.inputs().iter().map(|&id| graph.node(id));
        inputs.filter(|node| *node.name == *name).any(|node| node.kind == NodeKind::Input { role: Role::Parameter })
    };
    let changes = graph.outputs().iter().any(|output| match &output.target {
        Target::Loss(_) | Target::Gradient(_) => true,
        Target::Write(input) => is_parameter(input),
        Target::Result(_) => false,
    });
    let drops = |def: &crate::ops::OpDef| matches!(def.draws, Draws::Where(_));
    changes
        || graph.nodes().any(|(id, node)| match &node.kind {
            NodeKind::Op { op: Op::Table(def), .. } => drops(def) && !repeats(graph, id),
            _ => false,
        })
}

/// Whether an operator is known to give the same for the same operands.
fn repeats(graph: &Graph, id: NodeId) -> bool {
    let NodeKind::Op { op: Op::Table(op), attrs } = &graph.node(id).kind else { return false };
    let operands = graph.operands(id);
    let types: SmallVec<[&TensorType; 4]> = operands.iter().map(|&v| graph.ty(v)).collect();
    !Call { op, attrs, operands: &types }.is_chance()
}
