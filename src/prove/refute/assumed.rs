//! Whether any input meets what a proof assumes: from what never holds, anything follows.
//!
//! `log((-|u| - 1)^2)` is `2 log(-|u| - 1)` where `-|u| - 1` is above 0, which it is for no `u`.

use smallvec::SmallVec;

use super::inputs::{Choice, Uses};
use super::on_deep_stack;
use super::question::Question;
use super::strategies::{Positions, indices};
use crate::eval::{Arranged, Draw, EvalError, LazyEvaluator, Options, Program, Source, Ties, random};
use crate::ir::{Number, Shape, TensorType};
use crate::ops::Op;
use crate::prove::kernel::Limit;
use crate::prove::{Head, TermArena, TermId};

/// Elements computed on each choice of inputs at most.
const BUDGET: usize = 100_000;

/// Elements computed for one assumption at most: what lies deep in a model is not looked at.
const FOR_ONE: usize = 20_000;

/// Further choices of integers and truth values.
const OTHERS: u64 = 6;

/// Beyond this, integers near the ends of their types are meant to stay away.
const MOST: u64 = 1 << 31;

/// What inputs say of assumptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::prove) enum Met {
    /// Of those elements that could be computed, all meet them on one choice of inputs, whatever integers and masks are.
    AtOnce,
    /// No choice meets all of them, or not with other integers or masks. Every element meets what is assumed of it on one choice.
    InDoubt,
    /// An element of this term meets what is assumed of it on no choice.
    Never(TermId),
}

/// Tries `limits` of terms over the inputs of both graphs.
pub(in crate::prove) fn met(question: &Question, arena: &TermArena, limits: &[Limit]) -> Met {
    if limits.is_empty() {
        return Met::AtOnce;
    }
    on_deep_stack(|depth| search(question, &Assumed::new(arena, limits, depth)))
}

fn search(question: &Question, assumed: &Assumed) -> Met {
    let [a, b] = question.graphs;
    let uses = Uses::new(a, b, question.binding);
    let draws = |choice: &Choice| uses.draws(choice, question.held());
    // By limit and place: whether some choice met it, none if it was never computed.
    let mut seen: Vec<Vec<Option<bool>>> = assumed.places.iter().map(|all| vec![None; all.len()]).collect();
    for choice in choices(question.seed) {
        let met = draws(&choice);
        let mut all_met = true;
        assumed.look(&met, |limit, place, value| {
            let is_met = assumed.limits[limit].is_met_by(value);
            all_met &= is_met;
            let seen = &mut seen[limit][place];
            *seen = Some(is_met || *seen == Some(true));
        });
        if !all_met {
            continue;
        }
        let is_float = |n: usize| question.binding.inputs[n].ty.dtype.is_float();
        if (0..met.len()).all(is_float) {
            return Met::AtOnce;
        }
        // A program takes all masks and all labels, whatever numbers its other inputs are.
        let mut all_met = true;
        for n in 0..OTHERS {
            let probing = (n % 2 == 1).then_some(Arranged::Mixed);
            let others = draws(&Choice { seed: random::mix(question.seed, 100 + n), probing, ..Choice::default() });
            let own = met.iter().zip(others).enumerate();
            let mixed: Vec<Draw> = own.map(|(n, (own, other))| if is_float(n) { own.clone() } else { other }).collect();
            assumed.look(&mixed, |limit, _, value| {
                let is_far = matches!(value, Number::Int(value) if value.unsigned_abs() > MOST);
                all_met &= is_far || assumed.limits[limit].is_met_by(value);
            });
        }
        return if all_met { Met::AtOnce } else { Met::InDoubt };
    }
    let never = assumed.limits.iter().zip(&seen).find(|(_, seen)| seen.contains(&Some(false)));
    never.map_or(Met::InDoubt, |(limit, _)| Met::Never(limit.of))
}

/// What is assumed, and the elements that are looked at.
struct Assumed<'a> {
    arena: &'a TermArena,
    limits: &'a [Limit],
    places: Vec<Vec<Shape>>,
    depth: usize,
}

impl<'a> Assumed<'a> {
    fn new(arena: &'a TermArena, limits: &'a [Limit], depth: usize) -> Self {
        let looked_at = |limit: &Limit| indices(&arena.ty(limit.of).shape, Positions::Spread, None);
        Assumed { arena, limits, places: limits.iter().map(looked_at).collect(), depth }
    }

    /// Tells `note` each element that can be computed from these inputs, with the numbers of its limit and of its place.
    fn look(&self, draws: &[Draw], mut note: impl FnMut(usize, usize, Number)) {
        let program = Terms { arena: self.arena, draws };
        let options = Options { rounding: false, budget: 0 };
        let mut evaluator = LazyEvaluator::new(&program, options).with_ties(Ties::Refused).with_depth(self.depth);
        let mut left = BUDGET;
        for (number, (limit, places)) in self.limits.iter().zip(&self.places).enumerate() {
            let allowed = FOR_ONE.min(left);
            evaluator.allow(allowed);
            for (place, index) in places.iter().enumerate() {
                match evaluator.element(limit.of, index) {
                    Ok(value) => note(number, place, value),
                    Err(EvalError::Budget) => break,
                    Err(_) => {}
                }
            }
            left -= allowed - evaluator.left().min(allowed);
        }
    }
}

/// Ordinary inputs, positive ones, small ones, and such as tell functions apart.
fn choices(seed: u64) -> impl Iterator<Item = Choice> {
    let choice = move |n: u64| Choice { seed: random::mix(seed, n), scale: 1.0, ..Choice::default() };
    let probing = move |n: u64, arranged: Arranged| Choice { probing: Some(arranged), ..choice(n) };
    let all = [
        choice(20),
        Choice { positive: true, ..choice(21) },
        choice(22),
        Choice { scale: 1.0 / 1024.0, ..choice(23) },
        Choice { scale: 16.0, ..choice(24) },
        probing(25, Arranged::Mixed),
        probing(26, Arranged::Rows),
        choice(28),
        choice(29),
        probing(30, Arranged::Mixed),
        probing(31, Arranged::Listed),
    ];
    all.into_iter()
}

/// Terms as a program over chosen inputs.
struct Terms<'a> {
    arena: &'a TermArena,
    draws: &'a [Draw],
}

impl Program for Terms<'_> {
    type Id = TermId;

    fn source(&self, id: TermId) -> Source<'_, TermId> {
        if let Some(constant) = self.arena.value(id) {
            return Source::Constant(constant);
        }
        match self.arena.head(id) {
            Head::Input(n) => self.draws.get(*n as usize).map_or(Source::Opaque, Source::Drawn),
            Head::Literal(data) => Source::Data(data),
            Head::Apply { op: Op::Table(def), attrs, slot } => {
                let operands = &self.arena.term(id).operands;
                let types: SmallVec<[&TensorType; 4]> = operands.iter().map(|&o| self.arena.ty(o)).collect();
                Source::Call { op: def, attrs, types, slot: *slot as usize, operands: operands.clone() }
            }
            _ => Source::Opaque,
        }
    }

    fn ty(&self, id: TermId) -> &TensorType {
        self.arena.ty(id)
    }
}
