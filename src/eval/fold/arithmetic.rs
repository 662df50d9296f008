//! Functions of the elements at one place, over formulas.

use std::cmp::Ordering;

use super::condition::compare;
use super::formula::{affine, combine, exact, integer, multiple, range};
use crate::eval::constant::{Affine, Constant};
use crate::ir::{Number, TensorType};
use crate::ops::{Arithmetic, Call};

/// The formula that a function gives for formulas, if it is one that its type holds.
pub(super) fn arithmetic(
    function: Arithmetic,
    call: &Call,
    operands: &[&Constant],
    ty: &TensorType,
) -> Option<Constant> {
    use Constant::{Affine as A, Uniform as U};
    let formula = |i: usize| affine(operands.get(i)?, call.operands.get(i)?, ty);
    let sum = |sign: i64| combine(&formula(0)?, &formula(1)?, sign).and_then(|a| exact(a, ty));
    match (function, operands) {
        (Arithmetic::Add, _) => sum(1),
        (Arithmetic::Sub, _) => sum(-1),
        (Arithmetic::Mul, [x, y]) => {
            let (a, factor) = match (x.uniform(), y.uniform()) {
                (_, Some(factor)) => (formula(0)?, factor),
                (Some(factor), _) => (formula(1)?, factor),
                _ => return None,
            };
            multiple(&a, integer(factor)?, ty)
        }
        (Arithmetic::Neg, [A(a)]) => multiple(a, -1, ty),
        (Arithmetic::Cast, [A(a)]) => exact(a.clone(), ty),
        (Arithmetic::Compare(comparison), _) => compare(comparison, &formula(0)?, &formula(1)?, ty),
        (Arithmetic::Clamp, [A(a)]) => unlimited(a, call, ty).then(|| A(a.clone())),
        (Arithmetic::Select, [U(condition), ..]) => exact(formula(if condition.is_true() { 1 } else { 2 })?, ty),
        // What has no formula, or one for other operands than these.
        (
            Arithmetic::Neg
            | Arithmetic::Abs
            | Arithmetic::Exp
            | Arithmetic::ExpMinusOne
            | Arithmetic::Log
            | Arithmetic::LogOnePlus
            | Arithmetic::Sqrt
            | Arithmetic::InverseSqrt
            | Arithmetic::Reciprocal
            | Arithmetic::Sigmoid
            | Arithmetic::Silu
            | Arithmetic::HyperbolicSine
            | Arithmetic::HyperbolicCosine
            | Arithmetic::HyperbolicTangent
            | Arithmetic::Sine
            | Arithmetic::Cosine
            | Arithmetic::LogSigmoid
            | Arithmetic::Softplus
            | Arithmetic::Relu
            | Arithmetic::Elu
            | Arithmetic::LeakyRelu
            | Arithmetic::HardSigmoid
            | Arithmetic::HardSwish
            | Arithmetic::AddQuotient
            | Arithmetic::Power
            | Arithmetic::Clamp
            | Arithmetic::Cast
            | Arithmetic::Mul
            | Arithmetic::Div
            | Arithmetic::Max
            | Arithmetic::Min
            | Arithmetic::AddProduct
            | Arithmetic::AddScaled
            | Arithmetic::Between
            | Arithmetic::Fused
            | Arithmetic::And
            | Arithmetic::Or
            | Arithmetic::Not
            | Arithmetic::Select
            | Arithmetic::Other,
            _,
        ) => None,
    }
}

/// Whether no element of a formula reaches the limits of a `clamp`.
fn unlimited(a: &Affine, call: &Call, ty: &TensorType) -> bool {
    let Some((low, high)) = range(a, &ty.shape) else { return false };
    let inside = |name: &str, end: i64, wrong: Ordering| {
        let bound = call.given(name).then(|| call.number(name, ty.dtype));
        bound.is_none_or(|bound| bound.is_some_and(|b| Number::Int(end).compare(b) != Some(wrong)))
    };
    inside("min", low, Ordering::Less) && inside("max", high, Ordering::Greater)
}
