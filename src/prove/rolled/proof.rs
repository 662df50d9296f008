//! The proof that a loop is its form over all steps, expression by expression.

use rustc_hash::FxHashMap;

use super::super::arena::{Head, TermArena, TermId};
use super::super::lemma::Lemma;
use super::super::window::Limits;
use super::at_steps::{AtSteps, Expression};
use super::views::{ints, part};

/// Proves two terms equal, within limits for the search by rules, with the arena of the steps, which goes on from the one that is given.
pub(crate) type Prove<'a> = dyn Fn(TermArena, [TermId; 2], Limits) -> Option<(TermArena, Vec<Lemma>)> + 'a;

/// How far rules are tried for one expression at one step, whose elements say more.
const STEP: Limits = Limits { rounds: 3, nodes: 500, search: 50_000 };

/// The same for what joins or adds up all steps.
const WHOLE: Limits = Limits { rounds: 2, nodes: 1_000, search: 50_000 };

/// What proves that `root`, which joins or adds up the last one of `expressions`, is `long` and that is `form`: each step of an expression
/// is a part of the whole.
pub(super) fn steps(
    arena: &mut TermArena,
    expressions: &[Expression],
    [root, long, form]: [TermId; 3],
    prove: &Prove,
) -> Option<Vec<Lemma>> {
    let mut proof = Vec::new();
    for Expression { values, read, whole } in expressions {
        let &AtSteps::Along(all, along) = whole else { continue };
        for (step, &value) in values.iter().enumerate() {
            let mut short = Short::default();
            for (values, whole) in read {
                short.take(arena, *whole, [(step, values[step])])?;
            }
            let shape = ints(&arena.ty(value).shape);
            let part = part(arena, all, along, step, &shape)?;
            proof.extend(short.proof(arena, [value, part], STEP, prove)?);
        }
    }
    let last = expressions.last()?;
    let mut short = Short::default();
    short.take(arena, last.whole, last.values.iter().copied().enumerate())?;
    proof.extend(short.proof(arena, [root, long], WHOLE, prove)?);
    proof.extend(Short::default().proof(arena, [long, form], STEP, prove)?);
    Some(proof)
}

/// Terms over operands that are looked no further into, so that a proof about them is short.
#[derive(Default)]
struct Short {
    arena: TermArena,
    /// By terms of the large arena.
    known: FxHashMap<TermId, TermId>,
    /// The other way round.
    leaves: FxHashMap<TermId, TermId>,
}

impl Short {
    /// Takes an operand as given, and its values at some steps as parts of it.
    fn take(
        &mut self,
        large: &TermArena,
        whole: AtSteps,
        values: impl IntoIterator<Item = (usize, TermId)>,
    ) -> Option<()> {
        let term = whole.term();
        // Rules look at what is known.
        if large.value(term).is_some() {
            return Some(());
        }
        let number = self.leaves.len() as u32;
        let leaf = *self.known.entry(term).or_insert_with(|| self.arena.leaf_like(large, term, Head::Input(number)));
        self.leaves.insert(leaf, term);
        if let AtSteps::Along(_, along) = whole {
            for (step, value) in values {
                let part = part(&mut self.arena, leaf, along, step, &ints(&large.ty(value).shape))?;
                self.known.insert(value, part);
            }
        }
        Some(())
    }

    fn proof(mut self, large: &mut TermArena, ends: [TermId; 2], limits: Limits, prove: &Prove) -> Option<Vec<Lemma>> {
        let ends = ends.map(|end| self.arena.import(large, end, &mut self.known));
        if ends[0] == ends[1] {
            return Some(Vec::new());
        }
        let (arena, proof) = prove(self.arena, ends, limits)?;
        Some(proof.iter().map(|lemma| lemma.map(|t| large.import(&arena, t, &mut self.leaves))).collect())
    }
}
