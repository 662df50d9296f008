//! Operators of a file as reports have them.

use rustc_hash::FxHashMap;

use crate::diagnose;
use crate::energy::Cost;
use crate::ir::{Graph, NodeId, NodeKind};
use crate::report::{Operator, PlacedOperator};

pub(super) fn operators(side: &(&Graph, Vec<Cost>), nodes: &[NodeId]) -> Vec<Operator> {
    nodes.iter().filter_map(|&n| operator(side, n)).collect()
}

pub(super) fn placed(side: &(&Graph, Vec<Cost>), region_of: &FxHashMap<NodeId, usize>) -> Vec<PlacedOperator> {
    let place = |id: NodeId| {
        let module = side.0.node(id).origin.module.clone();
        Some(PlacedOperator { operator: operator(side, id)?, module, region: region_of.get(&id).copied() })
    };
    side.0.nodes().filter_map(|(id, _)| place(id)).collect()
}

/// A node as the report has it; none if no operator of the file stands for it.
fn operator((graph, costs): &(&Graph, Vec<Cost>), id: NodeId) -> Option<Operator> {
    let node = graph.node(id);
    let NodeKind::Op { op, .. } = &node.kind else { return None };
    if node.origin.implicit {
        return None;
    }
    let types = graph.operands(id).iter().map(|&v| graph.ty(v).to_string()).collect::<Vec<_>>().join(", ");
    let results = node.types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    Some(Operator {
        name: node.name.to_string(),
        kind: op.name().to_owned(),
        types: format!("({types}) -> {results}"),
        cost: costs.get(id.index())?.into(),
        source: diagnose::source(node),
    })
}
