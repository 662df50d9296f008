//! The forms that a proof passes through, one step after another.

use rustc_hash::FxHashMap;

use super::prices::StepPrices;
use crate::extract::{Rewrite, results};
use crate::prove::{Head, Lemma, PairProof, Proof, Region, Rewritten, Side, TermArena, TermId, rewriting};

/// Operators between a result and a value of the region that takes its place in it.
const MAX_DEPTH: usize = 100;

/// A step of a proof as it is applied.
pub(super) struct Applied<'l> {
    pub lemma: &'l Lemma,
    /// Whether the right side of its rule is replaced by the left one.
    pub is_reversed: bool,
    /// What the whole costs after it, in mJ, where that is a form and its price is known.
    pub whole_mj: Option<f64>,
}

impl Applied<'_> {
    /// What is replaced, and what takes its place.
    pub(super) fn sides(&self) -> [TermId; 2] {
        let [before, after] = [self.lemma.before, self.lemma.after];
        if self.is_reversed { [after, before] } else { [before, after] }
    }
}

/// Forms of one thing, each of which a step makes of the one before.
pub(super) struct Passage<'l> {
    /// The results of the first form.
    start: Vec<TermId>,
    /// Each step with the results of the form after it.
    steps: Vec<(&'l Lemma, bool, Vec<TermId>)>,
}

impl<'l> Passage<'l> {
    /// From A's form of a region to B's. New terms are added to `arena`, which holds those of the proof. `None` where the steps are no
    /// such way, or too long a one. `ends_in` says which terms a form only reads.
    pub(super) fn of_region(
        proof: &'l Proof,
        region: &'l Region,
        arena: &mut TermArena,
        ends_in: &dyn Fn(TermId) -> bool,
    ) -> Option<Passage<'l>> {
        let proofs: Vec<&PairProof> = proof.region_proofs(region).collect();
        // What the other side computes is written over values of the side that leads, which stand for themselves and, in a form,
        // for what they were proven equal to.
        let from_leader = proof.leader == Side::A;
        let mut now: FxHashMap<TermId, TermId> = FxHashMap::default();
        for PairProof { ends: [leading, other], .. } in &proofs {
            now.insert(*leading, if from_leader { *leading } else { *other });
        }
        let proven = |end: &TermId| proof.proofs.get(end).filter(|proofs| !proofs.is_empty());
        let results: Vec<TermId> = region
            .ends
            .iter()
            .flat_map(|end| proven(end).map_or(vec![*end], |proofs| proofs.iter().map(|p| p.ends[0]).collect()))
            .collect();
        let start = put_all(arena, &results, &now, ends_in)?;
        let mut steps = Vec::new();
        for PairProof { ends: [leading, other], leaves, lemmas } in proofs {
            let ends = if from_leader { [*leading, *other] } else { [*other, *leading] };
            for Rewritten { lemma, is_reversed, term } in rewriting(arena, leaves, lemmas, ends)? {
                now.insert(*leading, term);
                steps.push((lemmas.get(lemma)?, is_reversed, put_all(arena, &results, &now, ends_in)?));
            }
        }
        Some(Passage { start, steps })
    }

    /// From what a cheaper form replaces to that form.
    pub(super) fn of_rewrite(rewrite: &'l Rewrite, arena: &mut TermArena) -> Option<Passage<'l>> {
        let (_, lemmas) = rewrite.proof();
        let ends = rewrite.ends();
        let leaves: Vec<TermId> =
            (0..arena.len()).map(|n| arena.nth(n)).filter(|&t| matches!(arena.head(t), Head::Input(_))).collect();
        let steps = rewriting(arena, &leaves, lemmas, ends)?;
        let forms = |term| results(arena, term).to_vec();
        let step = |s: Rewritten| Some((lemmas.get(s.lemma)?, s.is_reversed, forms(s.term)));
        Some(Passage { start: forms(ends[0]), steps: steps.into_iter().map(step).collect::<Option<_>>()? })
    }

    /// The steps with the price of the form after each, and the price of the first form, where `elsewhere_mj` is what is executed
    /// beside. Without prices where there are none.
    pub(super) fn priced(
        self,
        mut prices: Option<StepPrices>,
        elsewhere_mj: Option<f64>,
    ) -> (Vec<Applied<'l>>, Option<f64>) {
        let mut price = |form: &[TermId]| Some(prices.as_mut()?.form(form)? + elsewhere_mj?);
        let start = price(&self.start);
        let step =
            |(lemma, is_reversed, form): (_, _, Vec<TermId>)| Applied { lemma, is_reversed, whole_mj: price(&form) };
        (self.steps.into_iter().map(step).collect(), start)
    }
}

/// The steps as they were found, where they are no passage.
pub(super) fn loose<'l>(lemmas: impl IntoIterator<Item = &'l Lemma>) -> Vec<Applied<'l>> {
    lemmas.into_iter().map(|lemma| Applied { lemma, is_reversed: false, whole_mj: None }).collect()
}

fn put_all(
    arena: &mut TermArena,
    results: &[TermId],
    now: &FxHashMap<TermId, TermId>,
    ends_in: &dyn Fn(TermId) -> bool,
) -> Option<Vec<TermId>> {
    let mut done = FxHashMap::default();
    results.iter().map(|&t| put(arena, t, now, ends_in, &mut done, 0)).collect()
}

/// A term in which values stand as they are computed `now`.
fn put(
    arena: &mut TermArena,
    term: TermId,
    now: &FxHashMap<TermId, TermId>,
    ends_in: &dyn Fn(TermId) -> bool,
    done: &mut FxHashMap<TermId, TermId>,
    depth: usize,
) -> Option<TermId> {
    if let Some(&done) = done.get(&term) {
        return Some(done);
    }
    if depth > MAX_DEPTH {
        return None;
    }
    let computed = now.get(&term).copied();
    // What a form computes a value from may be a detour that reads the same value.
    done.insert(term, term);
    let as_is = computed.unwrap_or(term);
    let Some((op, attrs, slot)) = arena.op(as_is).map(|(op, attrs, slot)| (op.clone(), attrs.clone(), slot)) else {
        done.insert(term, as_is);
        return Some(as_is);
    };
    let is_read = computed.is_none() && ends_in(term) || arena.constant(as_is).is_some();
    let mut placed = as_is;
    if !is_read {
        let mut operands = arena.term(as_is).operands.clone();
        for operand in &mut operands {
            *operand = put(arena, *operand, now, ends_in, done, depth + 1)?;
        }
        if operands != arena.term(as_is).operands {
            let ty = arena.ty(as_is).clone();
            placed = arena.call(&op, &attrs, slot, &operands, Some(&ty)).ok()?;
        }
    }
    done.insert(term, placed);
    Some(placed)
}
