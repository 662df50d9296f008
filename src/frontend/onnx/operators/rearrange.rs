//! Operators that cut, join, repeat and reorder tensors.

use super::operator::{Operator, standard};
use crate::frontend::builder::{Refusal, int, ints};
use crate::frontend::onnx::lowering::{Lowered, NodeLowering, one};
use crate::ir::{AttrValue, DType, Value};

pub(super) const OPERATORS: &[Operator] = &[
    standard("Slice", &[1, 10, 11, 13], slice),
    standard("Split", &[1, 2, 11, 13, 18], split),
    standard("Concat", &[1, 4, 11, 13], concat),
    standard("Tile", &[1, 6, 13], tile),
    standard("Pad", &[1, 2, 11, 13, 18, 19, 21, 23, 24, 25], pad),
    standard("CenterCropPad", &[18], center_crop_pad),
    standard("DepthToSpace", &[1, 11, 13, 28], depth_to_space),
    standard("SpaceToDepth", &[1, 13, 28], space_to_depth),
    standard("Trilu", &[14], trilu),
    standard("ReverseSequence", &[10, 28], reverse_sequence),
];

fn slice(s: &mut NodeLowering) -> Lowered {
    let mut x = s.x(0)?;
    let list = |s: &NodeLowering, name: &str, i: usize| s.list(name, i, 10);
    let needed = |name: &str| Refusal::new(format!("needs `{name}`"));
    let starts = list(s, "starts", 1)?.ok_or_else(|| needed("starts"))?;
    let ends = list(s, "ends", 2)?.ok_or_else(|| needed("ends"))?;
    let axes = list(s, "axes", 3)?.unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = if s.version < 10 { None } else { s.fixed_ints(4)? }.unwrap_or_else(|| vec![1; starts.len()]);
    if [ends.len(), axes.len(), steps.len()].iter().any(|&n| n != starts.len()) {
        return Err(Refusal::new("has lists of unequal length"));
    }
    let axes = s.dims(x, &axes)?;
    for (((&start, &end), &dim), &step) in starts.iter().zip(&ends).zip(&axes).zip(&steps) {
        let size = s.size(x, dim as usize);
        let place = |at: i64| if at < 0 { at.saturating_add(size) } else { at };
        // The same elements upwards, and whether they are wanted in reverse.
        let (low, high, turned) = match step {
            1.. => {
                let (start, end) = (place(start).clamp(0, size), place(end).clamp(0, size));
                (start, end.max(start), false)
            }
            0 | i64::MIN => return Err(Refusal::new(format!("takes the step {step}"))),
            _ => {
                // From a place down to, not including, another.
                let (start, end) = (place(start).clamp(-1, size - 1), place(end).clamp(-1, size - 1));
                let count = if start > end { (start - end - 1) / -step + 1 } else { 0 };
                if count == 0 { (0, 0, false) } else { (start + (count - 1) * step, start + 1, true) }
            }
        };
        if (low, high, step) == (0, size, 1) {
            continue;
        }
        let attrs = [("dim", int(dim)), ("start", int(low)), ("end", int(high)), ("step", int(step.abs()))];
        x = s.op("slice", &attrs, &[x])?;
        if turned {
            x = s.op("flip", &[("dims", ints(&[dim]))], &[x])?;
        }
    }
    one(x)
}

fn split(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let axis = s.int("axis", 0)?;
    let dim = s.dim(x, axis)?;
    let size = s.size(x, dim as usize);
    let sizes = match s.list("split", 1, 13)? {
        Some(sizes) => sizes,
        None => {
            let count = s.int("num_outputs", s.node.output.len() as i64)?;
            if !(1..=1 << 16).contains(&count) {
                return Err(Refusal::new(format!("cuts a tensor into {count} parts")));
            }
            // The last part is smaller where they cannot be equal.
            let part = (size + count - 1) / count;
            (0..count).map(|i| (size - i * part).clamp(0, part)).collect()
        }
    };
    if sizes.len() == 1 && sizes[0] == size {
        return one(x);
    }
    s.done("split", &[("sizes", ints(&sizes)), ("dim", int(dim))], &[x])
}

