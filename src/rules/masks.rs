//! Questions about constant attention masks.

use std::ops::ControlFlow;

use super::evaluated::Undecided;
use super::terms::Terms;
use crate::eval::{Affine, Constant, Region, canonical};
use crate::ir::{DType, Number, TensorType, unflatten};
use crate::ops::Arithmetic;

/// Rows that are looked at before the question is left open.
const MAX_ROWS: usize = 1 << 20;
/// Elements of a dense mask that are looked at before the question is left open.
const MAX_ELEMENTS: usize = 1 << 22;

/// Whether a constant bool tensor is true exactly where the last index is at most the one before it.
pub(super) fn is_causal(constant: &Constant, ty: &TensorType) -> Result<bool, Undecided> {
    if ty.rank() < 2 {
        return Ok(false);
    }
    match constant {
        Constant::Dense(data) => {
            let (rows, columns) = (ty.shape[ty.rank() - 2], ty.shape[ty.rank() - 1]);
            Ok(data.iter().enumerate().all(|(i, v)| (v.is_true()) == (i % columns <= (i / columns) % rows)))
        }
        // A single row or column can be causal and uniform at once.
        Constant::Uniform(v) => {
            let (rows, columns) = (ty.shape[ty.rank() - 2], ty.shape[ty.rank() - 1]);
            Ok(v.is_true() && columns <= 1 && rows > 0)
        }
        _ => Ok(constant.is_causal_mask(ty)),
    }
}

/// Whether a constant matrix, or a batch of them, is 1 up to the diagonal (with `upper` from it on) and 0 elsewhere.
pub(super) fn is_triangle_of_ones(constant: &Constant, ty: &TensorType, upper: bool) -> bool {
    let (Some(column), Some(zero), Some(one)) =
        (ty.rank().checked_sub(1).filter(|&d| d > 0), ty.dtype.store(Number::ZERO), ty.dtype.store(Number::Int(1)))
    else {
        return false;
    };
    let sign = if upper { -1 } else { 1 };
    let mut bound = Affine { offset: 0, coefficients: ty.shape.iter().map(|_| 0).collect() };
    (bound.coefficients[column - 1], bound.coefficients[column]) = (-sign, sign);
    let triangle = Region { bounds: vec![bound], inside: one, outside: zero };
    // Every value has one canonical form.
    canonical(constant.clone(), ty) == canonical(Constant::Region(triangle), ty)
}

/// Whether a constant bool tensor of two dims or more is true exactly where the first index is the last. `false` where that is
/// not known.
pub(super) fn is_diagonal(constant: &Constant, ty: &TensorType) -> bool {
    let (Some(&rows), Some(&columns), true) = (ty.shape.first(), ty.shape.last(), ty.rank() >= 2) else { return false };
    match constant {
        Constant::Dense(data) => {
            let inner = data.len().checked_div(rows).unwrap_or(0);
            data.iter().enumerate().all(|(i, v)| (v.is_true()) == (i / inner == i % columns))
        }
        Constant::Uniform(v) => v.is_true() && rows == 1 && columns == 1,
        // i <= j and j <= i.
        Constant::Region(Region { bounds, inside, outside }) => {
            let last = ty.rank() - 1;
            let slope = |a: &Affine, d: usize| a.coefficients.get(d).copied().unwrap_or(0);
            let along = |a: &Affine, sign: i64| {
                a.offset == 0
                    && (0..=last).all(|d| {
                        slope(a, d)
                            == if d == 0 {
                                sign
                            } else if d == last {
                                -sign
                            } else {
                                0
                            }
                    })
            };
            let is_true = inside.is_true() && !outside.is_true();
            is_true && matches!(bounds.as_slice(), [a, b] if along(a, -1) && along(b, 1) || along(a, 1) && along(b, -1))
        }
        Constant::Affine(_) => false,
    }
}

/// Whether a constant bool tensor has a true element in every row of its last dim.
pub(super) fn keeps_a_key(constant: &Constant, ty: &TensorType) -> Result<bool, Undecided> {
    let Some(&columns) = ty.shape.last() else { return Err(Undecided::Invalid) };
    if ty.dtype != DType::Bool {
        return Err(Undecided::Invalid);
    }
    if columns == 0 {
        return Ok(ty.numel() == 0 && ty.shape[..ty.rank() - 1].contains(&0));
    }
    match constant {
        Constant::Uniform(v) => Ok(v.is_true() || ty.numel() == 0),
        Constant::Dense(data) if data.len() <= MAX_ELEMENTS => {
            Ok(data.chunks(columns).all(|row| row.iter().any(|v| v.is_true())))
        }
        Constant::Region(region) if region.inside.is_true() => rows_keep_a_key(&region.bounds, ty, columns),
        _ => Err(Undecided::Unknown),
    }
}

