//! What depends on parameters and constants alone, and so is the same at every execution.

use smallvec::SmallVec;

use crate::ir::{Graph, NodeId, NodeKind, Role, Target, TensorType};
use crate::ops::{Call, Draws, Op};

/// Bytes that a precomputed tensor may take in any case: masks, and tables of positions.
const SMALL: u64 = 64 << 20;

/// How many times the bytes of the parameters that it is made of a larger one may take: weights that are packed into a few bits, so
/// that they fit into memory, are not unpacked for good.
const MAX_GROWTH: u64 = 2;

/// The nodes of a graph that depend on nothing that changes between executions.
pub(super) struct Fixed {
    /// Bytes of parameters that each node is made of; what it reads twice counts twice. `None` where it is not fixed.
    made_of: Vec<Option<u64>>,
}

impl Fixed {
    /// Parameters and buffers that the graph does not write are fixed, and so is what is computed from them without chance. In a
    /// graph that trains nothing is, nor where `frozen` is off.
    pub(super) fn of(graph: &Graph, frozen: bool) -> Fixed {
        let mut made_of = vec![None; graph.len()];
        if !frozen || trains(graph) {
            return Fixed { made_of };
        }
        let is_written =
            |name: &str| graph.outputs().iter().any(|o| matches!(&o.target, Target::Write(of) if **of == *name));
        for (id, node) in graph.nodes() {
            made_of[id.index()] = match &node.kind {
                NodeKind::Input { role: Role::User } => None,
                NodeKind::Input { .. } => (!is_written(&node.name)).then(|| graph.ty(id.into()).bytes() as u64),
                NodeKind::Literal(_) => Some(0),
                NodeKind::Op { .. } if !repeats(graph, id) => None,
                NodeKind::Op { .. } => graph.operands(id).iter().map(|v| made_of[v.node.index()]).try_fold(0, added),
            };
        }
        Fixed { made_of }
    }

    /// Bytes of parameters that a node is made of; `None` where it is not fixed.
    pub(super) fn made_of(&self, node: NodeId) -> Option<u64> {
        self.made_of.get(node.index()).copied().flatten()
    }

    /// Whether any node is fixed.
    pub(super) fn any(&self) -> bool {
        self.made_of.iter().any(Option::is_some)
    }
}

/// The bytes that something is made of, with another part of it.
pub(super) fn added(all: u64, part: Option<u64>) -> Option<u64> {
    part.map(|part| all.saturating_add(part))
}

/// Whether a tensor of so many bytes is worth its memory, made of parameters of so many.
pub(super) fn is_worth_keeping(bytes: usize, made_of: u64) -> bool {
    let bytes = bytes as u64;
    bytes <= SMALL || bytes <= made_of.saturating_mul(MAX_GROWTH)
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
