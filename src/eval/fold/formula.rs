//! Arithmetic of formulas over an index.

use smallvec::SmallVec;

use crate::eval::constant::{Affine, Constant};
use crate::ir::{Number, TensorType};

/// A whole number of moderate size: sums and products of a few stay far from overflow. -0.0 is none: a formula has no
/// place for its sign.
pub(super) fn integer(value: Number) -> Option<i64> {
    let negative_zero = value == Number::float(-0.0);
    value.to_i64().filter(|v| v.unsigned_abs() < 1_000_000_000 && !negative_zero)
}

/// The constant as a formula over the index of `ty`, to which it is broadcast.
pub(super) fn affine(constant: &Constant, from: &TensorType, ty: &TensorType) -> Option<Affine> {
    let skip = ty.rank() - from.rank();
    match constant {
        Constant::Uniform(v) => Some(Affine { offset: integer(*v)?, coefficients: SmallVec::from_elem(0, ty.rank()) }),
        Constant::Affine(a) => {
            let coefficient = |d: usize| d.checked_sub(skip).map_or(0, |s| a.coefficients[s]);
            Some(Affine { offset: a.offset, coefficients: (0..ty.rank()).map(coefficient).collect() })
        }
        _ => None,
    }
}

pub(super) fn combine(x: &Affine, y: &Affine, sign: i64) -> Option<Affine> {
    let term = |a: i64, b: i64| a.checked_add(b.checked_mul(sign)?);
    Some(Affine {
        offset: term(x.offset, y.offset)?,
        coefficients: x.coefficients.iter().zip(&y.coefficients).map(|(&a, &b)| term(a, b)).collect::<Option<_>>()?,
    })
}

pub(super) fn scale(a: &Affine, factor: i64) -> Option<Affine> {
    Some(Affine {
        offset: a.offset.checked_mul(factor)?,
        coefficients: a.coefficients.iter().map(|c| c.checked_mul(factor)).collect::<Option<_>>()?,
    })
}

/// Smallest and largest value over the index range of `shape`, which has no size 0.
pub(super) fn range(a: &Affine, shape: &[usize]) -> Option<(i64, i64)> {
    let (mut low, mut high) = (a.offset, a.offset);
    for (&c, &size) in a.coefficients.iter().zip(shape) {
        let last = c.checked_mul(i64::try_from(size).ok()?.checked_sub(1)?)?;
        low = low.checked_add(last.min(0))?;
        high = high.checked_add(last.max(0))?;
    }
    Some((low, high))
}

/// `factor` times a formula of type `ty`, if the type holds all values exactly and none is -0.0.
pub(super) fn multiple(a: &Affine, factor: i64, ty: &TensorType) -> Option<Constant> {
    let (low, high) = range(a, &ty.shape)?;
    let negative_zero = match factor {
        0 => low < 0,
        1.. => false,
        _ => low <= 0 && high >= 0,
    };
    if ty.dtype.is_float() && negative_zero {
        return None;
    }
    exact(scale(a, factor)?, ty)
}

/// The formula as a constant of type `ty`, if that type holds all of its values exactly.
pub(super) fn exact(a: Affine, ty: &TensorType) -> Option<Constant> {
    let (low, high) = range(&a, &ty.shape)?;
    // Within the range that holds both ends, an integer type holds everything; a float type holds all
    // integers up to 2 / epsilon, and not beyond its largest number.
    let fits = match (ty.dtype.epsilon(), ty.dtype.max_finite()) {
        (Some(eps), Some(max)) => low.unsigned_abs().max(high.unsigned_abs()) as f64 <= (2.0 / eps).min(max),
        _ => ty.dtype.is_int() && ty.dtype.wrap(low) == low && ty.dtype.wrap(high) == high,
    };
    fits.then_some(Constant::Affine(a))
}
