//! Operators that read and write by position.

use super::operator::{Operator, standard};
use crate::frontend::builder::{Refusal, int, ints};
use crate::frontend::onnx::lowering::{Lowered, NodeLowering, one};
use crate::frontend::onnx::tensor;
use crate::ir::{AttrValue, DType, Value};

pub(super) const OPERATORS: &[Operator] = &[
    standard("Gather", &[1, 11, 13], gather),
    standard("GatherElements", &[11, 13], gather_elements),
    standard("GatherND", &[11, 12, 13], gather_nd),
    standard("Scatter", &[9, 11], scatter_elements),
    standard("ScatterElements", &[11, 13, 16, 18], scatter_elements),
    standard("ScatterND", &[11, 13, 16, 18], scatter_nd),
    standard("TensorScatter", &[24], tensor_scatter),
    standard("OneHot", &[9, 11, 28], one_hot),
    standard("NonZero", &[9, 13], non_zero),
    standard("Compress", &[9, 11, 28], compress),
];

/// Places in a dimension of `size` entries as `i64`. Negative ones count from the end; where it is certain that there are
/// none, nothing is added.
fn places(s: &mut NodeLowering, i: usize, size: i64) -> Result<Value, Refusal> {
    let known = s.constant(i)?.and_then(|c| c.ints());
    let index = s.x(i)?;
    let index = s.cast(index, DType::I64)?;
    if known.is_some_and(|all| all.iter().all(|&n| n >= 0)) {
        return Ok(index);
    }
    from_front(s, index, size)
}

fn from_front(s: &mut NodeLowering, index: Value, size: i64) -> Result<Value, Refusal> {
    let below = s.with("lt", index, 0)?;
    let moved = s.with("add", index, size)?;
    s.op("where", &[], &[below, moved, index])
}

fn gather(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let axis = s.int("axis", 0)?;
    let dim = s.dim(x, axis)?;
    // Indices that are given by the user are places of words and such; the op table's `index` counts negative ones from the
    // end, as `Gather` does.
    let index = s.x(1)?;
    let known = s.constant(1)?.and_then(|c| c.ints());
    if let Some([place]) = known.as_deref()
        && s.rank(index) == 0
    {
        let size = s.size(x, dim as usize);
        let place = if *place < 0 { place + size } else { *place };
        if !(0..size).contains(&place) {
            return Err(Refusal::new(format!("reads place {place} of {size}")));
        }
        let row = s.slice(x, dim, place, place + 1)?;
        return s.done("squeeze", &[("dim", int(dim))], &[row]);
    }
    let index = s.cast(index, DType::I64)?;
    if dim == 0 && s.rank(x) == 2 && s.dtype(x).is_float() && known.is_none_or(|all| all.iter().all(|&n| n >= 0)) {
        return s.done("embedding", &[], &[x, index]);
    }
    s.done("index", &[("dims", ints(&[dim]))], &[x, index])
}

fn gather_elements(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let axis = s.int("axis", 0)?;
    let dim = s.dim(x, axis)?;
    let size = s.size(x, dim as usize);
    let index = places(s, 1, size)?;
    s.done("gather", &[("dim", int(dim))], &[x, index])
}

/// The columns of the last dimension of an index tensor, behind `batch` dimensions that are their own places. Of a constant, each
/// is one: what exporters write as a table of places is a count along a dimension, column by column.
fn columns(s: &mut NodeLowering, input: usize, batch: usize) -> Result<Vec<Value>, Refusal> {
    let known = s.constant(input)?;
    let index = s.x(input)?;
    let shape = s.shape(index);
    let Some((&count, outer)) = shape.split_last() else {
        return Err(Refusal::new("takes no tensor of rank 0 as indices"));
    };
    let last = outer.len();
    let mut all = Vec::new();
    for d in 0..batch {
        let size = s.size(index, d);
        let own = s.positions(size)?;
        let sizes: Vec<i64> = (0..last).map(|e| if e == d { size } else { 1 }).collect();
        all.push(s.reshape(own, &sizes)?);
    }
    if let Some(known) = known {
        let ty = tensor::tensor_type(DType::I64, outer.into())?;
        for at in 0..count {
            let column = known.data.iter().skip(at).step_by(count).copied().collect();
            all.push(s.literal(&format!("column.{at}"), ty.clone(), column)?);
        }
        return Ok(all);
    }
    let index = s.cast(index, DType::I64)?;
    for at in 0..count as i64 {
        let column = s.slice(index, last as i64, at, at + 1)?;
        all.push(s.op("squeeze", &[("dim", int(last as i64))], &[column])?);
    }
    Ok(all)
}

