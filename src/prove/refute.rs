//! Refutation: an input on which the two graphs give different outputs.

use super::bind::Binding;
use super::fingerprint::close;
use super::verdict::Witness;
use crate::eval::{Demand, GraphProgram, Options};
use crate::ir::{Graph, unflatten};

/// Elements computed per side before giving up: whole models are out of reach, small graphs are not.
const BUDGET: usize = 4_000_000;

/// Output elements looked at.
const SAMPLES: usize = 24;

/// Seeds tried.
const SEEDS: u64 = 3;

/// Runs both graphs on shared random inputs. Values are compared in f64 without rounding, so a difference
/// is one over the real numbers and not floating-point noise.
pub fn refute(a: &Graph, b: &Graph, binding: &Binding) -> Option<Witness> {
    (0..SEEDS).find_map(|seed| {
        let left = GraphProgram::new(a, seed).numbered(&binding.a);
        let right = GraphProgram::new(b, seed).numbered(&binding.b);
        let options = Options { rounding: false, budget: BUDGET };
        let (mut left, mut right) = (Demand::new(&left, options), Demand::new(&right, options));
        let mut witness: Option<Witness> = None;
        for (x, y) in a.outputs().iter().zip(b.outputs()) {
            let ty = a.ty(x.value);
            let numel = ty.numel();
            let stride = (numel / SAMPLES).max(1);
            for flat in (0..numel).step_by(stride).chain(numel.checked_sub(1)) {
                let index = unflatten(&ty.shape, flat);
                let (Ok(p), Ok(q)) = (left.element(x.value, &index), right.element(y.value, &index)) else {
                    return witness;
                };
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
                if error > found.max_abs_error {
                    found.max_abs_error = error;
                }
            }
        }
        witness
    })
}
