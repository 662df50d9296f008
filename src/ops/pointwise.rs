//! Operators that compute each output element from the elements at the same place: what they share.
//!
//! Operands of one call have one element type: front ends make promotion explicit with `cast`.

use super::shapes::broadcast_index;
use super::work::TRANSCENDENTAL_FLOPS;
use super::{
    Arithmetic, Call, Elements, EvalError, Family, Fetch, FetchReal, Launch, LayoutRule, OpDef, TypeError, Types, Work,
    one,
};
use crate::ir::Number;

/// The element of an operand that belongs to the output's element at `index`.
pub(super) fn read(call: &Call, operand: usize, index: &[usize], fetch: &mut Fetch) -> Result<Number, EvalError> {
    fetch(operand, &broadcast_index(&call.operands[operand].shape, index))
}

/// As [`read`], of a real number.
pub(super) fn read_real(call: &Call, operand: usize, index: &[usize], fetch: &mut FetchReal) -> Result<f64, EvalError> {
    fetch(operand, &broadcast_index(&call.operands[operand].shape, index))
}

/// The type rule of operators that take every element type.
pub(super) fn same(call: &Call) -> Result<Types, TypeError> {
    let dtype = call.same_dtype(0..call.operands.len())?;
    call.output(dtype, call.broadcast(0..call.operands.len())?)
}

/// As [`same`], for floats.
pub(super) fn floats(call: &Call) -> Result<Types, TypeError> {
    call.want_float()?;
    same(call)
}

/// As [`same`], for all but bools.
pub(super) fn numbers(call: &Call) -> Result<Types, TypeError> {
    call.refuse_bool()?;
    same(call)
}

/// What all of them have in common.
pub(super) const ELEMENTWISE: OpDef = OpDef {
    family: Family::Elementwise,
    elements: Elements::Placewise(Arithmetic::Other),
    infer: same,
    layout: LayoutRule::Elementwise,
    launch: Launch::Elementwise,
    work: Work::per_output::<1>,
    ..OpDef::PLAIN
};

/// A function of one number.
pub(super) const UNARY: OpDef = OpDef { operands: &[one("x")], infer: numbers, ..ELEMENTWISE };

/// A transcendental function of one real number.
pub(super) const TRANSCENDENTAL: OpDef =
    OpDef { infer: floats, work: Work::per_output::<TRANSCENDENTAL_FLOPS>, ..UNARY };

/// A function of two operands.
pub(super) const BINARY: OpDef = OpDef { operands: &[one("x"), one("y")], ..ELEMENTWISE };

/// A kernel of two operands: `$kernel` is a variant of `Kernel` for one element.
macro_rules! binary {
    ($kernel:ident, |$x:ident, $y:ident| $value:expr) => {
        crate::ops::Kernel::$kernel(|call, _, index, fetch| {
            let $x = crate::ops::pointwise::read(call, 0, index, fetch)?;
            let $y = crate::ops::pointwise::read(call, 1, index, fetch)?;
            Ok($value)
        })
    };
}