fn gather_nd(s: &mut NodeLowering) -> Lowered {
    let (x, index) = (s.x(0)?, s.x(1)?);
    let batch = usize::try_from(s.int("batch_dims", 0)?).unwrap_or(usize::MAX);
    if batch >= s.rank(index).min(s.rank(x)) {
        return Err(Refusal::new(format!("has {batch} batch dimensions")));
    }
    let all = columns(s, 1, batch)?;
    if all.is_empty() {
        return Ok(None);
    }
    let dims: Vec<i64> = (0..all.len() as i64).collect();
    s.done("index", &[("dims", ints(&dims))], &[&[x], &all[..]].concat())
}

/// What is done with several elements in one place, and with what was there.
fn reduction<'m>(s: &NodeLowering<'_, 'm>) -> Result<&'m str, Refusal> {
    if s.version < 16 { Ok("none") } else { s.text("reduction", "none") }
}

fn scatter_elements(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let axis = s.int("axis", 0)?;
    let dim = s.dim(x, axis)?;
    let size = s.size(x, dim as usize);
    let index = places(s, 1, size)?;
    let source = s.x(2)?;
    match reduction(s)? {
        "none" => s.done("scatter", &[("dim", int(dim))], &[x, index, source]),
        "add" => s.done("scatter_add", &[("dim", int(dim))], &[x, index, source]),
        kind @ ("mul" | "max" | "min") => {
            // As places in all dimensions.
            let shape = s.shape(index);
            if shape.len() != s.rank(x) {
                return Err(Refusal::new("takes places of another rank than its data"));
            }
            let mut all = Vec::new();
            for d in 0..s.rank(x) {
                if d as i64 == dim {
                    all.push(s.reshape(index, &[s.ty(index).numel() as i64])?);
                    continue;
                }
                let own = s.positions(shape[d] as i64)?;
                let sizes: Vec<i64> = (0..shape.len()).map(|e| if e == d { shape[d] as i64 } else { 1 }).collect();
                let own = s.reshape(own, &sizes)?;
                let whole: Vec<i64> = shape.iter().map(|&n| n as i64).collect();
                let own = s.expand(own, &whole)?;
                all.push(s.reshape(own, &[s.ty(own).numel() as i64])?);
            }
            let source = s.reshape(source, &[s.ty(source).numel() as i64])?;
            one(combined(s, x, &all, source, kind)?)
        }
        other => Err(Refusal::new(format!("reduces by {other:?}"))),
    }
}

/// The most slices that are combined with a tensor one after another.
const MOST_COMBINED: i64 = 256;

/// A tensor with slices combined with what stands in their places, one after another. All index columns have rank 1.
fn combined(s: &mut NodeLowering, x: Value, index: &[Value], source: Value, kind: &str) -> Result<Value, Refusal> {
    let op = match kind {
        "mul" => "mul",
        "max" => "maximum",
        _ => "minimum",
    };
    let count = s.size(source, 0);
    if count > MOST_COMBINED {
        return Err(Refusal::new(format!("combines {count} slices with a tensor by {kind:?}, which is not supported")));
    }
    let dims: Vec<i64> = (0..index.len() as i64).collect();
    let mut y = x;
    for at in 0..count {
        let mut place = Vec::new();
        for &column in index {
            place.push(s.slice(column, 0, at, at + 1)?);
        }
        let part = s.slice(source, 0, at, at + 1)?;
        let old = s.op("index", &[("dims", ints(&dims))], &[&[y], &place[..]].concat())?;
        let new = s.binary(op, old, part)?;
        y = s.op("index_put", &[("dims", ints(&dims))], &[&[y, new], &place[..]].concat())?;
    }
    Ok(y)
}

fn scatter_nd(s: &mut NodeLowering) -> Lowered {
    let (x, source) = (s.x(0)?, s.x(2)?);
    let all = columns(s, 1, 0)?;
    if all.is_empty() {
        return Ok(None);
    }
    let dims: Vec<i64> = (0..all.len() as i64).collect();
    let kind = reduction(s)?;
    match kind {
        "none" | "add" => {
            let attrs = [("dims", ints(&dims)), ("accumulate", AttrValue::Bool(kind == "add"))];
            s.done("index_put", &attrs, &[&[x, source], &all[..]].concat())
        }
        "mul" | "max" | "min" => {
            let rank = s.rank(all[0]);
            let count = s.ty(all[0]).numel() as i64;
            let mut flat = Vec::new();
            for &column in &all {
                flat.push(s.reshape(column, &[count])?);
            }
            let shape = s.shape(source);
            let inner =
                shape.get(rank..).ok_or_else(|| Refusal::new("has fewer dimensions of updates than of places"))?;
            let sizes: Vec<i64> = [count].into_iter().chain(inner.iter().map(|&d| d as i64)).collect();
            let source = s.reshape(source, &sizes)?;
            one(combined(s, x, &flat, source, kind)?)
        }
        other => Err(Refusal::new(format!("reduces by {other:?}"))),
    }
}

