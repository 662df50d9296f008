//! A part of a graph with the cheaper form that takes its place.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::joint;
use super::term::Term;
use crate::energy::{Bill, Cost, Weights};
use crate::ir::{NodeId, Value};
use crate::prove::{Head, Lemma, Said, TermArena, TermId};
use crate::rules::Tier;

/// A time beyond which a cheaper form counts as slower, relative to the other one: it is a trade-off then, and no waste.
pub(crate) const SLOWER: f64 = 1.01;

/// A part of a graph and a cheaper form of it.
#[derive(Clone)]
pub struct Rewrite {
    /// Operators that the cheaper form replaces, in topological order.
    pub replaced: Vec<NodeId>,
    /// The cheaper form, over the names of the values it reads.
    pub form: String,
    /// The same over letters, alike for parts that are alike.
    pub pattern: String,
    pub before: Cost,
    pub after: Cost,
    /// What the cheaper form executes.
    pub bill: Bill,
    pub(super) elsewhere: Elsewhere,
    /// Rules of the proof, in order, each once.
    pub rules: Vec<Arc<str>>,
    pub tier: Tier,
    pub assumed: Vec<Said>,
    /// Whether rules assume between which numbers elements lie.
    pub(super) has_limits: bool,
    /// The values that the cheaper form computes, in the order of the graph.
    pub(super) roots: Vec<Value>,
    /// The form: one term for all roots.
    pub(super) arena: Arc<TermArena>,
    pub(super) root: TermId,
    /// What stands for the inputs of `arena`, and of the arena of the proof.
    pub(super) leaves: Vec<Value>,
    pub(super) proof: Term,
    /// Values that stay as they are, as terms of the arena of the proof.
    pub(super) given: Vec<(TermId, Value)>,
}

/// What the layout of a form's result adds to the cost of other operators.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Elsewhere {
    pub mj: f64,
    pub us: f64,
}

impl Rewrite {
    /// What the form saves in the whole, in mJ.
    pub fn saves_mj(&self) -> f64 {
        self.before.energy_mj.value - self.after.energy_mj.value - self.elsewhere.mj
    }

    /// What the form saves in the whole, in microseconds; below 0 where it takes longer.
    pub fn saves_us(&self) -> f64 {
        self.before.time_us.value - self.after.time_us.value - self.elsewhere.us
    }

    /// What it saves of what counts.
    pub(crate) fn saves(&self, weights: Weights) -> f64 {
        weights.of(self.saves_mj(), self.saves_us())
    }

    /// Whether it takes less energy and more time, which is a matter of choice.
    pub fn is_trade_off(&self) -> bool {
        is_slower(&self.before, &self.after)
    }

    /// The same rewrite of a graph in which nodes stand elsewhere; `None` where one that it needs is missing.
    pub fn moved(&self, to: &FxHashMap<NodeId, NodeId>) -> Option<Rewrite> {
        let node = |id: &NodeId| to.get(id).copied();
        let replaced = self.replaced.iter().map(node).collect::<Option<_>>()?;
        let leaves = self.leaves.iter().map(|v| Some(Value::new(node(&v.node)?, v.slot))).collect::<Option<_>>()?;
        let roots = self.roots.iter().map(|v| Some(Value::new(node(&v.node)?, v.slot))).collect::<Option<_>>()?;
        let given = |(term, v): &(TermId, Value)| Some((*term, Value::new(node(&v.node)?, v.slot)));
        let given = self.given.iter().map(given).collect::<Option<_>>()?;
        Some(Rewrite { replaced, leaves, roots, given, ..self.clone() })
    }

    /// The cheaper form, whose input `n` stands for number `n` of the values that it reads.
    pub(crate) fn expression(&self) -> (&TermArena, TermId, &[Value]) {
        (&self.arena, self.root, &self.leaves)
    }

    /// The values that the cheaper form reads, of those that the part read that it replaces.
    pub(super) fn reads(&self) -> impl Iterator<Item = Value> {
        joint::reads(&self.arena, self.root, &self.leaves)
    }

    /// The proof that the cheaper form equals what it replaces. Input `n` of the arena stands for a value that is read,
    /// which [`letter`] names.
    pub fn proof(&self) -> (&TermArena, &[Lemma]) {
        (&self.proof.arena, &self.proof.proof)
    }

    /// The value that a term of the proof stands for where it stays as it is: what the part reads, and what the form reads of it.
    pub(crate) fn given(&self, term: TermId) -> Option<Value> {
        match (term.index() < self.proof.arena.len()).then(|| self.proof.arena.head(term)) {
            Some(Head::Input(n)) => self.leaves.get(*n as usize).copied(),
            _ => self.given.iter().find(|(given, _)| *given == term).map(|(_, value)| *value),
        }
    }

    /// What is replaced and what takes its place, as terms of the arena of the proof.
    pub(crate) fn ends(&self) -> [TermId; 2] {
        [self.proof.replaced, self.proof.root]
    }
}

/// `a`, `b`, `c` and so on; `v26` and so on after `z`.
pub(crate) fn letter(n: u32) -> String {
    u8::try_from(n).ok().filter(|&n| n < 26).map_or(format!("v{n}"), |n| char::from(b'a' + n).to_string())
}

pub(super) fn is_slower(before: &Cost, after: &Cost) -> bool {
    after.time_us.value > before.time_us.value * SLOWER
}
