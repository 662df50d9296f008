//! Sequences and optionals whose length is known when the file is read.

use std::rc::Rc;

use super::operator::{Operator, standard};
use crate::frontend::builder::{Refusal, int};
use crate::frontend::onnx::held::{Constant, Held};
use crate::frontend::onnx::lowering::{Lowered, NodeLowering, one};
use crate::ir::{DType, Number, TensorType};

pub(super) const OPERATORS: &[Operator] = &[
    standard("SequenceConstruct", &[11], |s| Ok(Some(vec![list(s.inputs.iter().flatten().cloned().collect())]))),
    standard("SequenceEmpty", &[11], |_| Ok(Some(vec![list(Vec::new())]))),
    standard("SequenceLength", &[11], length),
    standard("SequenceAt", &[11], at),
    standard("SequenceInsert", &[11], insert),
    standard("SequenceErase", &[11], erase),
    standard("SplitToSequence", &[11, 24], split),
    standard("ConcatFromSequence", &[11], concat),
    standard("Optional", &[15], |s| Ok(Some(vec![s.held(0).cloned().unwrap_or(Held::Nothing)]))),
    standard("OptionalHasElement", &[15, 18, 28], has_element),
    standard("OptionalGetElement", &[15, 18, 28], |s| match s.held(0) {
        Some(Held::Nothing) | None => Err(Refusal::new("takes what an empty optional holds")),
        Some(held) => Ok(Some(vec![held.clone()])),
    }),
];

fn list(all: Vec<Held>) -> Held {
    Held::List(Rc::new(all))
}

fn length(s: &mut NodeLowering) -> Lowered {
    let count = Number::Int(s.sequence(0)?.len() as i64);
    Ok(Some(vec![Constant::held(s.name, TensorType::scalar(DType::I64), vec![count])]))
}

fn has_element(s: &mut NodeLowering) -> Lowered {
    let has = !matches!(s.held(0), None | Some(Held::Nothing));
    Ok(Some(vec![Constant::held(s.name, TensorType::scalar(DType::Bool), vec![has.into()])]))
}

/// A place in a sequence of `count` entries; the end counts if `end`.
fn place(s: &NodeLowering, i: usize, count: usize, end: bool) -> Result<Option<usize>, Refusal> {
    let Some(at) = s.fixed_int(i)? else { return Ok(None) };
    let from_front = if at < 0 { at + count as i64 } else { at };
    let place = usize::try_from(from_front).ok().filter(|&p| p < count || end && p == count);
    place.map(Some).ok_or_else(|| Refusal::new(format!("names place {at} of a sequence of {count}")))
}

fn at(s: &mut NodeLowering) -> Lowered {
    let all = s.sequence(0)?;
    let place = place(s, 1, all.len(), false)?.ok_or_else(|| Refusal::new("needs a place"))?;
    Ok(Some(vec![all[place].clone()]))
}

fn insert(s: &mut NodeLowering) -> Lowered {
    let mut all = s.sequence(0)?.as_ref().clone();
    let entry = s.held(1).cloned().ok_or_else(|| Refusal::new("needs a tensor"))?;
    let place = place(s, 2, all.len(), true)?.unwrap_or(all.len());
    all.insert(place, entry);
    Ok(Some(vec![list(all)]))
}

fn erase(s: &mut NodeLowering) -> Lowered {
    let mut all = s.sequence(0)?.as_ref().clone();
    let Some(last) = all.len().checked_sub(1) else { return Err(Refusal::new("erases from an empty sequence")) };
    let place = place(s, 1, all.len(), false)?.unwrap_or(last);
    all.remove(place);
    Ok(Some(vec![list(all)]))
}

fn split(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let axis = s.int("axis", 0)?;
    let dim = s.dim(x, axis)?;
    let size = s.size(x, dim as usize);
    let given = s.fixed(1)?;
    let sizes = match &given {
        None => vec![1; size as usize],
        Some(c) if c.ty.rank() == 0 => {
            let part = c.number().and_then(Number::to_i64).filter(|&n| n > 0);
            let part = part.ok_or_else(|| Refusal::new("needs a size above 0"))?;
            (0..(size + part - 1) / part).map(|i| part.min(size - i * part)).collect()
        }
        Some(c) => c.ints().ok_or_else(|| Refusal::new("needs sizes"))?,
    };
    let squeezes = given.is_none() && s.int("keepdims", 1)? == 0;
    let mut parts = Vec::new();
    let mut start = 0;
    for part in sizes {
        let mut value = s.slice(x, dim, start, start + part)?;
        if squeezes {
            value = s.op("squeeze", &[("dim", int(dim))], &[value])?;
        }
        parts.push(value.into());
        start += part;
    }
    Ok(Some(vec![list(parts)]))
}

fn concat(s: &mut NodeLowering) -> Lowered {
    let all = s.sequence(0)?;
    let mut parts = Vec::new();
    for held in all.iter() {
        parts.push(s.sink.value(held)?);
    }
    let first = *parts.first().ok_or_else(|| Refusal::new("joins an empty sequence"))?;
    let axis = s.maybe_int("axis")?.ok_or_else(|| Refusal::new("needs the attribute `axis`"))?;
    if s.int("new_axis", 0)? == 0 {
        let dim = s.dim(first, axis)?;
        return one(s.concat(&parts, dim)?);
    }
    let rank = s.rank(first) + 1;
    let dim = crate::ops::shapes::normalize_dim(axis, rank)
        .ok_or_else(|| Refusal::new(format!("has no dimension {axis}")))? as i64;
    for part in &mut parts {
        *part = s.op("unsqueeze", &[("dim", int(dim))], &[*part])?;
    }
    one(s.concat(&parts, dim)?)
}
