//! Congruence closure over terms, with explanations.
//!
//! This is what proofs are checked with, and it is not egg: a union-find over [`TermId`]s, a signature table, and a
//! proof forest from which the assumptions behind an equality are read back. The method is that of Nieuwenhuis and
//! Oliveras, "Proof-producing congruence closure" (RTA 2005).

use rustc_hash::{FxHashMap, FxHashSet};

use super::arena::{ConstantId, Head, HeadId, Operands, TermArena, TermId, TypeId};
use super::lemma::Lemma;
use crate::rules::Tier;

/// Why two terms were joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::prove) enum Reason {
    /// Assumption number `n` said so.
    Assumed(u32),
    /// The same operator on operands that are pairwise equal.
    Congruent,
    /// Both are input-independent and have the same value.
    Constant,
}

/// Why some terms are equal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Explanation {
    /// Numbers of the assumptions, in ascending order.
    pub steps: Vec<u32>,
    /// Whether constants were taken for equal whose values are near what PyTorch computes, and not that bit for bit.
    pub inexact: bool,
}

impl Explanation {
    /// How equal the terms are, given all steps.
    pub(crate) fn tier(&self, lemmas: &[Lemma]) -> Tier {
        let steps = self.steps.iter().filter_map(|&n| lemmas.get(n as usize)).map(Lemma::tier);
        let constants = if self.inexact { Tier::Rounding } else { Tier::Exact };
        steps.fold(constants, Tier::max)
    }
}

/// The equalities that follow from assumed ones by congruence.
#[derive(Default)]
pub(crate) struct Closure {
    /// Per term: its class representative.
    parent: Vec<u32>,
    /// Per representative: its members.
    members: Vec<Vec<TermId>>,
    /// Per term: the terms that have it as an operand.
    users: Vec<Vec<TermId>>,
    /// The proof forest: per term, an edge towards the root of its tree.
    proof: Vec<Option<(TermId, Reason)>>,
    signatures: FxHashMap<(HeadId, TypeId, Operands), TermId>,
    /// The first term of each known value.
    constants: FxHashMap<(TypeId, ConstantId), TermId>,
    known: usize,
    /// Whether values that are only near what PyTorch computes count as unknown.
    exact: bool,
}

impl Closure {
    /// A closure of what is equal bit for bit, given assumptions that are.
    pub(crate) fn exact() -> Closure {
        Closure { exact: true, ..Closure::default() }
    }

    /// The representative of the class of `t`, which has to be known.
    pub(crate) fn find(&self, t: TermId) -> TermId {
        self.members[self.parent[t.index()] as usize][0]
    }

    /// Whether a term has been taken in.
    pub(crate) fn knows(&self, t: TermId) -> bool {
        t.index() < self.known
    }

    pub(crate) fn equal(&self, a: TermId, b: TermId) -> bool {
        self.parent[a.index()] == self.parent[b.index()]
    }

    /// Takes in all terms that were added to `arena` since the last call.
    pub(crate) fn extend(&mut self, arena: &TermArena) {
        while self.known < arena.len() {
            let id = arena.nth(self.known);
            self.parent.push(self.known as u32);
            self.members.push(vec![id]);
            self.users.push(Vec::new());
            self.proof.push(None);
            self.known += 1;
            for &operand in &arena.term(id).operands {
                self.users[operand.index()].push(id);
            }
            if let Some(equal) = self.congruent(arena, id) {
                self.join(arena, id, equal, Reason::Congruent);
            }
            let term = arena.term(id);
            if let Some(value) = term.value.filter(|v| v.exact || !self.exact) {
                let equal = *self.constants.entry((term.ty, value.id)).or_insert(id);
                self.join(arena, id, equal, Reason::Constant);
            }
        }
    }

    /// Records assumption number `n`: `a` equals `b`.
    pub(crate) fn assume(&mut self, arena: &TermArena, a: TermId, b: TermId, n: u32) {
        self.extend(arena);
        self.join(arena, a, b, Reason::Assumed(n));
    }

    /// The operands' classes, in the order in which they matter.
    fn signature(&self, arena: &TermArena, id: TermId) -> (HeadId, TypeId, Operands) {
        let term = arena.term(id);
        let mut operands: Operands = term.operands.iter().map(|&o| self.find(o)).collect();
        if let Head::Apply { op, .. } = arena.head(id)
            && op.commutative()
            && operands.len() >= 2
        {
            operands[..2].sort_unstable();
        }
        (term.head, term.ty, operands)
    }

