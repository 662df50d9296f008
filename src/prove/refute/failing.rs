//! Inputs on which one graph gives a value and the other one none.

use super::evaluable::written_out;
use super::inputs::Uses;
use super::question::Question;
use super::strategies::{Positions, indices, strategies};
use super::{Trial, on_deep_stack};
use crate::eval::EvalError;
use crate::rules::RuleSet;

/// Choices of inputs that are tried, the cheap ones.
const CHOICES: usize = 6;

/// Elements computed per side and choice.
const BUDGET: usize = 50_000;

/// Whether the second graph reads outside of a tensor, or divides an integer by 0, for an element that the first one has.
pub(in crate::prove) fn fails_alone(question: &Question, rules: &RuleSet) -> bool {
    written_out(question, rules, |question| on_deep_stack(|depth| search(question, depth)))
}

fn search(question: &Question, depth: usize) -> bool {
    let [a, b] = question.graphs;
    let uses = Uses::new(a, b, question.binding);
    strategies(question).iter().take(CHOICES).any(|strategy| {
        let draws = uses.draws(&strategy.choice, question.held());
        let trial = Trial::new(question, &draws, depth);
        let [mut left, mut right] = trial.evaluators(BUDGET);
        a.outputs().iter().zip(b.outputs()).any(|(x, y)| {
            indices(&a.ty(x.value).shape, Positions::Spread, None).iter().any(|index| {
                let failed = right.element(y.value, index).err();
                matches!(failed, Some(EvalError::IndexOutOfRange | EvalError::DivisionByZero))
                    && left.element(x.value, index).is_ok()
            })
        })
    })
}
