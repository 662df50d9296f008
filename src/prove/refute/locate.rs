//! Where two graphs part on a witness: the first operators whose results differ although all they read agrees.

use rustc_hash::{FxHashMap, FxHashSet};

use super::evaluator::{Evaluator, close};
use super::question::Question;
use crate::ir::{Graph, NodeId, NodeKind, Number, TensorType, Value};
use crate::ops::{Family, Op};

/// Operators looked at behind the first that part, for values of one type in which the sides should meet.
const REACH: usize = 64;

/// The operators of either side between values that agree and the first values that should, and do not.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Location {
    pub a: Vec<NodeId>,
    pub b: Vec<NodeId>,
    /// The first operator of either side whose result has no counterpart on the other.
    pub first_a: Option<NodeId>,
    pub first_b: Option<NodeId>,
}

/// Looks at what the two evaluators computed for the witness, without computing more.
pub(super) fn locate(question: &Question, left: &Evaluator, right: &Evaluator) -> Location {
    let a = Side::new(question.graphs[0], question.unproven[0], left);
    let b = Side::new(question.graphs[1], question.unproven[1], right);
    let (parted_a, parted_b) = (a.parted(&b), b.parted(&a));
    let (first_a, first_b) = (a.first(&parted_a), b.first(&parted_b));
    let meeting = match (first_a, first_b) {
        (Some(x), Some(y)) => meeting(&a, a.behind(x), &b, b.behind(y)),
        _ => None,
    };
    let (end_a, end_b) = meeting.map_or((first_a, first_b), |(x, y)| (Some(x), Some(y)));
    Location {
        a: end_a.map_or_else(Vec::new, |end| a.cone(end, &parted_a)),
        b: end_b.map_or_else(Vec::new, |end| b.cone(end, &parted_b)),
        first_a,
        first_b,
    }
}

/// One graph with the elements that were computed for the witness.
struct Side<'s, 'd, 'q> {
    graph: &'s Graph,
    unproven: &'s [NodeId],
    is_unproven: FxHashSet<NodeId>,
    evaluator: &'s Evaluator<'d, 'q>,
    /// The computed elements of each value.
    computed: FxHashMap<Value, Vec<(usize, Number)>>,
    by_type: FxHashMap<&'s TensorType, Vec<Value>>,
}

impl<'s, 'd, 'q> Side<'s, 'd, 'q> {
    fn new(graph: &'s Graph, unproven: &'s [NodeId], evaluator: &'s Evaluator<'d, 'q>) -> Self {
        let computed = evaluator.computed();
        let mut by_type: FxHashMap<&TensorType, Vec<Value>> = FxHashMap::default();
        for &value in computed.keys() {
            by_type.entry(graph.ty(value)).or_default().push(value);
        }
        by_type.values_mut().for_each(|values| values.sort_unstable());
        let is_unproven = unproven.iter().copied().collect();
        Side { graph, unproven, is_unproven, evaluator, computed, by_type }
    }

    /// The unproven operators that have a computed result without a counterpart among the other side's values.
    /// Operators that only move elements, or pass them on, part where their operands do.
    fn parted(&self, other: &Side) -> FxHashSet<NodeId> {
        let mut parted: FxHashSet<NodeId> = FxHashSet::default();
        for &id in self.unproven {
            let moves = matches!(&self.graph.node(id).kind,
                NodeKind::Op { op: Op::Table(op), .. } if op.family == Family::View);
            let slots = (0..self.graph.node(id).types.len() as u32).map(|slot| Value::new(id, slot));
            let computed: Vec<Value> = slots.filter(|v| self.computed.contains_key(v)).collect();
            let parts = if moves || computed.is_empty() {
                self.graph.operands(id).iter().any(|v| parted.contains(&v.node))
            } else {
                computed.into_iter().any(|v| !other.has(self, v))
            };
            if parts {
                parted.insert(id);
            }
        }
        parted
    }

    /// Whether some value here has the elements of the other side's `value`.
    fn has(&self, other: &Side, value: Value) -> bool {
        let elements = &other.computed[&value];
        let candidates = self.by_type.get(other.graph.ty(value)).map_or(&[][..], Vec::as_slice);
        candidates.iter().any(|&candidate| {
            let known = elements.iter().map(|&(flat, v)| (self.evaluator.known(candidate, flat), v));
            let mut common = known.filter_map(|(own, v)| own.map(|own| close(own, v))).peekable();
            common.peek().is_some() && common.all(|same| same)
        })
    }

    /// The first operator of the file that parts although nothing it reads does.
    fn first(&self, parted: &FxHashSet<NodeId>) -> Option<NodeId> {
        let fresh = |id: NodeId| self.graph.operands(id).iter().all(|v| !parted.contains(&v.node));
        let explicit = |id: NodeId| !self.graph.node(id).origin.implicit;
        self.unproven.iter().copied().find(|&id| parted.contains(&id) && fresh(id) && explicit(id))
    }

    /// An operator and the nearest of those that depend on it, in topological order.
    fn behind(&self, first: NodeId) -> Vec<NodeId> {
        let mut reached: FxHashSet<NodeId> = [first].into_iter().collect();
        let mut behind = Vec::new();
        for &id in self.unproven.iter().filter(|&&id| id >= first) {
            if id == first || self.graph.operands(id).iter().any(|v| reached.contains(&v.node)) {
                reached.insert(id);
                behind.push(id);
                if behind.len() == REACH {
                    break;
                }
            }
        }
        behind
    }

    /// The operators that `end` depends on, down to values that agree.
    fn cone(&self, end: NodeId, parted: &FxHashSet<NodeId>) -> Vec<NodeId> {
        let mut inside: FxHashSet<NodeId> = [end].into_iter().collect();
        let mut open = vec![end];
        while let Some(id) = open.pop() {
            for v in self.graph.operands(id) {
                let belongs = parted.contains(&v.node) || self.graph.node(v.node).origin.implicit;
                if belongs && self.is_unproven.contains(&v.node) && inside.insert(v.node) {
                    open.push(v.node);
                }
            }
        }
        let mut cone: Vec<NodeId> = inside.into_iter().collect();
        cone.sort_unstable();
        cone
    }
}

/// The nearest two operators of one type on the two sides: what should have been equal. An output is no counterpart of a
/// value inside.
fn meeting(a: &Side, left: Vec<NodeId>, b: &Side, right: Vec<NodeId>) -> Option<(NodeId, NodeId)> {
    let pairs = left.iter().enumerate().flat_map(|(i, &x)| right.iter().enumerate().map(move |(j, &y)| (i + j, x, y)));
    let alike = |x: NodeId, y: NodeId| a.graph.node(x).types == b.graph.node(y).types;
    let is_output = |graph: &Graph, id: NodeId| graph.outputs().iter().any(|o| o.value.node == id);
    let fits = |x: NodeId, y: NodeId| alike(x, y) && is_output(a.graph, x) == is_output(b.graph, y);
    pairs.filter(|&(_, x, y)| fits(x, y)).min().map(|(_, x, y)| (x, y))
}
