//! Which operand could give a wanted result, for operators that put elements in other places.

use super::operand_synthesis::OperandSynthesis;
use crate::ir::{AttrValue, DType, Ints, Shape, TensorType};

pub(super) fn flip(w: &mut OperandSynthesis<'_, '_>) -> Option<TensorType> {
    some_dims(w)?;
    Some(w.ty.clone())
}

pub(super) fn roll(w: &mut OperandSynthesis<'_, '_>) -> Option<TensorType> {
    let dims = some_dims(w)?;
    let shifts: Ints = match w.fixed("shifts", None) {
        Some(AttrValue::Ints(shifts)) => shifts,
        _ => dims.iter().map(|_| w.generator.count(|random| random.below(6) as i64 - 2)).collect(),
    };
    w.set("shifts", w.ty.rank(), AttrValue::Ints(shifts))?;
    Some(w.ty.clone())
}

pub(super) fn select(w: &mut OperandSynthesis<'_, '_>) -> Option<Vec<TensorType>> {
    let rank = w.ty.rank();
    let dim = match w.fixed("dim", Some(rank)).and_then(|d| d.as_int()) {
        Some(dim) => usize::try_from(dim).ok().filter(|&d| d < rank)?,
        None => w.generator.random.below(rank),
    };
    w.set("dim", rank, AttrValue::Int(dim as i64))?;
    let mut from = w.ty.clone();
    let places = std::mem::replace(from.shape.get_mut(dim)?, 4 + w.generator.random.below(2));
    Some(vec![from, TensorType { dtype: DType::I64, shape: Shape::from_slice(&[places]) }])
}

/// Random integers lie in 0..=3.
pub(super) fn classes(w: &mut OperandSynthesis<'_, '_>) -> Option<Vec<TensorType>> {
    let shape = w.ty.shape.clone();
    let (&classes, rest) = shape.split_last()?;
    w.set("num_classes", rest.len(), AttrValue::Int(classes as i64))?;
    let fits = w.ty.dtype == DType::I64 && classes >= 4;
    fits.then(|| vec![TensorType { dtype: DType::I64, shape: Shape::from_slice(rest) }])
}

/// The attribute `dims`: as it is fixed, or some dims in any order.
fn some_dims(w: &mut OperandSynthesis<'_, '_>) -> Option<Ints> {
    let rank = w.ty.rank();
    let dims: Ints = match w.fixed("dims", Some(rank)) {
        Some(AttrValue::Ints(dims)) => dims,
        _ => {
            let mut dims = w.generator.random.shuffled(rank);
            dims.truncate(1 + w.generator.random.below(rank));
            dims.into_iter().map(|d| d as i64).collect()
        }
    };
    w.set("dims", rank, AttrValue::Ints(dims.clone()))?;
    Some(dims)
}

pub(super) fn pad(w: &mut OperandSynthesis<'_, '_>) -> Option<Vec<TensorType>> {
    let rank = w.ty.rank();
    let pad: Ints = match w.fixed("pad", None) {
        Some(AttrValue::Ints(pad)) => pad,
        _ => (0..2 * rank).map(|_| w.generator.count(|random| [0, 0, 1, 2, -1][random.below(5)])).collect(),
    };
    w.set("pad", rank, AttrValue::Ints(pad.clone()))?;
    let mut from = w.ty.clone();
    for (d, size) in from.shape.iter_mut().enumerate() {
        let around = pad.get(2 * d)?.checked_add(*pad.get(2 * d + 1)?)?;
        *size = usize::try_from((*size as i64).checked_sub(around)?).ok()?;
    }
    Some(vec![from])
}