fn concat(s: &mut NodeLowering) -> Lowered {
    let all = s.all()?;
    let first = *all.first().ok_or_else(|| Refusal::new("needs an input"))?;
    let axis = s.maybe_int("axis")?.ok_or_else(|| Refusal::new("needs the attribute `axis`"))?;
    let dim = s.dim(first, axis)?;
    if all.len() == 1 {
        return one(first);
    }
    s.done("concat", &[("dim", int(dim))], &all)
}

fn tile(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let times = s.fixed_ints(1)?.ok_or_else(|| Refusal::new("needs repeats"))?;
    let rank = s.rank(x);
    if times.len() != rank || times.iter().any(|&n| n < 0) {
        return Err(Refusal::new(format!("repeats {} {times:?} times", s.ty(x))));
    }
    if times.iter().all(|&n| n == 1) {
        return one(x);
    }
    // Every size apart from how often it is repeated.
    let shape: Vec<i64> = s.shape(x).iter().map(|&d| d as i64).collect();
    let apart: Vec<i64> = shape.iter().flat_map(|&d| [1, d]).collect();
    let whole: Vec<i64> = shape.iter().zip(&times).flat_map(|(&d, &n)| [n, d]).collect();
    let joined: Vec<i64> = shape.iter().zip(&times).map(|(&d, &n)| d.saturating_mul(n)).collect();
    if apart.len() > crate::ir::MAX_RANK {
        return Ok(None);
    }
    let x = s.reshape(x, &apart)?;
    let x = s.expand(x, &whole)?;
    one(s.reshape(x, &joined)?)
}

/// Low and high sizes for every dimension, from low sizes for some and then high sizes.
fn interleaved(s: &mut NodeLowering, x: Value, pads: &[i64], axes: Option<&[i64]>) -> Result<Vec<i64>, Refusal> {
    let rank = s.rank(x);
    let axes: Vec<i64> = match axes {
        Some(axes) => s.dims(x, axes)?,
        None => (0..rank as i64).collect(),
    };
    if pads.len() != 2 * axes.len() {
        return Err(Refusal::new(format!("pads {} dimensions by {} sizes", axes.len(), pads.len())));
    }
    let mut all = vec![0; 2 * rank];
    let (low, high) = pads.split_at(axes.len());
    for ((&dim, &low), &high) in axes.iter().zip(low).zip(high) {
        let dim = dim as usize;
        (all[2 * dim], all[2 * dim + 1]) = (low, high);
    }
    Ok(all)
}

fn pad(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let pads = s.list("pads", 1, 11)?.ok_or_else(|| Refusal::new("needs `pads`"))?;
    let axes = if s.version >= 18 { s.fixed_ints(3)? } else { None };
    let pads = interleaved(s, x, &pads, axes.as_deref())?;
    let dtype = s.dtype(x);
    let mode = s.text("mode", "constant")?;
    if mode == "constant" {
        let value = if s.version < 11 {
            AttrValue::float(s.float("value", 0.0, dtype)?)
        } else {
            match s.has_input(2) {
                false if dtype.is_float() => AttrValue::float(0.0),
                false => AttrValue::Int(0),
                true => match s.constant(2)?.and_then(|c| c.number()) {
                    Some(number) => number.into(),
                    None => return padded_with(s, x, &pads),
                },
            }
        };
        return s.done("pad", &[("pad", ints(&pads)), ("value", value)], &[x]);
    }
    let mode = match mode {
        "reflect" => "reflect",
        "edge" => "replicate",
        "wrap" => "circular",
        other => return Err(Refusal::new(format!("pads in the mode {other:?}"))),
    };
    // Negative sizes crop first.
    let mut y = x;
    for d in 0..s.rank(x) {
        let (low, high) = ((-pads[2 * d]).max(0), (-pads[2 * d + 1]).max(0));
        let size = s.size(y, d);
        if low + high > 0 {
            y = s.slice(y, d as i64, low.min(size), (size - high).max(low.min(size)))?;
        }
    }
    one(from_within(s, y, &pads, mode)?)
}

