//! Constants that are apart by rounding: tables of cosines, windows and weights that one file holds as numbers and the other one
//! computes. Functions such as `cos` come out a little differently in every library.

use rustc_hash::FxHashMap;

use super::arena::{TermArena, TermId};
use super::closure::Closure;
use crate::ir::{DType, Number, unflatten};
use crate::rules::{Piece, Sentence};

/// So many units in the last place of the larger element are rounding: one for each of a few functions in a row.
pub(in crate::prove) const MAX_UNITS: f64 = 4.0;

/// How far the elements of two constants of one type are apart at most, in units in the last place of the larger one. `None` if
/// rounding does not explain it, or if both are given exactly.
pub(in crate::prove) fn near(arena: &TermArena, a: TermId, b: TermId) -> Option<f64> {
    let both_exact = arena.constant(a).is_some() && arena.constant(b).is_some();
    if both_exact || arena.ty(a) != arena.ty(b) { None } else { units(arena, a, b) }
}

fn units(arena: &TermArena, a: TermId, b: TermId) -> Option<f64> {
    let (x, y) = (arena.value(a)?, arena.value(b)?);
    let ty = arena.ty(a);
    if x == y {
        return Some(0.0);
    }
    let count = if x.uniform().is_some() && y.uniform().is_some() { ty.numel().min(1) } else { ty.numel() };
    (0..count).try_fold(0.0, |most: f64, flat| {
        let index = unflatten(&ty.shape, flat);
        let apart = units_apart(ty.dtype, x.at(ty, &index), y.at(ty, &index))?;
        (apart <= MAX_UNITS).then_some(most.max(apart))
    })
}

/// Units in the last place of the larger one between two numbers of a float type; `None` where they have nothing in common.
pub(in crate::prove) fn units_apart(dtype: DType, x: Number, y: Number) -> Option<f64> {
    if x == y || x.is_nan() && y.is_nan() {
        return Some(0.0);
    }
    if !(x.is_finite() && y.is_finite()) {
        return None;
    }
    let (x, y) = (x.to_f64(), y.to_f64());
    let larger = x.abs().max(y.abs());
    // The power of two below it. What is too small for a logarithm of its own is no larger than the smallest normal number.
    let step = dtype.epsilon()? * larger.max(f64::MIN_POSITIVE).log2().floor().exp2();
    Some((x - y).abs() / step)
}

/// What such a step takes for granted.
pub(super) fn sentence(a: TermId, b: TermId, units: f64) -> Sentence<TermId> {
    let text = |text: &str| Piece::Text(text.to_owned());
    let apart = format!(
        " are roundings of the same numbers: they are apart by at most {} units in the last place",
        units.ceil()
    );
    vec![text("the constants "), Piece::Tensor(a), text(" and "), Piece::Tensor(b), text(&apart)]
}

/// Whether equal terms have values that rounding does not explain. Where it grows, as behind `floor`, constants that are near make
/// others equal that are not.
pub(super) fn contradicts(arena: &TermArena, closure: &Closure) -> bool {
    let mut first: FxHashMap<TermId, TermId> = FxHashMap::default();
    let mut known = (0..arena.len()).map(|n| arena.nth(n)).filter(|&t| arena.value(t).is_some());
    known.any(|t| units(arena, *first.entry(closure.find(t)).or_insert(t), t).is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apart(x: f64, y: f64) -> Option<f64> {
        units_apart(DType::F32, Number::float(x), Number::float(y))
    }

    #[test]
    fn units_are_those_of_the_larger_number() {
        let one = f64::from(f32::EPSILON);
        assert_eq!(apart(1.0, 1.0 + one), Some(1.0));
        assert_eq!(apart(3.0, 3.0 + 2.0 * one), Some(1.0));
        assert_eq!(apart(-1.0, 1.0), Some(2.0 / one));
        assert_eq!(apart(f64::NAN, f64::NAN), Some(0.0));
        assert_eq!(apart(f64::INFINITY, f64::INFINITY), Some(0.0));
        assert_eq!(apart(f64::INFINITY, 1.0), None);
        assert_eq!(apart(f64::NAN, 1.0), None);
        assert!(apart(0.0, 1e-30).is_some_and(|units| units > MAX_UNITS));
        assert_eq!(units_apart(DType::I64, Number::Int(1), Number::Int(2)), None);
    }
}
