//! Refutation: an input on which the two graphs give different outputs.
//!
//! Output elements of both graphs are evaluated on the same inputs, chosen by a seed, over the real numbers (f64 without
//! rounding between operators). A whole model is within reach because its weights are ours to choose: see
//! [`inputs`] and [`gating`].

mod assumed;
mod evaluable;
mod evaluator;
mod failing;
mod gating;
mod in_types;
mod inputs;
mod locate;
mod probes;
mod question;
mod rerun;
mod strategies;
#[cfg(test)]
mod tests;
#[cfg(feature = "torch")]
mod torch;

use std::sync::{Mutex, PoisonError};
use std::thread;

pub(super) use assumed::{Met, met};
pub(super) use evaluable::refute_defined;
use evaluator::{Evaluator, close, neither_is_real};
pub(super) use failing::fails_alone;
pub(super) use in_types::parted_in_types;
use inputs::Uses;
pub(super) use locate::Location;
use locate::locate;
pub(super) use question::Question;
pub use rerun::{Elements, needed_inputs};
pub(super) use strategies::{IN_DOUBT, TOTAL};
use strategies::{NARROW_BUDGET, Positions, Strategy, indices, strategies};
#[cfg(feature = "torch")]
pub use torch::{RerunError, rerun_with_torch};

use super::witness::Witness;
use crate::eval::{Draw, EvalError, GraphProgram, LazyEvaluator, Options, Program, TRUSTED_MOVES, Ties};
use crate::ir::{DType, Number, Output, Shape};

/// Stack for operators that nest: a residual stream through hundreds of layers is as deep as they are many.
const STACK: usize = 512 << 20;

/// So many elements of an output may have no value before no more of it are tried.
const MAX_UNDEFINED: usize = 16;

/// The largest difference that may come from computing constants of a file from its weights, as a part of the largest element
/// of an output: a bound that is set wide.
const FOLDING_ERROR: f64 = 0.001;

/// The same in types with few digits.
const NARROW_FOLDING_ERROR: f64 = 0.02;

/// Differing elements of one strategy that are tried as witnesses.
const CANDIDATES: usize = 4;

/// How often a witness is disturbed at most, and elements that may be computed for it beside the first time.
const DISTURBANCES: u64 = 24;
const DISTURBED_ELEMENTS: usize = 200_000;

/// Operators that may nest on that stack.
const DEPTH: usize = 40_000;

/// Operators that may nest where there is no room for such a stack.
const SHALLOW: usize = 128;

/// Looks for an input on which the graphs part, and for where they do. `None` where no difference was found within
/// the budget.
pub(super) fn refute(question: &Question) -> Option<(Witness, Location)> {
    on_deep_stack(|depth| search(question, depth))
}

/// Runs `work` where as many operators may nest as it is told.
fn on_deep_stack<T: Send>(work: impl Fn(usize) -> T + Sync) -> T {
    thread::scope(|scope| {
        let worker = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || work(DEPTH));
        match worker.map(thread::ScopedJoinHandle::join) {
            Ok(Ok(result)) => result,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            // No room for another stack: shallow graphs need none.
            Err(_) => work(SHALLOW),
        }
    })
}

/// Runs `work` for both sides at once, the second on a deep stack of its own.
fn on_both<'d, 'q, T: Send>(
    evaluators: &mut [Evaluator<'d, 'q>; 2],
    work: impl Fn(usize, &mut Evaluator<'d, 'q>) -> T + Sync,
) -> [T; 2] {
    let [left, right] = evaluators;
    let right = Mutex::new(right);
    let second = || work(1, &mut right.lock().unwrap_or_else(PoisonError::into_inner));
    thread::scope(|scope| {
        let worker = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, second);
        let first = work(0, left);
        match worker.map(thread::ScopedJoinHandle::join) {
            Ok(Ok(result)) => [first, result],
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(_) => [first, second()],
        }
    })
}

/// What an strategy comes to.
enum Outcome {
    Found(Box<(Witness, Location)>),
    /// All elements that were looked at agree.
    Agree,
    /// Some elements could not be computed within the budget.
    TooLarge,
}

