//! Values of the leading graph that may have a counterpart yet.

use std::hash::Hash;

use rustc_hash::{FxHashMap, FxHashSet};

use super::arena::TermId;

/// Values by kind, each kind in topological order. Asking for the next one takes no longer in a large graph: those in front that are
/// settled are never looked at again.
#[derive(Debug)]
pub struct Candidates<K> {
    of_kind: FxHashMap<K, Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    values: Vec<TermId>,
    /// How many in front are settled.
    settled: usize,
}

impl<K> Default for Candidates<K> {
    fn default() -> Self {
        Candidates { of_kind: FxHashMap::default() }
    }
}

impl<K: Hash + Eq> Candidates<K> {
    pub fn push(&mut self, kind: K, value: TermId) {
        self.of_kind.entry(kind).or_default().values.push(value);
    }

    /// The first value of a kind at place `from` or behind that is in none of `settled`, with its place. What is settled once stays so.
    pub fn next(&mut self, kind: &K, from: usize, settled: [&FxHashSet<TermId>; 2]) -> Option<(usize, TermId)> {
        let queue = self.of_kind.get_mut(kind)?;
        let is_open = |value: &TermId| settled.iter().all(|set| !set.contains(value));
        let front = queue.values.get(queue.settled..)?;
        queue.settled += front.iter().position(is_open).unwrap_or(front.len());
        let from = from.max(queue.settled);
        let found = queue.values.get(from..)?.iter().position(is_open)?;
        Some((from + found, *queue.values.get(from + found)?))
    }
}
