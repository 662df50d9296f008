//! The classes of values that graphs are cut by: those of the sweep, less what the checker did not accept, and joined where
//! the checker knows more.
//!
//! The sweep gives a value of one side one partner. Where a side computes the same twice, as `x` and a detour from `x` to `x`,
//! only the steps together say that both are the partner.

use rustc_hash::{FxHashMap, FxHashSet};

use super::arena::TermId;
use super::cone::Boundary;
use super::kernel::{Replay, Side, Values, is_drawn};
use super::regions::Classes;
use super::sweep::Sweep;
use super::view_equivalence::View;
use crate::ir::{NodeId, Value};

/// The classes of a sweep as the checker sees them.
pub(super) struct Accepted<'s> {
    sweep: &'s Sweep<'s>,
    refused: FxHashSet<TermId>,
    /// The term that stands for the class of each one.
    joined: FxHashMap<TermId, TermId>,
    /// Classes with values of both sides.
    both: FxHashSet<TermId>,
    views: FxHashMap<TermId, (TermId, View)>,
}

impl<'s> Accepted<'s> {
    /// `refused` are classes of the sweep that do not follow from valid steps.
    pub(super) fn new(sweep: &'s Sweep<'s>, replay: &Replay, values: [&Values; 2], refused: FxHashSet<TermId>) -> Self {
        let sides = [Side::A, Side::B];
        let all = || {
            let terms = sides.into_iter().zip(values).flat_map(|(side, values)| {
                values.iter().enumerate().flat_map(move |(n, slots)| {
                    (0..).zip(slots).map(move |(slot, &t)| (side, Value::new(NodeId::new(n), slot), t))
                })
            });
            terms.filter(|&(.., t)| !refused.contains(&sweep.cut(t)))
        };
        let originals: FxHashSet<TermId> = sweep.views.values().map(|(original, _)| *original).collect();
        // What has a view of its own stands for its class, so that the view leads to the class.
        let rank = |t: TermId| (!originals.contains(&t), !sweep.views.contains_key(&t), !sweep.is_shared(t), t);
        let mut first: FxHashMap<TermId, TermId> = FxHashMap::default();
        for (side, value, t) in all() {
            let stands = first.entry(replay.class((side, value))).or_insert(t);
            if rank(t) < rank(*stands) {
                *stands = t;
            }
        }
        let mut joined = FxHashMap::default();
        let mut of_side = [FxHashSet::default(), FxHashSet::default()];
        for (side, value, t) in all() {
            let stands = first[&replay.class((side, value))];
            joined.insert(t, stands);
            of_side[usize::from(side == Side::B)].insert(stands);
        }
        let both = of_side[0].intersection(&of_side[1]).copied().collect();
        let class = |t: TermId| joined.get(&t).copied().unwrap_or(t);
        let views = sweep.views.iter().map(|(&t, (original, view))| (t, (class(*original), view.clone()))).collect();
        Accepted { sweep, refused, joined, both, views }
    }

    /// The term that stands for the class of a value.
    pub(super) fn class(&self, term: TermId) -> TermId {
        self.joined.get(&term).copied().unwrap_or(term)
    }

    /// The class of each of these values.
    pub(super) fn of(&self, values: &Values) -> Values {
        values.iter().map(|slots| slots.iter().map(|&t| self.class(t)).collect()).collect()
    }
}

impl Classes for Accepted<'_> {
    fn is_shared(&self, term: TermId) -> bool {
        (self.sweep.is_shared(term) || self.both.contains(&term)) && !self.refused.contains(&term)
    }

    fn is_random(&self, term: TermId) -> bool {
        is_drawn(self.sweep.arena.head(term))
    }

    fn view(&self, term: TermId) -> Option<&(TermId, View)> {
        self.views.get(&term)
    }
}
