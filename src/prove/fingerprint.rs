//! Fingerprints: a few elements of two terms over the same random leaves. Equal terms agree; terms that
//! agree are worth a proof.

use smallvec::SmallVec;

use super::arena::{Arena, Head, TermId};
use crate::eval::{Demand, EvalError, Options, Program, Source, random};
use crate::ir::{TensorType, unflatten};
use crate::ops::Op;

/// Sampled elements per term.
const SAMPLES: usize = 3;

/// Elements that may be computed for one pair.
const PER_PAIR: usize = 300_000;

/// Relative difference up to which values in f64 count as the same real number.
pub const TOLERANCE: f64 = 1e-6;

/// A local arena as a program: input `n` is a random tensor.
struct Cone<'a> {
    arena: &'a Arena,
    seed: u64,
}

impl Program for Cone<'_> {
    type Id = TermId;

    fn source(&self, id: TermId) -> Source<'_, TermId> {
        if let Some(constant) = self.arena.constant(id) {
            return Source::Constant(constant);
        }
        match self.arena.head(id) {
            Head::Input(n) => Source::Random { seed: random::mix(self.seed, u64::from(*n)) },
            Head::Apply { op: Op::Table(def), attrs, slot } => {
                let operands = &self.arena.term(id).operands;
                let types = operands.iter().map(|&o| self.arena.ty(o)).collect();
                Source::Call { op: def, attrs, types, slot: *slot as usize, operands: operands.clone() }
            }
            _ => Source::Opaque,
        }
    }

    fn ty(&self, id: TermId) -> &TensorType {
        self.arena.ty(id)
    }
}

/// Elements that may be computed for all pairs of one comparison. Counted, not timed, so that every run
/// comes to the same verdict.
pub const TOTAL: usize = 2_000_000;

/// Whether two terms of one type agree on sampled elements; `None` if they cannot be evaluated. Takes what it
/// computes from `budget`.
pub fn agree(arena: &Arena, a: TermId, b: TermId, seed: u64, budget: &mut usize) -> Option<bool> {
    let ty = arena.ty(a);
    if ty != arena.ty(b) {
        return Some(false);
    }
    let program = Cone { arena, seed };
    let allowance = PER_PAIR.min(*budget);
    let mut demand = Demand::new(&program, Options { rounding: false, budget: allowance });
    let agreed = compare(&mut demand, a, b, ty, seed);
    *budget -= allowance - demand.left().min(allowance);
    agreed
}

fn compare(demand: &mut Demand<Cone>, a: TermId, b: TermId, ty: &TensorType, seed: u64) -> Option<bool> {
    let mut any = false;
    for flat in sample(ty, seed) {
        let index = unflatten(&ty.shape, flat);
        let (x, y) = match (demand.element(a, &index), demand.element(b, &index)) {
            (Ok(x), Ok(y)) => (x, y),
            (Err(EvalError::Budget), _) | (_, Err(EvalError::Budget)) if any => break,
            _ => return None,
        };
        any = true;
        if !close(x, y) {
            return Some(false);
        }
    }
    Some(true)
}

/// Positions to look at: spread by a hash, the last element among them, where masks and bounds show.
fn sample(ty: &TensorType, seed: u64) -> SmallVec<[usize; SAMPLES]> {
    let numel = ty.numel();
    if numel == 0 {
        return SmallVec::new();
    }
    let hashed = |i: u64| (random::mix(seed ^ 0x5eed, i) % numel as u64) as usize;
    let mut all: SmallVec<[usize; SAMPLES]> = (0..SAMPLES as u64 - 1).map(hashed).collect();
    all.push(numel - 1);
    all.sort_unstable();
    all.dedup();
    all
}

/// Whether two values are the same real number up to the error of f64 arithmetic. NaN equals only NaN.
pub fn close(x: f64, y: f64) -> bool {
    if x.is_nan() || y.is_nan() {
        return x.is_nan() && y.is_nan();
    }
    x == y || (x - y).abs() <= TOLERANCE * x.abs().max(y.abs()).max(1e-3)
}
