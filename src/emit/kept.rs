//! What a graph still has of the calls that its file made: those are made again as they were.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::frontend::pt2::{Record, Recorded};
use crate::ir::{Graph, NodeId, NodeKind, Value};
use crate::ops::aten::{Arg, Made};

/// A call of the file over the values of the graph.
pub(super) struct KeptCall {
    pub call: Made<Value>,
    pub results: SmallVec<[Option<Value>; 1]>,
}

/// The calls of the file that a graph still has.
#[derive(Default)]
pub(super) struct Kept {
    /// By the last node that the graph has for it.
    pub last: FxHashMap<NodeId, KeptCall>,
    /// All nodes that the graph has for these calls.
    pub inside: FxHashSet<NodeId>,
}

impl Kept {
    pub(super) fn of(graph: &Graph, record: &Record) -> Self {
        let own: FxHashMap<&str, NodeId> = graph.nodes().map(|(id, node)| (&*node.name, id)).collect();
        let mut kept = Kept::default();
        for recorded in &record.calls {
            if let Some((nodes, call)) = still_there(graph, &own, record, recorded)
                && let Some(&last) = nodes.last()
            {
                kept.last.insert(last, call);
                kept.inside.extend(nodes);
            }
        }
        kept
    }
}

/// The nodes that the graph has for a call, if none of them was touched.
fn still_there(
    graph: &Graph,
    own: &FxHashMap<&str, NodeId>,
    record: &Record,
    recorded: &Recorded,
) -> Option<(Vec<NodeId>, KeptCall)> {
    let old = &record.graph;
    let moved = |value: Value| {
        let id = *own.get(&*old.node(value.node).name)?;
        let slot = graph.node(id).types.get(value.slot as usize)?;
        (slot == old.ty(value)).then_some(Value::new(id, value.slot))
    };
    let mut nodes = Vec::new();
    let mut operators = 0;
    for i in recorded.nodes.clone() {
        let before = NodeId::new(i);
        let node = old.node(before);
        let id = *own.get(&*node.name)?;
        let after = graph.node(id);
        let operands = old.operands(before).into_iter().map(moved).collect::<Option<SmallVec<[Value; 4]>>>()?;
        if node.kind != after.kind || node.types != after.types || operands != graph.operands(id) {
            return None;
        }
        operators += usize::from(matches!(&node.kind, NodeKind::Op { .. }));
        nodes.push(id);
    }
    // A view of strides that its operand need not have any more.
    let by_strides = ["aten.view.", "aten._unsafe_view.", "aten.view_copy."];
    if operators == 0 || by_strides.iter().any(|name| recorded.call.target.starts_with(name)) {
        return None;
    }
    nodes.sort_unstable();
    let Made { target, positional, keyword, results, list } = recorded.call.clone();
    let arguments = |all: Vec<(_, Arg<Value>)>| {
        let mut tensor = |value: Value| moved(value).ok_or(());
        let each = all
            .into_iter()
            .map(|(name, arg)| Ok::<_, ()>((name, arg.map(&mut tensor, |t, tensor| tensor(t).map(Arg::Tensor))?)));
        each.collect::<Result<Vec<_>, ()>>().ok()
    };
    let call = Made { target, positional: arguments(positional)?, keyword: arguments(keyword)?, results, list };
    let results = recorded.results.iter().map(|value| value.and_then(moved)).collect();
    Some((nodes, KeptCall { call, results }))
}