/// Whether every row of the last dim of a constant has an element that `is_kept`. `false` where that is not known.
pub(crate) fn every_row_has(constant: &Constant, ty: &TensorType, is_kept: &dyn Fn(Number) -> bool) -> bool {
    let kept = |n: &Number| Number::from(is_kept(*n));
    let places = match constant {
        Constant::Uniform(n) => Constant::Uniform(kept(n)),
        Constant::Region(Region { bounds, inside, outside }) => {
            Constant::Region(Region { bounds: bounds.clone(), inside: kept(inside), outside: kept(outside) })
        }
        Constant::Dense(data) => Constant::Dense(data.iter().map(kept).collect()),
        Constant::Affine(_) => return false,
    };
    let truth = TensorType { dtype: DType::Bool, ..ty.clone() };
    keeps_a_key(&canonical(places, &truth), &truth) == Ok(true)
}

/// Whether an additive mask is above -inf somewhere in every row of its last dim: read from its value, or from the
/// choice between two numbers that it is.
pub(super) fn keeps_a_finite_key<T: Terms>(terms: &T, mask: T::Id) -> Result<bool, Undecided> {
    let ty = terms.ty(mask);
    let Some(&columns) = ty.shape.last().filter(|&&columns| columns > 0) else { return Err(Undecided::Invalid) };
    match terms.constant(mask) {
        Some(Constant::Uniform(v)) => return Ok(v.to_f64() > f64::NEG_INFINITY),
        Some(Constant::Affine(_)) => return Ok(true),
        Some(Constant::Dense(data)) if data.len() <= MAX_ELEMENTS => {
            return Ok(data.chunks(columns).all(|row| row.iter().any(|v| v.to_f64() > f64::NEG_INFINITY)));
        }
        Some(Constant::Region(Region { bounds, inside, outside })) => {
            if inside.to_f64() > f64::NEG_INFINITY && outside.to_f64() > f64::NEG_INFINITY {
                return Ok(true);
            }
            if inside.to_f64() > f64::NEG_INFINITY {
                return rows_keep_a_key(bounds, ty, columns);
            }
        }
        _ => {}
    }
    let mut found = Err(Undecided::Unknown);
    let number = |id: T::Id| terms.constant(id).and_then(Constant::uniform).map(Number::to_f64);
    // The visitor's verdict says only that it stopped early.
    let _ = terms.visit(mask, &mut |op, _, _, operands| {
        let (true, &[condition, yes, no]) = (op.arithmetic() == Arithmetic::Select, operands) else {
            return ControlFlow::Continue(());
        };
        let (Some(yes), Some(no)) = (number(yes), number(no)) else { return ControlFlow::Continue(()) };
        if yes.is_finite() && no.is_finite() {
            found = Ok(true);
        } else if yes.is_finite()
            && no == f64::NEG_INFINITY
            && terms.ty(condition).shape == ty.shape
            && let Some(constant) = terms.constant(condition)
        {
            found = keeps_a_key(constant, terms.ty(condition));
        }
        if found.is_ok() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    found
}

/// Whether a constant float tensor is an additive mask: 0, or a number that hides scores, everywhere, and 0 somewhere in every
/// row of its last dim.
pub(super) fn is_additive(constant: &Constant, ty: &TensorType) -> Result<bool, Undecided> {
    let Some(&columns) = ty.shape.last().filter(|&&columns| columns > 0) else { return Err(Undecided::Invalid) };
    match constant {
        Constant::Dense(data) if data.len() <= MAX_ELEMENTS => {
            let all_known = data.iter().all(|v| !v.is_true() || hides(v.to_f64()));
            Ok(all_known && data.chunks(columns).all(|row| row.iter().any(|v| !v.is_true())))
        }
        Constant::Dense(_) => Err(Undecided::Unknown),
        Constant::Uniform(v) => Ok(!v.is_true()),
        Constant::Region(Region { bounds, inside, outside }) if !inside.is_true() && hides(outside.to_f64()) => {
            rows_keep_a_key(bounds, ty, columns)
        }
        Constant::Region(_) | Constant::Affine(_) => Ok(false),
    }
}

/// What programs add to scores that must not count: -inf, the lowest number of a float type, or -10000.
fn hides(value: f64) -> bool {
    value <= -1e4
}

/// Each formula bounds the last index from one side; a row keeps a key where the bounds leave room.
fn rows_keep_a_key(all: &[Affine], ty: &TensorType, columns: usize) -> Result<bool, Undecided> {
    let last = ty.rank() - 1;
    // A dim that no formula mentions has the same answer at every index.
    let mut shape = crate::ir::Shape::from_slice(&ty.shape[..last]);
    for (d, size) in shape.iter_mut().enumerate() {
        if all.iter().all(|a| a.coefficients.get(d).is_none_or(|&c| c == 0)) {
            *size = (*size).min(1);
        }
    }
    let rows = shape.iter().try_fold(1_usize, |n, &s| n.checked_mul(s)).filter(|&n| n <= MAX_ROWS);
    for row in 0..rows.ok_or(Undecided::Unknown)? {
        let index = unflatten(&shape, row);
        let (mut low, mut high) = (0_i128, columns as i128 - 1);
        for a in all {
            let outer = a
                .coefficients
                .iter()
                .zip(&index)
                .fold(i128::from(a.offset), |sum, (&c, &i)| sum + i128::from(c) * i as i128);
            // outer + c * j <= 0
            match i128::from(a.coefficients.get(last).copied().unwrap_or(0)) {
                0 if outer > 0 => high = -1,
                0 => {}
                c if c > 0 => high = high.min((-outer).div_euclid(c)),
                // j >= outer / -c, rounded up.
                c => low = low.max(-((-outer).div_euclid(-c))),
            }
        }
        if low > high {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Shape;

    fn bools(shape: &[usize]) -> TensorType {
        TensorType::new(DType::Bool, Shape::from_slice(shape)).unwrap()
    }

    fn formula(offset: i64, coefficients: &[i64]) -> Affine {
        Affine { offset, coefficients: coefficients.iter().copied().collect() }
    }

    #[test]
    fn a_causal_mask_keeps_a_key_and_a_strict_one_does_not() {
        let causal = Constant::Region(Region::of_truth(vec![formula(0, &[-1, 1])]));
        assert_eq!(keeps_a_key(&causal, &bools(&[9, 9])), Ok(true));
        let strict = Constant::Region(Region::of_truth(vec![formula(1, &[-1, 1])]));
        assert_eq!(keeps_a_key(&strict, &bools(&[9, 9])), Ok(false));
    }

    #[test]
    fn a_sliding_window_that_leaves_the_keys_behind_keeps_none() {
        // j <= i and j > i - 3: the last rows of a tall mask see no key.
        let window = Constant::Region(Region::of_truth(vec![formula(0, &[-1, 1]), formula(-2, &[1, -1])]));
        assert_eq!(keeps_a_key(&window, &bools(&[6, 6])), Ok(true));
        assert_eq!(keeps_a_key(&window, &bools(&[9, 6])), Ok(false));
    }

    #[test]
    fn triangles_of_ones_are_told_from_their_transposes() {
        let ty = |shape: &[usize]| TensorType::new(DType::F32, Shape::from_slice(shape)).unwrap();
        let of = |v: &[f64]| Constant::Dense(v.iter().map(|&v| Number::float(v)).collect());
        let lower = of(&[1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0]);
        let upper = of(&[1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0]);
        let square = ty(&[3, 3]);
        let both =
            |constant: &Constant, ty: &TensorType| [false, true].map(|upper| is_triangle_of_ones(constant, ty, upper));
        assert_eq!(both(&lower, &square), [true, false]);
        assert_eq!(both(&upper, &square), [false, true]);
        assert_eq!(both(&of(&[2.0, 0.0, 0.0, 2.0, 2.0, 0.0, 2.0, 2.0, 2.0]), &square), [false, false]);
        // One column is all ones from the top down, and has one 1 from the bottom up.
        let column = ty(&[3, 1]);
        assert_eq!(both(&of(&[1.0, 1.0, 1.0]), &column), [true, false]);
        assert_eq!(both(&of(&[1.0, 0.0, 0.0]), &column), [false, true]);
    }

    #[test]
    fn dense_masks_are_read() {
        let mask = |v: &[f64]| Constant::Dense(v.iter().map(|&v| Number::float(v)).collect());
        assert_eq!(is_causal(&mask(&[1.0, 0.0, 1.0, 1.0]), &bools(&[2, 2])), Ok(true));
        assert_eq!(is_causal(&mask(&[1.0, 1.0, 1.0, 1.0]), &bools(&[2, 2])), Ok(false));
        assert_eq!(keeps_a_key(&mask(&[1.0, 0.0, 0.0, 0.0]), &bools(&[2, 2])), Ok(false));
    }

    #[test]
    fn additive_masks_keep_a_key_in_every_row() {
        let ty = TensorType::new(DType::F32, Shape::from_slice(&[2, 2])).unwrap();
        let mask = |v: &[f64]| Constant::Dense(v.iter().map(|&v| Number::float(v)).collect());
        let lowest = f64::from(f32::MIN);
        assert_eq!(is_additive(&mask(&[0.0, lowest, 0.0, 0.0]), &ty), Ok(true));
        assert_eq!(is_additive(&mask(&[0.0, -1e9, 0.0, 0.0]), &ty), Ok(true));
        assert_eq!(is_additive(&mask(&[0.0, -5.0, 0.0, 0.0]), &ty), Ok(false));
        assert_eq!(is_additive(&mask(&[0.0, 0.0, lowest, f64::NEG_INFINITY]), &ty), Ok(false));
    }
}
