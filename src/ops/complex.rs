//! Complex numbers. The IR has no such element type: a complex tensor is one of pairs, whose last dimension holds the real and
//! the imaginary part, as PyTorch stores it. What acts on both parts alike is the operator on real numbers; here stand the others.

use super::shapes::broadcast_index;
use super::work::TRANSCENDENTAL_FLOPS;
use super::{Amplifies, Bounds, Call, EvalError, Family, FetchReal, Kernel, OpDef, TypeError, Types, Work, one};
use crate::ir::{DType, TensorType};

/// Whether a tensor can hold complex numbers.
pub(super) fn is_pairs(ty: &TensorType) -> bool {
    ty.shape.last() == Some(&2) && matches!(ty.dtype, DType::F32 | DType::F64)
}

/// The type rule of functions of complex numbers.
fn of_pairs(c: &Call) -> Result<Types, TypeError> {
    match c.operands.iter().find(|ty| !is_pairs(ty)) {
        Some(ty) => Err(c.error(format!("takes complex numbers, pairs of f32 or f64 in a last dimension, not {ty}"))),
        None => c.output(c.same_dtype(0..c.operands.len())?, c.broadcast(0..c.operands.len())?),
    }
}

/// Real and imaginary part.
type Pair = (f64, f64);

/// The complex number that an operand has at the place of `index`.
fn pair(c: &Call, operand: usize, index: &[usize], fetch: &mut FetchReal) -> Result<Pair, EvalError> {
    let mut at = broadcast_index(&c.operands[operand].shape, index);
    let mut part = |part: usize| {
        if let Some(last) = at.last_mut() {
            *last = part;
        }
        fetch(operand, &at)
    };
    Ok((part(0)?, part(1)?))
}

/// The part of a result that `index` names.
fn of(result: Pair, index: &[usize]) -> f64 {
    if index.last() == Some(&0) { result.0 } else { result.1 }
}

/// What a function of two complex numbers gives, of `x` and `y`.
fn both(c: &Call, index: &[usize], fetch: &mut FetchReal, f: fn(Pair, Pair) -> Pair) -> Result<f64, EvalError> {
    Ok(of(f(pair(c, 0, index, fetch)?, pair(c, 1, index, fetch)?), index))
}

/// By the larger part of the divisor first, as PyTorch and NumPy do, so that nothing overflows on the way.
fn quotient((a, b): Pair, (c, d): Pair) -> Pair {
    if c == 0.0 && d == 0.0 {
        return (a / c.abs(), b / d.abs());
    }
    if c.abs() >= d.abs() {
        let ratio = d / c;
        let scale = 1.0 / (c + d * ratio);
        ((a + b * ratio) * scale, (b - a * ratio) * scale)
    } else {
        let ratio = c / d;
        let scale = 1.0 / (c * ratio + d);
        ((a * ratio + b) * scale, (b * ratio - a) * scale)
    }
}

/// From lengths and angles to pairs.
fn polar_types(c: &Call) -> Result<Types, TypeError> {
    let dtype = c.same_dtype(0..2)?;
    if !matches!(dtype, DType::F32 | DType::F64) {
        return Err(c.error(format!("takes lengths and angles of f32 or f64, not of {dtype}")));
    }
    if c.operands[0].shape != c.operands[1].shape {
        return Err(c.error(format!("takes as many angles as lengths, not {} and {}", c.operands[0], c.operands[1])));
    }
    let mut shape = c.operands[0].shape.clone();
    shape.push(2);
    c.output(dtype, shape)
}

fn polar(_: &Call, _: usize, index: &[usize], fetch: &mut FetchReal) -> Result<f64, EvalError> {
    let (_, at) = index.split_last().ok_or(EvalError::IndexOutOfRange)?;
    let (length, angle) = (fetch(0, at)?, fetch(1, at)?);
    Ok(of((length * angle.cos(), length * angle.sin()), index))
}

/// What the operators here have in common. PyTorch may fuse their sums and products or not, from one element to the next, so
/// that none of them is exact to the last bit.
const COMPLEX: OpDef =
    OpDef { family: Family::Complex, operands: &[one("x"), one("y")], infer: of_pairs, ..OpDef::PLAIN };

/// The table entries of this family.
pub(super) static OPS: &[OpDef] = &[
    OpDef {
        name: "complex_mul",
        doc: "`x * y` of complex numbers, which are pairs of real and imaginary part in the last dimension.",
        kernel: Kernel::Real(|c, _, index, fetch| {
            both(c, index, fetch, |(a, b), (c, d)| (a * c - b * d, a * d + b * c))
        }),
        // Six operations for two elements.
        work: Work::per_output::<3>,
        bounds: Bounds { magnitude: |m| 2.0 * m.of(0) * m.of(1), ..Bounds::UNKNOWN },
        amplifies: Amplifies::Squared,
        aten: aten!(|c| super::aten_formulas::complex_call(c, "mul.Tensor")),
        replay: torch!(|r| r.x()?.f_view_as_complex()?.f_mul(&r.y()?.f_view_as_complex()?)?.f_view_as_real()?),
        ..COMPLEX
    },
    OpDef {
        name: "complex_div",
        doc: "`x / y` of complex numbers.",
        kernel: Kernel::Real(|c, _, index, fetch| both(c, index, fetch, quotient)),
        // Eleven operations for two elements.
        work: Work::per_output::<6>,
        aten: aten!(|c| super::aten_formulas::complex_call(c, "div.Tensor")),
        replay: torch!(|r| r.x()?.f_view_as_complex()?.f_div(&r.y()?.f_view_as_complex()?)?.f_view_as_real()?),
        ..COMPLEX
    },
    OpDef {
        name: "polar",
        doc: "Complex numbers by their length and angle: `(x cos y, x sin y)`.",
        infer: polar_types,
        kernel: Kernel::Real(polar),
        work: Work::per_output::<TRANSCENDENTAL_FLOPS>,
        bounds: Bounds::NO_LARGER,
        aten: aten!(|c| super::aten_formulas::polar_call(c)),
        replay: torch!(|r| tch::Tensor::f_polar(r.x()?, r.y()?)?.f_view_as_real()?),
        ..COMPLEX
    },
];
