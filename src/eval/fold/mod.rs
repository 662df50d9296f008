//! Folding of input-independent operators into compact [`Constant`]s.
//!
//! Position ids and masks of real models have millions of elements and yet are simple formulas over their index.
//! Each rule here keeps the formula; what has none is computed element by element if it is small.

mod arithmetic;
mod canonical;
mod condition;
mod formula;
mod moved;
mod region;
mod stored;

pub use canonical::canonical;
pub use stored::stored;

use smallvec::SmallVec;

use self::arithmetic::arithmetic;
use self::formula::{affine, exact, integer};
use self::moved::moved;
use self::region::chosen;
use super::constant::{Affine, Constant};
use crate::ir::{DType, Number, Shape, TensorType, flat_index, unflatten};
use crate::ops::ties::{self, Ties};
use crate::ops::{Call, Elements, EvalError, Fold, Movement, RowFunction};

/// The most elements of a constant that is kept element by element.
pub const DENSE_LIMIT: usize = 1 << 14;

/// The value of an operator over constants.
pub struct Folded {
    pub value: Constant,
    /// Whether it is what PyTorch computes, bit for bit. Otherwise it is near.
    pub exact: bool,
}

/// The value of output `slot`, whose type is `ty`, if all operands are constants and the result has a compact form.
pub fn fold(call: &Call, slot: usize, operands: &[&Constant], ty: &TensorType) -> Option<Folded> {
    // Formulas are arithmetic on integers that their type holds.
    let formula = by_formula(call, slot, operands, ty).map(|value| (value, true));
    let (value, exact) = formula
        .or_else(|| Some((uniform(call, slot, operands, ty)?, call.op.kernel.is_exact(call, ty))))
        .or_else(|| Some((by_place(call, slot, operands, ty)?, call.op.kernel.is_exact(call, ty))))
        .or_else(|| Some((by_element(call, slot, operands, ty)?, call.op.kernel.is_exact(call, ty))))?;
    Some(Folded { value: canonical(value, ty), exact })
}

fn by_formula(call: &Call, slot: usize, operands: &[&Constant], ty: &TensorType) -> Option<Constant> {
    match call.op.fold {
        Fold::Filled => None,
        Fold::Range => arange(call, ty),
        Fold::Differences => differences(call, operands, ty),
        Fold::FromElements => match (call.elements(), operands) {
            (Elements::Placewise(function), _) => arithmetic(function, call, operands, ty),
            (Elements::Moved(_, movement), _) => moved(movement, call, slot, operands, ty),
            (Elements::Lane(RowFunction::RunningSum), [Constant::Uniform(step)]) => running_sum(call, *step, ty),
            _ => None,
        },
    }
}

/// Whether elements that are all the same give elements that are all the same.
fn keeps_uniform(call: &Call) -> bool {
    match call.elements() {
        Elements::Placewise(_) => true,
        Elements::Moved(_, movement) => match movement {
            Movement::Stay
            | Movement::Broadcast
            | Movement::Permute
            | Movement::Reshape
            | Movement::Slice
            | Movement::Split
            | Movement::Repeat
            | Movement::Flip
            | Movement::Pattern => true,
            // Numbers take the place of some elements, each operand has its own element, or some places may not exist.
            Movement::Triangle(_) | Movement::Padded | Movement::Concat | Movement::Index | Movement::Gather => false,
        },
        Elements::Unknown
        | Elements::Lane(_)
        | Elements::Product
        | Elements::Convolution
        | Elements::Attention
        | Elements::OneHot
        | Elements::Weighted(_) => false,
    }
}

