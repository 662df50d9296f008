//! Evaluating a side, and comparing what the sides give.

use crate::eval::{GraphProgram, LazyEvaluator};
use crate::ir::Number;

/// Relative difference up to which values in f64 count as the same real number.
const TOLERANCE: f64 = 1e-6;

/// Absolute difference up to which they do.
const FLOOR: f64 = 1e-10;

pub(super) type Evaluator<'d, 'q> = LazyEvaluator<'d, GraphProgram<'q>>;

/// Whether one value is no number and the other one infinite: a quotient by 0 is one or the other by how it is written.
pub(super) fn neither_is_real(x: Number, y: Number) -> bool {
    let (Number::Float(_), Number::Float(_)) = (x, y) else { return false };
    let (x, y) = (x.to_f64(), y.to_f64());
    !x.is_finite() && !y.is_finite() && (x.is_nan() || y.is_nan())
}

/// Whether two values are the same integer, or the same real number up to the error of f64 arithmetic. NaN equals only NaN, and an
/// infinity only itself.
pub(super) fn close(x: Number, y: Number) -> bool {
    let (Number::Float(_), Number::Float(_)) = (x, y) else { return x == y };
    let (x, y) = (x.to_f64(), y.to_f64());
    if x.is_nan() || y.is_nan() {
        return x.is_nan() && y.is_nan();
    }
    x == y || x.is_finite() && y.is_finite() && (x - y).abs() <= (TOLERANCE * x.abs().max(y.abs())).max(FLOOR)
}