/// Elements of a tensor around it: by the operator for that, as far as it goes, else picked by their places, one dimension after another.
fn from_within(s: &mut NodeLowering, mut y: Value, pads: &[i64], mode: &str) -> Result<Value, Refusal> {
    if let Some(sizes) = edges(s, y, pads, mode) {
        return s.op("pad_edges", &[("pad", ints(&sizes)), ("mode", AttrValue::str(mode))], &[y]);
    }
    for d in 0..s.rank(y) {
        let (low, high, size) = (pads[2 * d].max(0), pads[2 * d + 1].max(0), s.size(y, d));
        if low + high == 0 {
            continue;
        }
        if size == 0 || low.saturating_add(high) > 1 << 24 {
            return Err(Refusal::new("pads a dimension that is empty, or by too much"));
        }
        let place = |at: i64| match mode {
            "replicate" => at.clamp(0, size - 1),
            "circular" => at.rem_euclid(size),
            _ => {
                let period = (2 * (size - 1)).max(1);
                let at = at.rem_euclid(period);
                if at < size { at } else { period - at }
            }
        };
        let places: Vec<i64> = (-low..size + high).map(place).collect();
        y = picked(s, y, d as i64, &places)?;
    }
    Ok(y)
}

/// The sizes for the operator that pads images and their like, if it does: all dimensions behind the channels, or behind the batch.
fn edges(s: &NodeLowering, y: Value, pads: &[i64], mode: &str) -> Option<Vec<i64>> {
    let rank = s.rank(y);
    let first = (0..rank).find(|d| pads[2 * d].max(pads[2 * d + 1]) > 0)?.min(2);
    let fits = |d: usize| {
        let (low, high, size) = (pads[2 * d].max(0), pads[2 * d + 1].max(0), s.size(y, d));
        match mode {
            "reflect" => low < size && high < size,
            "circular" => low <= size && high <= size,
            _ => size > 0,
        }
    };
    let most = pads.iter().all(|&p| p <= 1 << 24);
    let taken = first > 0 && (first + 1..=first + 3).contains(&rank) && s.dtype(y).is_float() && s.ty(y).numel() > 0;
    (taken && most && (first..rank).all(fits)).then(|| pads[2 * first..].iter().map(|&p| p.max(0)).collect())
}

/// The entries of a dimension at some places.
pub(super) fn picked(s: &mut NodeLowering, x: Value, dim: i64, places: &[i64]) -> Result<Value, Refusal> {
    let ty = crate::frontend::onnx::tensor::tensor_type(DType::I64, [places.len()].into_iter().collect())?;
    let places = s.literal("places", ty, places.iter().map(|&p| p.into()).collect())?;
    s.op("index_select", &[("dim", int(dim))], &[x, places])
}

/// Padding with a number that is known only when the model runs.
fn padded_with(s: &mut NodeLowering, x: Value, pads: &[i64]) -> Lowered {
    let value = s.x(2)?;
    let value = s.reshape(value, &[])?;
    let shape: Vec<i64> = s.shape(x).iter().map(|&d| d as i64).collect();
    let whole = s.full(&shape, true, DType::Bool)?;
    let inside = s.op("pad", &[("pad", ints(pads)), ("value", AttrValue::Int(0))], &[whole])?;
    let y = s.op("pad", &[("pad", ints(pads))], &[x])?;
    s.done("where", &[], &[inside, y, value])
}

fn center_crop_pad(s: &mut NodeLowering) -> Lowered {
    let mut x = s.x(0)?;
    let wanted = s.fixed_ints(1)?.ok_or_else(|| Refusal::new("needs a shape"))?;
    let axes = s.int_list("axes")?.unwrap_or_else(|| (0..s.rank(x) as i64).collect());
    let axes = s.dims(x, &axes)?;
    if axes.len() != wanted.len() {
        return Err(Refusal::new("has lists of unequal length"));
    }
    let mut pads = vec![0; 2 * s.rank(x)];
    for (&dim, &to) in axes.iter().zip(&wanted) {
        let size = s.size(x, dim as usize);
        if to < size {
            let start = (size - to) / 2;
            x = s.slice(x, dim, start, start + to.max(0))?;
        } else {
            let more = to - size;
            (pads[2 * dim as usize], pads[2 * dim as usize + 1]) = (more / 2, more - more / 2);
        }
    }
    if pads.iter().all(|&p| p == 0) {
        return one(x);
    }
    s.done("pad", &[("pad", ints(&pads))], &[x])
}

