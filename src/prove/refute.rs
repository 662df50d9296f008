//! Refutation: an input on which the two graphs give different outputs.

use super::bind::Binding;
use super::fingerprint::close;
use super::verdict::Witness;
use crate::eval::{Demand, EvalError, GraphProgram, Options};
use crate::ir::{Graph, unflatten};

/// Elements computed per side before giving up: whole models are out of reach, small graphs are not.
const BUDGET: usize = 600_000;

/// Output elements looked at.
const SAMPLES: usize = 24;

/// Seeds tried.
const SEEDS: u64 = 3;

/// Runs both graphs on shared random inputs. Values are compared in f64 without rounding, so a difference
/// is one over the real numbers and not floating-point noise. `None` where no difference was found, or where
/// the graphs are too large to evaluate.
pub fn refute(a: &Graph, b: &Graph, binding: &Binding) -> Option<Witness> {
    for seed in 0..SEEDS {
        match part(a, b, binding, seed) {
            Ok(None) => {}
            Ok(witness) => return witness,
            Err(_) => return None,
        }
    }
    None
}

/// The first output element that differs under one seed. Fails where not even one element can be computed.
fn part(a: &Graph, b: &Graph, binding: &Binding, seed: u64) -> Result<Option<Witness>, EvalError> {
    let left = GraphProgram::new(a, seed).numbered(&binding.a);
    let right = GraphProgram::new(b, seed).numbered(&binding.b);
    let options = Options { rounding: false, budget: BUDGET };
    let (mut left, mut right) = (Demand::new(&left, options), Demand::new(&right, options));
    let mut witness: Option<Witness> = None;
    let mut compared = 0;
    for (x, y) in a.outputs().iter().zip(b.outputs()) {
        let ty = a.ty(x.value);
        let numel = ty.numel();
        let stride = (numel / SAMPLES).max(1);
        for flat in (0..numel).step_by(stride).chain(numel.checked_sub(1)) {
            let index = unflatten(&ty.shape, flat);
            let (p, q) = match left.element(x.value, &index).and_then(|p| Ok((p, right.element(y.value, &index)?))) {
                Ok(pair) => pair,
                Err(error) if compared == 0 => return Err(error),
                Err(_) => return Ok(witness),
            };
            compared += 1;
            if close(p, q) {
                continue;
            }
            let error = (p - q).abs();
            let found = witness.get_or_insert_with(|| Witness {
                seed,
                output: x.name.to_string(),
                index: index.to_vec(),
                a: p,
                b: q,
                max_abs_error: error,
            });
            found.max_abs_error = found.max_abs_error.max(error);
        }
    }
    Ok(witness)
}