fn search(question: &Question, depth: usize) -> Option<(Witness, Location)> {
    let [a, b] = question.graphs;
    let uses = Uses::new(a, b, question.binding);
    let mut too_large = [false; 2];
    let mut left = question.effort;
    for mut strategy in strategies(question) {
        strategy.budget = strategy.budget.min(left);
        let kind = usize::from(strategy.choice.narrow);
        if too_large[kind] && !strategy.always || strategy.budget == 0 {
            continue;
        }
        let draws = uses.draws(&strategy.choice, question.held());
        let (outcome, spent) = Trial::new(question, &draws, depth).run(&strategy);
        match outcome {
            Outcome::Found(found) => return Some(*found),
            Outcome::Agree => {}
            // That all layers are too much says nothing of one.
            Outcome::TooLarge => too_large[kind] |= strategy.budget != NARROW_BUDGET,
        }
        left -= spent;
    }
    None
}

/// Both graphs on one choice of inputs.
struct Trial<'q> {
    question: &'q Question<'q>,
    draws: &'q [Draw],
    programs: [GraphProgram<'q>; 2],
    depth: usize,
}

impl<'q> Trial<'q> {
    fn new(question: &'q Question, draws: &'q [Draw], depth: usize) -> Self {
        let numbers = [&question.binding.a, &question.binding.b];
        let program = |side: usize| {
            let own = numbers[side].iter().map(|&n| draws[n as usize].clone()).collect();
            GraphProgram::drawn(question.graphs[side], own)
        };
        Trial { question, draws, programs: [program(0), program(1)], depth }
    }

    fn evaluators(&self, budget: usize) -> [Evaluator<'_, 'q>; 2] {
        let options = Options { rounding: false, budget };
        // What hangs on the order of equal elements is no difference where that order is open.
        let evaluator = |side: usize| LazyEvaluator::new(&self.programs[side], options).with_ties(Ties::Refused);
        [0, 1].map(|side| evaluator(side).with_depth(self.depth))
    }

    /// The output element that differs most among those looked at, and where the sides part. And how many elements
    /// were computed, on the side that took more.
    fn run(&self, strategy: &Strategy) -> (Outcome, usize) {
        let mut evaluators = self.evaluators(strategy.budget);
        let mut too_large = false;
        let mut found = None;
        for &place in strategy.places {
            let differing = self.differing(place, &mut evaluators, &mut too_large);
            found = differing.into_iter().take(CANDIDATES).find(|w| self.holds(w, strategy.budget));
            if found.is_some() {
                break;
            }
        }
        let [left, right] = &evaluators;
        let spent = strategy.budget - left.left().min(right.left());
        let outcome = match found {
            Some(w) => Outcome::Found(Box::new((w, locate(self.question, left, right)))),
            None if too_large => Outcome::TooLarge,
            None => Outcome::Agree,
        };
        (outcome, spent)
    }

    /// The elements of every output that are looked at.
    fn looked_at(&self, place: Positions) -> Vec<Vec<Shape>> {
        let [a, b] = self.question.graphs;
        let outputs = a.outputs().iter().zip(b.outputs());
        let indices = |(x, y): (&Output, &Output)| {
            let places = [self.programs[0].support(x.value), self.programs[1].support(y.value)];
            indices(&a.ty(x.value).shape, place, places.into_iter().flatten().next())
        };
        outputs.map(indices).collect()
    }

