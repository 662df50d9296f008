//! Values of the leading graph that may have a counterpart yet.

use std::hash::Hash;

use rustc_hash::{FxHashMap, FxHashSet};

use super::arena::TermId;
use super::newest::InputPlace;

/// Values by kind, each kind in topological order. Asking for the next one takes no longer in a large graph: those in front that are
/// settled are never looked at again.
#[derive(Debug)]
pub(super) struct Candidates<K> {
    of_kind: FxHashMap<K, Queue<(TermId, InputPlace)>>,
    /// Those of a kind that read the same input last.
    alike: FxHashMap<(K, InputPlace), Queue<TermId>>,
}

/// Which candidates are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Among {
    /// Those that read the same input last, as partners nearly always do.
    Alike,
    Others,
}

impl<K> Default for Candidates<K> {
    fn default() -> Self {
        Candidates { of_kind: FxHashMap::default(), alike: FxHashMap::default() }
    }
}

impl<K: Hash + Eq + Copy> Candidates<K> {
    pub(super) fn push(&mut self, kind: K, newest: InputPlace, value: TermId) {
        self.of_kind.entry(kind).or_default().values.push((value, newest));
        self.alike.entry((kind, newest)).or_default().values.push(value);
    }

    /// The first value of a kind at place `from` or behind that is in none of `settled`, with its place. What is settled once stays so.
    pub(super) fn next(
        &mut self,
        (kind, newest, among): (K, InputPlace, Among),
        from: usize,
        settled: [&FxHashSet<TermId>; 2],
    ) -> Option<(usize, TermId)> {
        let is_open = |value: &TermId| settled.iter().all(|set| !set.contains(value));
        match among {
            Among::Alike => self.alike.get_mut(&(kind, newest))?.next(from, is_open, |_| true),
            Among::Others => {
                let queue = self.of_kind.get_mut(&kind)?;
                let (at, (value, _)) = queue.next(from, |(value, _)| is_open(value), |&(_, other)| other != newest)?;
                Some((at, value))
            }
        }
    }
}

#[derive(Debug)]
struct Queue<T> {
    values: Vec<T>,
    /// How many in front are settled.
    settled: usize,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Queue { values: Vec::new(), settled: 0 }
    }
}

impl<T: Copy> Queue<T> {
    /// The first one from a place on that is open and wanted, with its place.
    fn next(&mut self, from: usize, is_open: impl Fn(&T) -> bool, wanted: impl Fn(&T) -> bool) -> Option<(usize, T)> {
        let front = self.values.get(self.settled..)?;
        self.settled += front.iter().position(&is_open).unwrap_or(front.len());
        let from = from.max(self.settled);
        let found = from + self.values.get(from..)?.iter().position(|value| wanted(value) && is_open(value))?;
        Some((found, *self.values.get(found)?))
    }
}