fn blocks(s: &mut NodeLowering, x: Value) -> Result<([i64; 4], i64), Refusal> {
    let [n, c, h, w] = s.shape(x)[..] else { return Err(Refusal::new(format!("takes images, not {}", s.ty(x)))) };
    let size = s.int("blocksize", 0)?;
    if size <= 0 {
        return Err(Refusal::new(format!("takes blocks of size {size}")));
    }
    Ok(([n, c, h, w].map(|d| d as i64), size))
}

fn depth_to_space(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let ([n, c, h, w], b) = blocks(s, x)?;
    if c % (b * b) != 0 {
        return Err(Refusal::new(format!("cuts {c} channels into blocks of {b} by {b}")));
    }
    let depth = c / (b * b);
    let (sizes, dims) = match s.text("mode", "DCR")? {
        "DCR" => ([n, b, b, depth, h, w], [0, 3, 4, 1, 5, 2]),
        "CRD" => ([n, depth, b, b, h, w], [0, 1, 4, 2, 5, 3]),
        other => return Err(Refusal::new(format!("has the mode {other:?}"))),
    };
    let apart = s.reshape(x, &sizes)?;
    let turned = s.permute(apart, &dims)?;
    one(s.reshape(turned, &[n, depth, h * b, w * b])?)
}

fn space_to_depth(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let ([n, c, h, w], b) = blocks(s, x)?;
    if h % b != 0 || w % b != 0 {
        return Err(Refusal::new(format!("cuts {} into blocks of {b} by {b}", s.ty(x))));
    }
    let apart = s.reshape(x, &[n, c, h / b, b, w / b, b])?;
    let dims = match s.text("mode", "DCR")? {
        "DCR" => [0, 3, 5, 1, 2, 4],
        "CRD" => [0, 1, 3, 5, 2, 4],
        other => return Err(Refusal::new(format!("has the mode {other:?}"))),
    };
    let turned = s.permute(apart, &dims)?;
    one(s.reshape(turned, &[n, c * b * b, h / b, w / b])?)
}

fn trilu(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let diagonal = s.fixed_int(1)?.unwrap_or(0);
    let op = if s.int("upper", 1)? != 0 { "triu" } else { "tril" };
    s.done(op, &[("diagonal", int(diagonal))], &[x])
}

/// The first elements of every sequence in reverse, as many as it has.
fn reverse_sequence(s: &mut NodeLowering) -> Lowered {
    let (x, lengths) = (s.x(0)?, s.x(1)?);
    let (batch, time) = (s.int("batch_axis", 1)?, s.int("time_axis", 0)?);
    let (batch, time) = (s.dim(x, batch)?, s.dim(x, time)?);
    let rank = s.rank(x) as i64;
    let (count, steps) = (s.size(x, batch as usize), s.size(x, time as usize));
    let along = |dim: i64, size: i64| -> Vec<i64> { (0..rank).map(|d| if d == dim { size } else { 1 }).collect() };
    let lengths = s.cast(lengths, DType::I64)?;
    let lengths = s.reshape(lengths, &along(batch, count))?;
    let places = s.positions(steps)?;
    let places = s.reshape(places, &along(time, steps))?;
    let last = s.with("sub", lengths, 1)?;
    let mirrored = s.binary("sub", last, places)?;
    let inside = s.binary("lt", places, lengths)?;
    let from = s.op("where", &[], &[inside, mirrored, places])?;
    let all: Vec<i64> = s.shape(x).iter().map(|&d| d as i64).collect();
    let from = s.expand(from, &all)?;
    s.done("gather", &[("dim", int(time))], &[x, from])
}
