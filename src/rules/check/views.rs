//! Which operands could give a wanted result, for operators that move elements.

use super::generator::Style;
use super::operand_synthesis::{OperandSynthesis, tensor};
use crate::ir::{AttrValue, DType, Ints, Shape, TensorType};

/// An operand of the wanted element type.
fn of_shape(w: &OperandSynthesis<'_, '_>, shape: Shape) -> TensorType {
    tensor(w.ty.dtype, shape)
}

/// The operand, if it is fixed already.
fn known(w: &OperandSynthesis<'_, '_>) -> Option<TensorType> {
    w.known.first().cloned().flatten()
}

pub(super) fn reshape(w: &mut OperandSynthesis<'_, '_>) -> Option<TensorType> {
    let shape = w.ty.shape.clone();
    w.set("shape", shape.len(), AttrValue::shape(&shape))?;
    let from = known(w).map_or_else(|| rearranged(w, &shape), |t| t.shape);
    Some(of_shape(w, from))
}

pub(super) fn expand(w: &mut OperandSynthesis<'_, '_>) -> Option<TensorType> {
    let shape = w.ty.shape.clone();
    w.set("shape", shape.len(), AttrValue::shape(&shape))?;
    let from = known(w).map_or_else(|| w.narrower(), |t| t.shape);
    Some(of_shape(w, from))
}

pub(super) fn permute(w: &mut OperandSynthesis<'_, '_>) -> Option<TensorType> {
    let rank = w.ty.rank();
    let dims: Ints = match w.fixed("dims", Some(rank)) {
        Some(AttrValue::Ints(dims)) => dims,
        _ => w.generator.random.shuffled(rank).into_iter().map(|d| d as i64).collect(),
    };
    w.set("dims", rank, AttrValue::Ints(dims.clone()))?;
    let inverse = crate::ops::shapes::inverse_permutation(&dims).filter(|p| p.len() == rank)?;
    Some(of_shape(w, inverse.iter().map(|&d| w.ty.shape[d as usize]).collect()))
}

pub(super) fn unsqueeze(w: &mut OperandSynthesis<'_, '_>) -> Option<TensorType> {
    let mut from = w.ty.shape.clone();
    let ones: Vec<usize> = (0..from.len()).filter(|&d| from[d] == 1).collect();
    from.remove(chosen_dim(w, &ones)?);
    Some(of_shape(w, from))
}

pub(super) fn squeeze(w: &mut OperandSynthesis<'_, '_>) -> Option<TensorType> {
    let dims: Vec<usize> = (0..=w.ty.rank()).collect();
    let dim = chosen_dim(w, &dims)?;
    let mut from = w.ty.shape.clone();
    from.insert(dim, 1);
    Some(of_shape(w, from))
}

pub(super) fn repeat_heads(w: &mut OperandSynthesis<'_, '_>) -> Option<TensorType> {
    let mut from = w.ty.shape.clone();
    let heads = *from.get(1)?;
    from[1] = heads / divisor(w, "times", heads)?;
    Some(of_shape(w, from))
}

pub(super) fn repeat_entries(w: &mut OperandSynthesis<'_, '_>) -> Option<TensorType> {
    let dims: Vec<usize> = (0..w.ty.rank()).collect();
    let dim = chosen_dim(w, &dims)?;
    let mut from = w.ty.shape.clone();
    from[dim] = match w.fixed("repeats", None).and_then(|t| t.as_int()) {
        // Repeating nothing, or anything 0 times, gives nothing.
        None if from[dim] == 0 && w.generator.random.chance(30) => {
            w.set("repeats", 0, AttrValue::Int(0))?;
            w.generator.size()
        }
        _ => from[dim] / divisor(w, "repeats", from[dim])?,
    };
    Some(of_shape(w, from))
}

/// The operand of a reduction to the place of an element, which drops a dim or keeps it with one entry.
pub(super) fn reduced_to_place(w: &mut OperandSynthesis<'_, '_>) -> Option<Vec<TensorType>> {
    let (mut from, rank) = (w.ty.shape.clone(), w.ty.rank());
    let keep = match w.fixed("keepdim", None).and_then(|k| k.as_bool()) {
        Some(keep) => keep,
        None => w.generator.random.chance(30),
    };
    let dims: Vec<usize> = if keep { (0..rank).filter(|&d| from[d] == 1).collect() } else { (0..=rank).collect() };
    let dim = chosen_dim(w, &dims)?;
    w.set("keepdim", rank, AttrValue::Bool(keep))?;
    let size = w.generator.size();
    if keep {
        from[dim] = size;
    } else {
        from.insert(dim, size);
    }
    let dtype = w.operand_dtype();
    (w.ty.dtype == DType::I64).then(|| vec![tensor(dtype, from)])
}

/// The attribute `dim`: as it is fixed, or one of `dims`.
fn chosen_dim(w: &mut OperandSynthesis<'_, '_>, dims: &[usize]) -> Option<usize> {
    let rank = w.known.first().cloned().flatten().map_or(w.ty.rank(), |t| t.rank());
    let dim = match w.fixed("dim", Some(rank)).and_then(|d| d.as_int()) {
        Some(d) => usize::try_from(d).ok()?,
        None => w.generator.random.pick(dims)?,
    };
    w.set("dim", rank, AttrValue::Int(dim as i64))?;
    dims.contains(&dim).then_some(dim)
}