/// A function of single elements, applied to uniform operands, is uniform; so is what is filled with a number.
fn uniform(call: &Call, slot: usize, operands: &[&Constant], ty: &TensorType) -> Option<Constant> {
    let alike = || keeps_uniform(call) && operands.iter().all(|c| c.uniform().is_some());
    if call.op.fold != Fold::Filled && !alike() {
        return None;
    }
    let mut fetch = |i: usize, at: &[usize]| -> Result<Number, EvalError> { Ok(operands[i].at(call.operands[i], at)) };
    let at: Shape = SmallVec::from_elem(0, ty.rank());
    let value = call.op.kernel.compute(call, slot, &at, &mut fetch).ok()?[0];
    Some(Constant::Uniform(stored(call, value, ty)?))
}

/// A function of single elements, applied to masks.
fn by_place(call: &Call, slot: usize, operands: &[&Constant], ty: &TensorType) -> Option<Constant> {
    match call.elements() {
        Elements::Placewise(_) => chosen(call, slot, operands, ty),
        _ => None,
    }
}

/// The general way: compute every element, if there are few.
fn by_element(call: &Call, slot: usize, operands: &[&Constant], ty: &TensorType) -> Option<Constant> {
    let numel = ty.numel();
    // Reductions over huge constants are not worth it.
    if numel > DENSE_LIMIT || call.operands.iter().any(|t| t.numel() > DENSE_LIMIT) {
        return None;
    }
    let mut fetch = |i: usize, at: &[usize]| -> Result<Number, EvalError> { Ok(operands[i].at(call.operands[i], at)) };
    let axes = call.op.kernel.axes(call).unwrap_or_default();
    let lane_shape: Shape = axes.iter().map(|&d| ty.shape.get(d).copied()).collect::<Option<_>>()?;
    let mut data = vec![Number::ZERO; numel];
    for flat in 0..numel {
        let mut index = unflatten(&ty.shape, flat);
        if axes.iter().any(|&d| index[d] != 0) {
            continue;
        }
        let values = ties::compute(&call.op.kernel, call, slot, &index, &mut fetch, Ties::Refused).ok()?;
        for (i, value) in values.into_iter().enumerate() {
            for (&d, &at) in axes.iter().zip(&unflatten(&lane_shape, i)) {
                index[d] = at;
            }
            // The element type's rounding is part of a constant's value.
            *data.get_mut(flat_index(&ty.shape, &index))? = stored(call, value, ty)?;
        }
    }
    Some(Constant::Dense(data.into()))
}

fn arange(call: &Call, ty: &TensorType) -> Option<Constant> {
    let number = |name| integer(call.number(name, ty.dtype.accumulator())?);
    let (start, step) = (number("start")?, number("step")?);
    exact(Affine { offset: start, coefficients: SmallVec::from_elem(step, 1) }, ty)
}

/// Sums of a number up to each place.
fn running_sum(call: &Call, step: Number, ty: &TensorType) -> Option<Constant> {
    let step = integer(step)?;
    let mut coefficients: SmallVec<[i64; 4]> = SmallVec::from_elem(0, ty.rank());
    *coefficients.get_mut(call.size("dim"))? = step;
    exact(Affine { offset: step, coefficients }, ty)
}

/// First differences of a formula are its slope; a prepended element must continue it.
fn differences(call: &Call, operands: &[&Constant], ty: &TensorType) -> Option<Constant> {
    let dim = call.size("dim");
    if call.int("n") != 1 || operands.len() > 2 || ty.dtype == DType::Bool {
        return None;
    }
    let x = affine(operands[0], call.operands[0], call.operands[0])?;
    let slope = *x.coefficients.get(dim)?;
    if let Some(prepend) = operands.get(1) {
        let t = call.operands[1];
        let p = affine(prepend, t, t)?;
        // The last prepended element comes one step before the first element of x.
        let same_elsewhere = (0..ty.rank()).all(|d| d == dim || p.coefficients[d] == x.coefficients[d]);
        if t.shape[dim] != 1 || !same_elsewhere || p.offset != x.offset - slope {
            return None;
        }
    }
    Some(Constant::Uniform(ty.dtype.store(Number::Int(slope))?))
}
