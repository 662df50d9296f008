//! What is needed to compute a witness again elsewhere.

use super::question::Question;
use super::strategies::TOTAL;
use super::{Trial, on_deep_stack};
use crate::eval::EvalError;
use crate::ir::{Graph, Value};
use crate::prove::{Binding, Witness};

/// The elements of an input that a witness depends on: places in row-major order, ascending, with their values. The
/// other elements do not matter to it, as long as they are finite.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Elements {
    /// Places in row-major order.
    pub places: Vec<usize>,
    /// What stands there.
    pub values: Vec<f64>,
}

/// Inputs with at most this many elements are given whole.
const WHOLE: usize = 1 << 16;

/// Per input of the binding, the elements that the values of the witness depend on.
///
/// # Errors
/// Graphs that cannot be evaluated within the budget. Those that gave the witness can.
pub fn needed_inputs(a: &Graph, b: &Graph, binding: &Binding, witness: &Witness) -> Result<Vec<Elements>, EvalError> {
    let question = Question { graphs: [a, b], binding, seed: witness.seed, effort: TOTAL, unproven: [&[], &[]] };
    on_deep_stack(|depth| collect(&question, witness, depth))
}

fn collect(question: &Question, witness: &Witness, depth: usize) -> Result<Vec<Elements>, EvalError> {
    if witness.inputs.is_empty() {
        // Constants that differ need no inputs.
        return Ok(vec![Elements::default(); question.binding.inputs.len()]);
    }
    let trial = Trial::new(question, &witness.inputs, depth);
    let mut needed: Vec<Vec<usize>> = vec![Vec::new(); question.binding.inputs.len()];
    let numbers = [&question.binding.a, &question.binding.b];
    for (side, evaluator) in trial.evaluators(TOTAL).into_iter().enumerate() {
        let graph = question.graphs[side];
        let Some(number) = witness.output_number else { continue };
        let output = graph.outputs().get(number).ok_or(EvalError::IndexOutOfRange)?;
        let mut evaluator = evaluator.recording();
        evaluator.element(output.value, &witness.index)?;
        let mut reads = evaluator.reads();
        for (&node, &number) in graph.inputs().iter().zip(numbers[side]) {
            needed[number as usize].extend(reads.remove(&Value::from(node)).unwrap_or_default());
        }
    }
    let of = |(number, mut places): (usize, Vec<usize>)| {
        let ty = &question.binding.inputs[number].ty;
        if ty.numel() <= WHOLE {
            places = (0..ty.numel()).collect();
        }
        places.sort_unstable();
        places.dedup();
        let values = places.iter().map(|&flat| witness.inputs[number].element(ty, flat)).collect();
        Elements { places, values }
    };
    Ok(needed.into_iter().enumerate().map(of).collect())
}