fn divisor(w: &mut OperandSynthesis<'_, '_>, name: &str, size: usize) -> Option<usize> {
    let times = match w.fixed(name, None).and_then(|t| t.as_int()) {
        Some(t) => usize::try_from(t).ok()?,
        None => {
            let divisors: Vec<usize> = (1..=size.max(3)).filter(|d| size.is_multiple_of(*d)).collect();
            match w.generator.style {
                Style::Named | Style::Extreme if w.generator.random.chance(50) => *divisors.last()?,
                _ => w.generator.random.pick(&divisors)?,
            }
        }
    };
    w.set(name, 0, AttrValue::Int(times as i64))?;
    (times > 0 && size.is_multiple_of(times)).then_some(times)
}

/// Another shape with as many elements: dims joined, split, inserted, dropped or exchanged.
fn rearranged(w: &mut OperandSynthesis<'_, '_>, shape: &Shape) -> Shape {
    let mut from = shape.clone();
    if from.contains(&0) {
        without_elements(w, &mut from);
        return from;
    }
    let random = &mut w.generator.random;
    for _ in 0..1 + random.below(3) {
        match random.below(5) {
            0 | 1 if from.len() >= 2 => {
                let d = random.below(from.len() - 1);
                from[d] *= from[d + 1];
                from.remove(d + 1);
            }
            2 if !from.is_empty() => {
                let d = random.below(from.len());
                let divisors: Vec<usize> = (1..=from[d]).filter(|n| from[d].is_multiple_of(*n)).collect();
                let part = random.pick(&divisors).unwrap_or(1);
                from[d] /= part;
                from.insert(d, part);
            }
            3 => from.insert(random.below(from.len() + 1), 1),
            _ => {
                if let Some(d) = from.iter().position(|&d| d == 1) {
                    from.remove(d);
                }
            }
        }
    }
    from
}

/// Another shape without elements: beside an empty dim, the others have any size.
fn without_elements(w: &mut OperandSynthesis<'_, '_>, shape: &mut Shape) {
    for _ in 0..1 + w.generator.random.below(3) {
        let (d, size) = (w.generator.random.below(shape.len()), w.generator.size());
        let others = shape.iter().enumerate().any(|(i, &size)| i != d && size == 0);
        match w.generator.random.below(3) {
            0 if others => {
                shape.remove(d);
            }
            1 if others || shape[d] != 0 => shape[d] = size,
            _ => shape.insert(d, size),
        }
    }
}

pub(super) fn slice(w: &mut OperandSynthesis<'_, '_>) -> Option<TensorType> {
    let known = known(w);
    let shape = w.ty.shape.clone();
    let rank = shape.len();
    let int = |w: &OperandSynthesis<'_, '_>, name: &str| w.fixed(name, None).and_then(|v| v.as_int());
    // With the operand known, the dim whose size differs is the one to cut.
    let dim = match (w.fixed("dim", Some(rank)).and_then(|d| d.as_int()), &known) {
        (Some(d), _) => usize::try_from(d).ok()?,
        (None, Some(t)) if t.rank() == rank => {
            let cut = (0..rank).find(|&d| t.shape[d] != shape[d]);
            cut.unwrap_or_else(|| w.generator.random.below(rank))
        }
        _ => w.generator.random.below(rank),
    };
    let out = *shape.get(dim)?;
    let step = int(w, "step").unwrap_or_else(|| w.generator.count(|random| 1 + random.below(2) as i64)).max(1);
    let size_known = known.as_ref().and_then(|t| t.shape.get(dim).copied());
    let covered = ((out.max(1) - 1) as i64).checked_mul(step)?.checked_add(1)?;
    let end_known = int(w, "end");
    let start = match (int(w, "start"), size_known, end_known) {
        (Some(start), _, _) => start,
        (None, _, Some(end)) => end.checked_sub(covered)?,
        (None, Some(size), None) => w.generator.random.below((size as i64 - covered + 1).max(1) as usize) as i64,
        (None, None, None) => w.generator.count(|random| random.below(3) as i64).max(0),
    };
    let end = match end_known {
        Some(end) => end,
        None => start.checked_add(covered)?,
    };
    w.set("dim", rank, AttrValue::Int(dim as i64))?;
    w.set("start", rank, AttrValue::Int(start))?;
    w.set("end", rank, AttrValue::Int(end))?;
    w.set("step", rank, AttrValue::Int(step))?;
    let size = match size_known {
        Some(size) => size,
        None => usize::try_from(end).ok()?.checked_add(w.generator.random.below(3))?,
    };
    let mut from = shape;
    from[dim] = size;
    Some(of_shape(w, from))
}

pub(super) fn split(w: &mut OperandSynthesis<'_, '_>) -> Option<TensorType> {
    let rank = w.ty.rank();
    let dims: Vec<usize> = (0..rank).collect();
    let dim = chosen_dim(w, &dims)?;
    let mut sizes: Vec<usize> = (0..=w.slot + w.generator.random.below(2)).map(|_| w.generator.size()).collect();
    sizes[w.slot] = w.ty.shape[dim];
    w.set("sizes", rank, AttrValue::shape(&sizes))?;
    let mut from = w.ty.shape.clone();
    from[dim] = sizes.iter().sum();
    Some(of_shape(w, from))
}

pub(super) fn concat(w: &mut OperandSynthesis<'_, '_>) -> Option<Vec<TensorType>> {
    let rank = w.ty.rank();
    let dims: Vec<usize> = (0..rank).collect();
    let dim = chosen_dim(w, &dims)?;
    let mut left = w.ty.shape[dim];
    let mut types = Vec::new();
    for i in 0..w.known.len() {
        let size = match &w.known[i] {
            Some(t) => *t.shape.get(dim)?,
            None if i + 1 == w.known.len() => left,
            None => w.generator.random.below(left + 1),
        };
        left = left.checked_sub(size)?;
        let mut ty = w.ty.clone();
        ty.shape[dim] = size;
        types.push(ty);
    }
    (left == 0).then_some(types)
}
