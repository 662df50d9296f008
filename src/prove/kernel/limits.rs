//! Assumptions that exclude each other: from `x > 0` and `-x > 0` anything follows, so that it shows nothing.

use rustc_hash::{FxHashMap, FxHashSet};

use super::arena::{Head, TermArena, TermId};
use super::closure::Closure;
use super::range::moves_all_of;
use crate::ir::{DType, Number, TensorType};
use crate::ops::{Arithmetic, Call, Elements, Op};

/// That every element of `of` lies between two numbers, and is neither of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Limit {
    pub of: TermId,
    pub low: f64,
    pub high: f64,
}

impl Limit {
    /// Whether an element lies between the numbers.
    pub(crate) fn is_met_by(self, element: Number) -> bool {
        let element = element.to_f64();
        self.low < element && element < self.high
    }

    /// The same of what the term is a multiple of.
    fn of_base(mut self, arena: &TermArena) -> Limit {
        while let Some((factor, base)) = multiple(arena, self.of) {
            let (x, y) = (self.low / factor, self.high / factor);
            self = Limit { of: base, low: x.min(y), high: x.max(y) };
        }
        self
    }
}

/// The number that a term multiplies another by, and that other one.
fn multiple(arena: &TermArena, term: TermId) -> Option<(f64, TermId)> {
    let (Op::Table(def), attrs, _) = arena.op(term)? else { return None };
    let operands = &arena.term(term).operands;
    let types: Vec<&TensorType> = operands.iter().map(|&o| arena.ty(o)).collect();
    let Elements::Placewise(function) = (Call { op: def, attrs, operands: &types }).elements() else { return None };
    let number = |t: TermId| arena.constant(t)?.uniform().map(Number::to_f64).filter(|n| n.is_finite() && *n != 0.0);
    let same_shape = |t: TermId| arena.ty(t) == arena.ty(term);
    let (factor, base) = match (function, &operands[..]) {
        (Arithmetic::Neg, &[x]) => (-1.0, x),
        (Arithmetic::Mul, &[x, y]) => number(y).map(|n| (n, x)).or_else(|| number(x).map(|n| (n, y)))?,
        (Arithmetic::Div, &[x, y]) => (1.0 / number(y)?, x),
        _ => return None,
    };
    (same_shape(base) && arena.ty(base).dtype.is_float()).then_some((factor, base))
}

/// Whether a limit leaves an input of real numbers one sign only: half of what such an input usually holds is beyond it.
pub(super) fn leaves_one_sign(arena: &TermArena, limit: Limit) -> bool {
    let Limit { of, low, high } = limit.of_base(arena);
    let mut from = of;
    while let Some(below) = moves_all_of(arena, from) {
        from = below;
    }
    let is_input = matches!(arena.head(from), Head::Input(_)) && arena.ty(from).dtype.is_float();
    is_input && (low >= 0.0 || high <= 0.0)
}

/// The steps whose limits no number meets at once, given what is equal.
pub(super) fn impossible(
    arena: &TermArena,
    closure: &Closure,
    limits: impl Iterator<Item = (usize, Limit)>,
) -> FxHashSet<usize> {
    let mut of_class: FxHashMap<TermId, (f64, f64, Vec<usize>)> = FxHashMap::default();
    for (step, limit) in limits {
        let Limit { of, low, high } = limit.of_base(arena);
        let class = of_class.entry(closure.find(of)).or_insert((f64::NEG_INFINITY, f64::INFINITY, Vec::new()));
        *class = (class.0.max(low), class.1.min(high), std::mem::take(&mut class.2));
        class.2.push(step);
    }
    let excluded = |(of, (low, high, steps))| none_between(arena.ty(of).dtype, low, high).then_some(steps);
    of_class.into_iter().filter_map(excluded).flatten().collect()
}

/// Whether no number of a type lies between two.
fn none_between(dtype: DType, low: f64, high: f64) -> bool {
    if dtype.is_float() { low >= high } else { low.floor() + 1.0 >= high }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_neighbours_are_numbers_but_no_integers() {
        assert!(!none_between(DType::F32, 0.0, 1.0) && none_between(DType::I64, 0.0, 1.0));
        assert!(!none_between(DType::I64, -1.0, 1.0) && !none_between(DType::I32, 0.5, 1.5));
        assert!(none_between(DType::F32, 0.0, 0.0) && none_between(DType::I64, f64::INFINITY, 3.0));
        assert!(!none_between(DType::I64, f64::NEG_INFINITY, 3.0) && !none_between(DType::I64, 3.0, f64::INFINITY));
    }
}
