//! Where in a window a rule may match that did not match there before: above what has changed.

use std::collections::hash_map::Entry;

use egg::{EGraph, Id};
use rustc_hash::FxHashMap;

use super::language::{Node, Types};

/// How far above a changed class the classes of an e-graph lie.
pub(super) struct Reach {
    distance: FxHashMap<Id, usize>,
}

impl Reach {
    /// Takes the classes that changed since the last call. No class further than `most` above one of them counts.
    pub(super) fn of_changes(egraph: &mut EGraph<Node, Types>, most: usize) -> Reach {
        let mut distance = FxHashMap::default();
        let mut ring: Vec<Id> = std::mem::take(&mut egraph.analysis.changed);
        for step in 0..=most {
            let mut next = Vec::new();
            for id in ring {
                let id = egraph.find(id);
                if let Entry::Vacant(place) = distance.entry(id) {
                    place.insert(step);
                    next.extend(egraph[id].parents());
                }
            }
            ring = next;
        }
        Reach { distance }
    }

    /// Whether a pattern of this height may match class `id` in a way that it did not before.
    pub(super) fn touches(&self, id: Id, height: usize) -> bool {
        self.distance.get(&id).is_some_and(|&d| d <= height)
    }
}