    /// The elements at `place` that differ, those that differ most first. Sets `too_large` where elements could not be
    /// computed.
    fn differing(&self, place: Positions, evaluators: &mut [Evaluator; 2], too_large: &mut bool) -> Vec<Witness> {
        let all = self.looked_at(place);
        let values = on_both(evaluators, |side, evaluator| {
            let outputs = self.question.graphs[side].outputs();
            let mut exceeded = false;
            let mut values: Vec<Vec<Option<Number>>> = Vec::new();
            for (output, indices) in outputs.iter().zip(&all) {
                let (mut own, mut undefined) = (Vec::new(), 0);
                for index in indices {
                    match evaluator.element(output.value, index) {
                        Ok(value) => own.push(Some(value)),
                        // None within the budget; elements of another output may have one.
                        Err(EvalError::Budget) => {
                            exceeded = true;
                            break;
                        }
                        // No value here, such as a quotient of integers by 0; others may have one.
                        Err(_) if undefined < MAX_UNDEFINED => {
                            undefined += 1;
                            own.push(None);
                        }
                        Err(_) => break,
                    }
                }
                values.push(own);
            }
            (values, exceeded)
        });
        let [(left, left_exceeded), (right, right_exceeded)] = values;
        *too_large |= left_exceeded || right_exceeded;
        let mut differing: Vec<Witness> = Vec::new();
        for (number, indices) in all.into_iter().enumerate() {
            let folding_error = self.folding_error() * largest(&left[number]).max(largest(&right[number]));
            for ((a, b), index) in left[number].iter().zip(&right[number]).zip(indices) {
                let (&Some(a), &Some(b)) = (a, b) else { continue };
                let distance = if a.is_nan() != b.is_nan() { f64::INFINITY } else { distance(a, b) };
                if close(a, b) || neither_is_real(a, b) || distance <= folding_error {
                    continue;
                }
                differing.push(Witness {
                    seed: self.question.seed,
                    output: self.question.graphs[0].outputs()[number].shown(),
                    output_number: Some(number),
                    index: index.to_vec(),
                    a,
                    b,
                    constants: None,
                    max_abs_error: distance,
                    region: None,
                    first_a: None,
                    first_b: None,
                    inputs: self.draws.to_vec(),
                });
            }
        }
        differing.sort_by(|x, y| y.max_abs_error.total_cmp(&x.max_abs_error));
        differing
    }

    /// How far values may lie apart because somebody computed constants of a file from its weights, with errors that no
    /// disturbance shows: as a part of the largest value.
    fn folding_error(&self) -> f64 {
        let is_narrow = |dtype: DType| dtype.is_float() && !matches!(dtype, DType::F32 | DType::F64);
        let mut inputs = self.question.binding.inputs.iter().map(|input| input.ty.dtype);
        match self.question.held() {
            None => 0.0,
            Some(_) if inputs.any(is_narrow) => NARROW_FOLDING_ERROR,
            Some(_) => FOLDING_ERROR,
        }
    }

    /// Whether the values of an output element lie farther apart than rounding could bring them: every step of both
    /// sides is disturbed by far more than it rounds, and neither value may come near the other. A comparison of equal values
    /// comes out as before in every second disturbance, so that cheap elements are disturbed many times.
    fn holds(&self, witness: &Witness, budget: usize) -> bool {
        let mut left = DISTURBED_ELEMENTS;
        for round in 0..DISTURBANCES {
            let (stable, spent) = self.holds_disturbed(witness, budget, round);
            if !stable {
                return false;
            }
            left = left.saturating_sub(spent);
            if left == 0 {
                break;
            }
        }
        true
    }

    /// The same for one disturbance, and how many elements were computed for it.
    fn holds_disturbed(&self, witness: &Witness, budget: usize, round: u64) -> (bool, usize) {
        let [left, right] = self.evaluators(budget);
        let mut evaluators = [left.disturbed(2 * round), right.disturbed(2 * round + 1)];
        let disturbed = on_both(&mut evaluators, |side, evaluator| {
            let output = witness.output_number.and_then(|n| self.question.graphs[side].outputs().get(n));
            evaluator.element(output.ok_or(EvalError::IndexOutOfRange)?.value, &witness.index)
        });
        let [left, right] = &evaluators;
        let spent = budget - left.left().min(right.left()).min(budget);
        let mut moved: f64 = 0.0;
        for (disturbed, value) in disturbed.into_iter().zip([witness.a, witness.b]) {
            let Ok(disturbed) = disturbed else { return (false, spent) };
            if disturbed != value {
                moved = moved.max(distance(disturbed, value));
            }
        }
        let distance = distance(witness.a, witness.b);
        // Not so for a value that came and went as a NaN or an infinity.
        (moved.is_finite() && (distance.is_nan() || distance > TRUSTED_MOVES * moved), spent)
    }
}

/// The largest absolute value among those that are known and finite.
fn largest(values: &[Option<Number>]) -> f64 {
    let finite = values.iter().flatten().map(|v| v.to_f64().abs()).filter(|v| v.is_finite());
    finite.fold(0.0, f64::max)
}

/// How far two values lie apart; NaN where one of them is.
fn distance(x: Number, y: Number) -> f64 {
    match (x, y) {
        (Number::Int(x), Number::Int(y)) => (i128::from(x) - i128::from(y)).unsigned_abs() as f64,
        _ => (x.to_f64() - y.to_f64()).abs(),
    }
}