    /// Enters the signature of `id`; an earlier term with the same one is returned.
    fn congruent(&mut self, arena: &TermArena, id: TermId) -> Option<TermId> {
        if arena.term(id).operands.is_empty() {
            return None;
        }
        let signature = self.signature(arena, id);
        let equal = *self.signatures.entry(signature).or_insert(id);
        (equal != id && !self.equal(equal, id)).then_some(equal)
    }

    fn join(&mut self, arena: &TermArena, a: TermId, b: TermId, reason: Reason) {
        let mut pending = vec![(a, b, reason)];
        while let Some((a, b, reason)) = pending.pop() {
            let (mut from, mut into) = (self.parent[a.index()], self.parent[b.index()]);
            if from == into {
                continue;
            }
            let (mut tail, mut head) = (a, b);
            if self.members[from as usize].len() > self.members[into as usize].len() {
                (from, into) = (into, from);
                (tail, head) = (b, a);
            }
            self.reroot(tail);
            self.proof[tail.index()] = Some((head, reason));
            let moved = std::mem::take(&mut self.members[from as usize]);
            for &t in &moved {
                self.parent[t.index()] = into;
            }
            self.members[into as usize].extend(&moved);
            // Whoever uses a moved term has a new signature and may have met an equal one.
            for &t in &moved {
                for i in 0..self.users[t.index()].len() {
                    let user = self.users[t.index()][i];
                    if let Some(equal) = self.congruent(arena, user) {
                        pending.push((user, equal, Reason::Congruent));
                    }
                }
            }
        }
    }

    /// Turns the edges from `t` to the root of its tree round, so that `t` becomes the root.
    fn reroot(&mut self, t: TermId) {
        let mut previous = None;
        let mut at = t;
        loop {
            let next = std::mem::replace(&mut self.proof[at.index()], previous);
            match next {
                Some((up, reason)) => {
                    previous = Some((at, reason));
                    at = up;
                }
                None => break,
            }
        }
    }

    /// What all these equalities follow from; `None` if one of them does not follow.
    pub(crate) fn explain(&self, arena: &TermArena, pairs: &[(TermId, TermId)]) -> Option<Explanation> {
        if !pairs.iter().all(|&(a, b)| self.equal(a, b)) {
            return None;
        }
        let mut used = FxHashSet::default();
        let mut explained = FxHashSet::default();
        let mut inexact = false;
        let is_inexact = |t: TermId| arena.term(t).value.is_some_and(|v| !v.exact);
        let mut pending = pairs.to_vec();
        while let Some((a, b)) = pending.pop() {
            if a == b || !explained.insert((a.min(b), a.max(b))) {
                continue;
            }
            for (from, to, reason) in self.path(a, b) {
                match reason {
                    Reason::Assumed(n) => {
                        used.insert(n);
                    }
                    Reason::Constant => inexact |= is_inexact(from) || is_inexact(to),
                    Reason::Congruent => pending.extend(self.operand_pairs(arena, from, to)),
                }
            }
        }
        let mut steps: Vec<u32> = used.into_iter().collect();
        steps.sort_unstable();
        Some(Explanation { steps, inexact })
    }

    /// Pairs of operands whose equality makes two congruent terms equal.
    pub(in crate::prove) fn operand_pairs(&self, arena: &TermArena, x: TermId, y: TermId) -> Vec<(TermId, TermId)> {
        let (xs, ys) = (&arena.term(x).operands, &arena.term(y).operands);
        let straight = xs.iter().zip(ys).all(|(&a, &b)| self.equal(a, b));
        let mut ys = ys.clone();
        if !straight && ys.len() >= 2 {
            ys.swap(0, 1);
        }
        xs.iter().copied().zip(ys).collect()
    }

    /// The edges of the proof forest from `a` to `b`.
    pub(in crate::prove) fn path(&self, a: TermId, b: TermId) -> Vec<(TermId, TermId, Reason)> {
        let climb = |mut t: TermId| {
            let mut edges = Vec::new();
            while let Some((up, reason)) = self.proof[t.index()] {
                edges.push((t, up, reason));
                t = up;
            }
            edges
        };
        let (mut left, mut right) = (climb(a), climb(b));
        while let (Some(l), Some(r)) = (left.last(), right.last()) {
            if l.0 != r.0 {
                break;
            }
            left.pop();
            right.pop();
        }
        left.extend(right.into_iter().rev().map(|(below, up, reason)| (up, below, reason)));
        left
    }
}
