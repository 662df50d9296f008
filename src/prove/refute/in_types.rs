//! A second look at what was proven over the real numbers: whether the sides part as soon as they are computed in their own types.
//!
//! `x * 1e30 * 1e30 * 1e-30 * 1e-30` is `x`, and in f32 it is infinite. Rounding alone moves few elements far, so that most of those that are
//! looked at have to part.

use super::evaluable::written_out;
use super::evaluator::close;
use super::inputs::{Choice, Uses};
use super::question::Question;
use super::strategies::{Positions, indices};
use super::{Trial, on_deep_stack};
use crate::eval::{EvalError, LazyEvaluator, Options, Ties};
use crate::ir::Number;
use crate::rules::RuleSet;

/// Elements computed per side at most: little beside what a proof takes.
const BUDGET: usize = 20_000;

/// The most nodes of both graphs together. To bring whole models into the form that is evaluated took a quarter of the time of their
/// check (`llama3-405b`).
const MAX_NODES: usize = 600;

/// Elements looked at of every output.
const LOOKED_AT: usize = 16;

/// Relative difference from which on two values have nothing in common.
const APART: f64 = 0.5;

/// An output of which most elements part.
pub(in crate::prove) struct Parted {
    /// Its position among the tensors that the graphs give.
    pub output: usize,
    pub index: Vec<usize>,
    /// What the first and the second graph give there.
    pub values: [Number; 2],
}

/// The first output of which most elements part on ordinary inputs, where both sides round as their types do. `None` where
/// that takes too long to find out.
pub(in crate::prove) fn parted_in_types(question: &Question, rules: &RuleSet) -> Option<Parted> {
    if question.graphs.iter().map(|graph| graph.len()).sum::<usize>() > MAX_NODES {
        return None;
    }
    written_out(question, rules, |question| on_deep_stack(|depth| search(question, depth)))
}

fn search(question: &Question, depth: usize) -> Option<Parted> {
    let [a, b] = question.graphs;
    let uses = Uses::new(a, b, question.binding);
    let draws = uses.draws(&Choice { seed: question.seed, scale: 1.0, ..Choice::default() }, question.held());
    let trial = Trial::new(question, &draws, depth);
    let evaluators = |rounding: bool| {
        let options = Options { rounding, budget: BUDGET };
        // Elements that rounding makes equal are one way of parting; over the real numbers, equal elements leave the order open.
        let ties = if rounding { Ties::Reference } else { Ties::Refused };
        [0, 1].map(|side| LazyEvaluator::new(&trial.programs[side], options).with_ties(ties).with_depth(depth))
    };
    let (mut in_types, mut over_reals) = (evaluators(true), evaluators(false));
    for (output, (x, y)) in a.outputs().iter().zip(b.outputs()).enumerate() {
        let all = indices(&a.ty(x.value).shape, Positions::Spread, None);
        let (mut parted, mut looked_at) = (None, 0);
        let mut count = 0;
        for index in all.iter().step_by((all.len() / LOOKED_AT).max(1)) {
            let [left, right] = &mut in_types;
            let values = [left.element(x.value, index), right.element(y.value, index)];
            if values.iter().any(|value| matches!(value, Err(EvalError::Budget))) {
                return None;
            }
            let [Ok(left), Ok(right)] = values else { continue };
            looked_at += 1;
            // An input that a function is not defined for says nothing of types.
            let mut agree_over_reals = || {
                let [left, right] = &mut over_reals;
                let values = left.element(x.value, index).ok().zip(right.element(y.value, index).ok());
                values.is_some_and(|(x, y)| x.to_f64().is_finite() && close(x, y))
            };
            if is_apart(left, right) && agree_over_reals() {
                count += 1;
                parted.get_or_insert_with(|| Parted { output, index: index.to_vec(), values: [left, right] });
            }
        }
        if 2 * count > looked_at {
            return parted;
        }
    }
    None
}

/// Whether one value is a real number and the other one is none, or they have nothing in common.
fn is_apart(x: Number, y: Number) -> bool {
    let (Number::Float(_), Number::Float(_)) = (x, y) else { return x != y };
    let (x, y) = (x.to_f64(), y.to_f64());
    if !x.is_finite() || !y.is_finite() {
        return x.is_finite() != y.is_finite();
    }
    (x - y).abs() > APART * x.abs().max(y.abs())
}
