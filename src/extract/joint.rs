//! Parts of a graph with several results, which one form computes together: a value that several readers use, two that are the same,
//! products of one operand.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::sync::{Arc, LazyLock};

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::fanout_free::{Users, cone};
use crate::ir::{Attrs, DType, Graph, NodeId, NodeKind, TensorType, Value};
use crate::ops::{CustomOp, Op};
use crate::prove::{Head, TermArena, TermId};

/// A graph of no more operators is one part.
pub(super) const MAX_WHOLE: usize = 24;

/// Operators of a part of a larger graph.
const MAX_PART: usize = 12;

/// Operators in front of a shared value that belong to its part.
const MAX_BEFORE: usize = 4;

/// Nodes that are looked at for one part.
const MAX_VISITS: usize = 4 * MAX_PART;

/// Stands above several results, so that a part has one term. Nobody executes it, and graphs have no operators without a name.
static TOGETHER: LazyLock<Op> = LazyLock::new(|| Op::Custom(Arc::new(CustomOp::new("", Vec::new()))));

/// Several terms as one; a single one stays as it is.
pub(super) fn together(arena: &mut TermArena, results: &[TermId]) -> Option<TermId> {
    match results {
        [one] => Some(*one),
        _ => arena.call(&TOGETHER, &Attrs::new(), 0, results, Some(&TensorType::scalar(DType::Bool))).ok(),
    }
}

pub(super) fn is_together(op: &Op) -> bool {
    *op == *TOGETHER
}

/// The terms of which `term` consists, in the order in which they were put together.
pub(crate) fn results(arena: &TermArena, term: TermId) -> SmallVec<[TermId; 4]> {
    match arena.head(term) {
        Head::Apply { op, .. } if is_together(op) => arena.term(term).operands.clone(),
        _ => SmallVec::from_slice(&[term]),
    }
}

/// Those of `leaves`, by the numbers of the inputs that stand for them, that `term` reads.
pub(super) fn reads(arena: &TermArena, term: TermId, leaves: &[Value]) -> impl Iterator<Item = Value> {
    let mut seen: FxHashSet<TermId> = FxHashSet::from_iter([term]);
    let mut next = vec![term];
    while let Some(term) = next.pop() {
        next.extend(arena.term(term).operands.iter().filter(|&&o| seen.insert(o)));
    }
    seen.into_iter().filter_map(|term| match arena.head(term) {
        Head::Input(n) => leaves.get(*n as usize).copied(),
        _ => None,
    })
}

/// Parts around the values that are used more than once, and all of a small graph. No way from one operator of a part to another leads
/// through operators outside.
pub(super) fn parts(graph: &Graph, users: &Users, live: &[bool]) -> Vec<Vec<NodeId>> {
    let finder = Finder { graph, users, live };
    let operators: Vec<NodeId> = graph.nodes().map(|(id, _)| id).filter(|&id| finder.is_replaceable(id)).collect();
    let explicit = operators.iter().filter(|&&id| !graph.node(id).origin.implicit).count();
    let is_all = graph.operators().filter(|(id, _)| live[id.index()]).count() == explicit;
    if is_all && explicit <= MAX_WHOLE {
        return vec![operators];
    }
    let shared = graph.nodes().filter(|(_, node)| !matches!(node.kind, NodeKind::Literal(_))).map(|(id, _)| id);
    let parts: BTreeSet<Vec<NodeId>> = shared.filter_map(|id| finder.part(id)).collect();
    parts.into_iter().collect()
}

/// The values of a part that are read outside, or given out.
pub(super) fn read_outside(graph: &Graph, part: &[NodeId]) -> Vec<Value> {
    let inside: FxHashSet<NodeId> = part.iter().copied().collect();
    let mut read: BTreeSet<Value> = BTreeSet::new();
    read.extend(graph.outputs().iter().map(|output| output.value).filter(|v| inside.contains(&v.node)));
    for &node in part {
        for user in graph.users(node).filter(|user| !inside.contains(user)) {
            read.extend(graph.operands(user).into_iter().filter(|v| v.node == node));
        }
    }
    read.into_iter().collect()
}

struct Finder<'g> {
    graph: &'g Graph,
    users: &'g Users,
    live: &'g [bool],
}

impl Finder<'_> {
    fn is_replaceable(&self, id: NodeId) -> bool {
        let is_of_table = matches!(&self.graph.node(id).kind, NodeKind::Op { op: Op::Table(_), .. });
        is_of_table && self.live[id.index()] && !self.users.is_written(id)
    }

    /// The part around a value that several operators read: what computes it, and what follows from it.
    fn part(&self, shared: NodeId) -> Option<Vec<NodeId>> {
        let readers = self.users.of_node(shared).iter().filter(|&&reader| self.is_replaceable(reader));
        let readers: BTreeSet<NodeId> = readers.copied().collect();
        if readers.len() < 2 {
            return None;
        }
        let mut inside: FxHashSet<NodeId> = FxHashSet::default();
        if self.is_replaceable(shared) {
            let before = cone(self.graph, self.users, shared, MAX_BEFORE);
            if before.iter().all(|&id| self.is_replaceable(id)) {
                inside.extend(before);
            }
        }
        let mut count = inside.iter().filter(|&&id| !self.graph.node(id).origin.implicit).count();
        let mut outside: FxHashSet<NodeId> = FxHashSet::default();
        // In the order of the graph: whatever leads from the part to a node was looked at before it.
        let mut next: BinaryHeap<Reverse<NodeId>> = readers.iter().copied().map(Reverse).collect();
        let mut visits = 0;
        while let Some(Reverse(id)) = next.pop() {
            visits += 1;
            if inside.contains(&id) || outside.contains(&id) {
                continue;
            }
            let counts = usize::from(!self.graph.node(id).origin.implicit);
            if visits > MAX_VISITS || count + counts > MAX_PART {
                break;
            }
            let follows = self.graph.operands(id).iter().any(|v| outside.contains(&v.node));
            if follows || !self.is_replaceable(id) {
                outside.insert(id);
            } else {
                inside.insert(id);
                count += counts;
            }
            next.extend(self.users.of_node(id).iter().copied().map(Reverse));
        }
        if readers.iter().filter(|reader| inside.contains(reader)).count() < 2 {
            return None;
        }
        let mut part: Vec<NodeId> = inside.into_iter().collect();
        part.sort_unstable();
        Some(part)
    }
}