/// A cache with new entries written into it, from a place per batch on.
fn tensor_scatter(s: &mut NodeLowering) -> Lowered {
    let (cache, update) = (s.x(0)?, s.x(1)?);
    let axis = s.int("axis", -2)?;
    let dim = s.dim(cache, axis)?;
    let rank = s.rank(cache) as i64;
    let (length, steps, batch) = (s.size(cache, dim as usize), s.size(update, dim as usize), s.size(cache, 0));
    let along = |d: i64, size: i64| -> Vec<i64> { (0..rank).map(|e| if e == d { size } else { 1 }).collect() };
    let places = s.positions(steps)?;
    let mut at = s.reshape(places, &along(dim, steps))?;
    if let Some(starts) = s.maybe(2)? {
        let starts = s.cast(starts, DType::I64)?;
        let starts = s.reshape(starts, &along(0, batch))?;
        at = s.binary("add", at, starts)?;
    }
    if s.text("mode", "linear")? == "circular" {
        at = s.with("remainder", at, length)?;
    }
    let whole: Vec<i64> = s.shape(update).iter().map(|&d| d as i64).collect();
    let at = s.expand(at, &whole)?;
    s.done("scatter", &[("dim", int(dim))], &[cache, at, update])
}

/// One of two values, by whether a place is the one that an index names. Indices out of range name none.
fn one_hot(s: &mut NodeLowering) -> Lowered {
    let index = s.x(0)?;
    let depth = s.fixed_int(1)?.ok_or_else(|| Refusal::new("needs a depth"))?;
    let values = s.x(2)?;
    let rank = s.rank(index) as i64 + 1;
    let axis = s.int("axis", -1)?;
    let dim = crate::ops::shapes::normalize_dim(axis, rank as usize)
        .ok_or_else(|| Refusal::new(format!("has no dimension {axis}")))? as i64;
    let index = s.cast(index, DType::I64)?;
    let index = from_front(s, index, depth)?;
    let index = s.op("unsqueeze", &[("dim", int(dim))], &[index])?;
    let sizes: Vec<i64> = (0..rank).map(|d| if d == dim { depth } else { 1 }).collect();
    tensor::shape(&sizes)?;
    let places = s.positions(depth)?;
    let places = s.reshape(places, &sizes)?;
    let hit = s.binary("eq", index, places)?;
    let part = |s: &mut NodeLowering, at: i64| {
        let entry = s.slice(values, 0, at, at + 1)?;
        s.op("squeeze", &[("dim", int(0))], &[entry])
    };
    let (off, on) = (part(s, 0)?, part(s, 1)?);
    s.done("where", &[], &[hit, on, off])
}

/// Where a tensor is not 0: known for constants only.
fn non_zero(s: &mut NodeLowering) -> Lowered {
    let constant = s.fixed(0)?.ok_or_else(|| Refusal::new("needs a tensor"))?;
    let shape = &constant.ty.shape;
    let hits: Vec<usize> = (0..constant.data.len()).filter(|&i| constant.data[i].is_true()).collect();
    let rank = shape.len().max(1);
    let indices: Vec<_> = hits.iter().map(|&flat| crate::ir::unflatten(shape, flat)).collect();
    let data =
        (0..rank).flat_map(|d| indices.iter().map(move |index| (index.get(d).copied().unwrap_or(0) as i64).into()));
    let ty = tensor::tensor_type(DType::I64, [rank, hits.len()].into_iter().collect())?;
    one(s.literal("places", ty, data.collect())?)
}

/// The entries of a dimension for which a condition holds: known for constant conditions only.
fn compress(s: &mut NodeLowering) -> Lowered {
    let mut x = s.x(0)?;
    let condition = s.fixed(1)?.ok_or_else(|| Refusal::new("needs a condition"))?;
    let dim = match s.maybe_int("axis")? {
        Some(axis) => s.dim(x, axis)?,
        None => {
            x = s.reshape(x, &[s.ty(x).numel() as i64])?;
            0
        }
    };
    let kept: Vec<i64> = (0..).zip(condition.data.iter()).filter(|(_, n)| n.is_true()).map(|(i, _)| i).collect();
    one(super::rearrange::picked(s, x, dim, &kept)?)
}
