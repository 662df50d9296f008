//! Which operands could give a wanted result, for operators that read or write at places that another operand holds.

use super::operand_synthesis::{OperandSynthesis, tensor};
use crate::ir::{AttrValue, DType, Ints, Shape, TensorType};

/// Random places lie in 0..=3: a dim that is read or written by them has at least as many entries.
const PLACES: usize = 4;

pub(super) fn index(w: &mut OperandSynthesis<'_, '_>) -> Option<Vec<TensorType>> {
    let dim = only_dim(w, 1, |_| true)?;
    let mut from = w.ty.clone();
    let few = PLACES + w.generator.random.below(2);
    let count = std::mem::replace(&mut from.shape[dim], w.generator.rows(few));
    Some(vec![from, tensor(DType::I64, Shape::from_slice(&[count]))])
}

pub(super) fn put(w: &mut OperandSynthesis<'_, '_>) -> Option<Vec<TensorType>> {
    let dim = only_dim(w, 2, |size| size >= PLACES)?;
    let count = known_places(w, 2).unwrap_or_else(|| w.generator.size());
    let mut written = w.ty.clone();
    written.shape[dim] = count;
    Some(vec![w.ty.clone(), written, tensor(DType::I64, Shape::from_slice(&[count]))])
}

pub(super) fn add_slices(w: &mut OperandSynthesis<'_, '_>) -> Option<Vec<TensorType>> {
    let dim = written_dim(w)?;
    let count = known_places(w, 1).unwrap_or_else(|| w.generator.size());
    let mut source = w.ty.clone();
    source.shape[dim] = count;
    Some(vec![w.ty.clone(), tensor(DType::I64, Shape::from_slice(&[count])), source])
}

/// How often, in percent, places cover a part of what is written to, or less than what is written.
pub(super) const PARTIAL: usize = 30;

pub(super) fn scatter(w: &mut OperandSynthesis<'_, '_>) -> Option<Vec<TensorType>> {
    let dim = written_dim(w)?;
    let known = |w: &OperandSynthesis<'_, '_>, operand: usize| {
        w.known.get(operand).and_then(Option::as_ref).map(|ty| ty.shape.clone())
    };
    let (known_places, known_source) = (known(w, 1), known(w, 2));
    let places = known_places.or_else(|| known_source.clone()).unwrap_or_else(|| {
        let mut shape = w.ty.shape.clone();
        let is_partial = w.generator.random.chance(PARTIAL);
        for (d, size) in shape.iter_mut().enumerate() {
            if d == dim {
                *size = w.generator.size();
            } else if is_partial && *size > 1 {
                *size = 1 + w.generator.random.below(*size);
            }
        }
        shape
    });
    let source = known_source.unwrap_or_else(|| {
        let mut shape = places.clone();
        if w.generator.random.chance(PARTIAL) {
            shape.iter_mut().for_each(|size| *size += w.generator.random.below(3));
        }
        shape
    });
    Some(vec![w.ty.clone(), tensor(DType::I64, places), tensor(w.ty.dtype, source)])
}

/// The attribute `dim`: as it is fixed, or one along which all random places lie.
fn written_dim(w: &mut OperandSynthesis<'_, '_>) -> Option<usize> {
    let rank = w.ty.rank();
    let fits: Vec<usize> = (0..rank).filter(|&d| w.ty.shape[d] >= PLACES).collect();
    let dim = match w.fixed("dim", Some(rank)).and_then(|d| d.as_int()) {
        Some(dim) => usize::try_from(dim).ok().filter(|d| fits.contains(d))?,
        None => w.generator.random.pick(&fits)?,
    };
    w.set("dim", rank, AttrValue::Int(dim as i64))?;
    Some(dim)
}

/// The only entry of the attribute `dims`: as it is fixed, or one whose size fits. The only index tensor is operand `first`.
fn only_dim(w: &mut OperandSynthesis<'_, '_>, first: usize, fits: impl Fn(usize) -> bool) -> Option<usize> {
    let rank = w.ty.rank();
    if w.known.len() != first + 1 {
        return None;
    }
    let fits: Vec<usize> = (0..rank).filter(|&d| fits(w.ty.shape[d])).collect();
    let dim = match w.fixed("dims", Some(rank)) {
        Some(AttrValue::Ints(dims)) => match dims[..] {
            [dim] => usize::try_from(dim).ok().filter(|d| fits.contains(d))?,
            _ => return None,
        },
        _ => w.generator.random.pick(&fits)?,
    };
    w.set("dims", rank, AttrValue::Ints(Ints::from_slice(&[dim as i64])))?;
    Some(dim)
}

/// How many places an operand that is a vector holds, if it is known.
fn known_places(w: &OperandSynthesis<'_, '_>, operand: usize) -> Option<usize> {
    w.known.get(operand)?.as_ref().filter(|t| t.rank() == 1).map(|t| t.shape[0])
}
