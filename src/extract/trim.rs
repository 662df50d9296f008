//! What a form changes of the part that it was found for: operators whose results it reads stay as they are.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::joint::{self, results, together};
use super::term::Term;
use crate::ir::{Graph, NodeId, Value};
use crate::prove::{Head, TermArena, TermId};

/// What a form changes of a part.
pub(super) struct Trimmed {
    /// The operators that it replaces, in topological order.
    pub replaced: Vec<NodeId>,
    /// The values that it computes anew, in the order of the graph.
    pub roots: Vec<Value>,
    /// The form, over inputs that stand for `leaves`.
    pub arena: Arc<TermArena>,
    pub root: TermId,
    /// What the part reads, by the numbers that the proof has for it; then values of the part that the form reads.
    pub leaves: Vec<Value>,
    /// The values of the part that the form reads, as terms of the arena of the proof.
    pub given: Vec<(TermId, Value)>,
}

impl Trimmed {
    /// The values that the form reads.
    pub(super) fn reads(&self) -> impl Iterator<Item = Value> {
        joint::reads(&self.arena, self.root, &self.leaves)
    }

    /// Whether nothing computes the results of an operator any more.
    pub(super) fn leaves_out(&self, node: NodeId) -> bool {
        self.replaced.contains(&node) && !self.roots.iter().any(|root| root.node == node)
    }

    /// The operators that it replaces or reads.
    pub(super) fn touched(&self) -> impl Iterator<Item = NodeId> {
        self.replaced.iter().copied().chain(self.reads().map(|value| value.node))
    }

    /// `roots` are the values of the part `nodes`, which reads `leaves`, that `term` computes; `terms` has the term of each value of the part
    /// in `arena`, which has all terms that the arena of `term` has.
    /// `None` where the form reads what the graph computes only after a value that it replaces.
    pub(super) fn of(
        graph: &Graph,
        nodes: &[NodeId],
        roots: &[Value],
        leaves: &[Value],
        term: &Term,
        (arena, terms): (&TermArena, &[(Value, TermId)]),
    ) -> Option<Trimmed> {
        // Of values that are the same, the first one.
        let mut computed: FxHashMap<TermId, Value> = FxHashMap::default();
        for &(value, term) in terms {
            if matches!(arena.head(term), Head::Apply { .. }) && arena.constant(term).is_none() {
                computed.entry(term).or_insert(value);
            }
        }
        let all: Vec<(Value, TermId)> = roots.iter().copied().zip(results(arena, term.root)).collect();
        // A draw stays where it is.
        let is_changed = |computed: &FxHashMap<TermId, Value>, (root, term): &(Value, TermId)| {
            nodes.contains(&root.node) && computed.get(term) != Some(root)
        };
        // A value is read where it is there before the first root that is made of it, and else computed anew: forms are written in the
        // order of the graph, so that no two of them can wait for each other.
        let mut first: FxHashMap<TermId, NodeId> = FxHashMap::default();
        for &(root, form) in all.iter().filter(|one| is_changed(&computed, one)) {
            let mut open = vec![form];
            while let Some(term) = open.pop() {
                if let Entry::Vacant(place) = first.entry(term) {
                    place.insert(root.node);
                    open.extend(arena.term(term).operands.iter());
                }
            }
        }
        computed.retain(|term, value| first.get(term).is_none_or(|&root| value.node < root));
        let changed: Vec<(Value, TermId)> = all.into_iter().filter(|one| is_changed(&computed, one)).collect();
        if changed.is_empty() {
            return None;
        }
        let mut trimmed = Trimmed {
            replaced: Vec::new(),
            roots: changed.iter().map(|(root, _)| *root).collect(),
            arena: Arc::default(),
            root: term.root,
            leaves: leaves.to_vec(),
            given: Vec::new(),
        };
        let mut shown = TermArena::default();
        let mut copies: FxHashMap<TermId, TermId> = FxHashMap::default();
        let mut kept: Vec<NodeId> = roots.iter().filter(|r| !trimmed.roots.contains(r)).map(|r| r.node).collect();
        let mut open: Vec<TermId> = changed.iter().map(|(_, form)| *form).collect();
        let mut seen: FxHashSet<TermId> = open.iter().copied().collect();
        while let Some(term) = open.pop() {
            match (computed.get(&term), arena.head(term)) {
                (Some(&value), _) => {
                    kept.push(value.node);
                    let number = Head::Input(trimmed.leaves.len() as u32);
                    trimmed.leaves.push(value);
                    trimmed.given.push((term, value));
                    copies.insert(term, shown.leaf_like(arena, term, number));
                }
                (None, Head::Input(n)) => {
                    let leaf = leaves.get(*n as usize)?;
                    if first.get(&term).is_some_and(|root| leaf.node >= *root) {
                        return None;
                    }
                }
                (None, _) => open.extend(arena.term(term).operands.iter().filter(|&&o| seen.insert(o))),
            }
        }
        let forms: Vec<TermId> = changed.iter().map(|&(_, form)| shown.import(arena, form, &mut copies)).collect();
        trimmed.root = together(&mut shown, &forms)?;
        trimmed.arena = Arc::new(shown);
        let is_root = |node: &NodeId| changed.iter().any(|(root, _)| root.node == *node);
        // Of one operator, all results are computed anew, or none.
        if kept.iter().any(is_root) {
            return None;
        }
        let mut stays: FxHashSet<NodeId> = FxHashSet::default();
        while let Some(node) = kept.pop() {
            if nodes.contains(&node) && !is_root(&node) && stays.insert(node) {
                kept.extend(graph.operands(node).iter().map(|v| v.node));
            }
        }
        trimmed.replaced = nodes.iter().copied().filter(|n| !stays.contains(n)).collect();
        Some(trimmed)
    }
}
