//! Normalisation.

use super::operator::{Operator, standard};
use crate::frontend::builder::{Refusal, int, ints};
use crate::frontend::onnx::lowering::{Lowered, NodeLowering, one};
use crate::ir::{AttrValue, DType, Value};

pub(super) const OPERATORS: &[Operator] = &[
    standard("LayerNormalization", &[1, 17], layer_norm),
    standard("RMSNormalization", &[23], rms_norm),
    standard("SimplifiedLayerNormalization", &[1], rms_norm),
    standard("GroupNormalization", &[18, 21], group_norm),
    standard("InstanceNormalization", &[1, 6, 22], instance_norm),
    standard("BatchNormalization", &[1, 6, 7, 9, 14, 15], batch_norm),
    standard("LpNormalization", &[1, 22], lp_norm),
    standard("MeanVarianceNormalization", &[9, 13], mean_variance_norm),
    standard("LRN", &[1, 13], local_response_norm),
];

/// The type in which the statistics of normalisation are computed, where it is not that of the operand.
fn stash(s: &NodeLowering, x: Value) -> Result<Option<DType>, Refusal> {
    let dtype = if s.has("stash_type") { s.maybe_dtype("stash_type")? } else { Some(DType::F32) };
    // Kernels compute those of narrow types in f32 themselves; doubles are not narrowed.
    Ok(dtype.filter(|&d| d == DType::F64 && s.dtype(x) != d))
}

/// Whether statistics are to be computed in a type that does not hold every element: no operator of the table does.
fn narrows(s: &NodeLowering, x: Value) -> Result<bool, Refusal> {
    let stated = if s.has("stash_type") { s.maybe_dtype("stash_type")? } else { None };
    let own = s.dtype(x);
    // Doubles are not narrowed to what is the default.
    let is_default = |stated: DType| own == DType::F64 && stated == DType::F32;
    Ok(stated.is_some_and(|stated| !own.widens_to(stated) && !is_default(stated)))
}

fn from_axis(s: &mut NodeLowering, x: Value) -> Result<(Vec<i64>, i64), Refusal> {
    let axis = s.int("axis", -1)?;
    let axis = s.dim(x, axis)?;
    Ok((s.shape(x)[axis as usize..].iter().map(|&d| d as i64).collect(), axis))
}

/// A scale or shift for all dimensions from some axis on, which may be smaller.
fn over(s: &mut NodeLowering, weight: Option<Value>, shape: &[i64]) -> Result<Option<Value>, Refusal> {
    weight.map(|w| s.expand(w, shape)).transpose()
}

/// A result in the type of the operand.
fn finish(s: &mut NodeLowering, y: Value, dtype: DType) -> Result<Value, Refusal> {
    s.cast(y, dtype)
}

fn layer_norm(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    if narrows(s, x)? {
        return Ok(None);
    }
    let dtype = s.dtype(x);
    let (shape, axis) = from_axis(s, x)?;
    let (scale, shift) = (s.maybe(1)?, s.maybe(2)?);
    let eps = s.float("epsilon", 1e-5, dtype)?;
    let wide = match stash(s, x)? {
        Some(wide) => s.cast(x, wide)?,
        None => x,
    };
    let attrs = [("normalized_shape", ints(&shape)), ("eps", AttrValue::float(eps))];
    let own = s.dtype(wide);
    let (scale, shift) = (over(s, scale, &shape)?, over(s, shift, &shape)?);
    let y = if own == dtype && (scale.is_some() || shift.is_none()) {
        let operands: Vec<Value> = [Some(x), scale, shift].into_iter().flatten().collect();
        s.op("layer_norm", &attrs, &operands)?
    } else {
        let normal = s.op("layer_norm", &attrs, &[wide])?;
        let mut y = finish(s, normal, dtype)?;
        if let Some(scale) = scale {
            y = s.binary("mul", y, scale)?;
        }
        match shift {
            Some(shift) => s.binary("add", y, shift)?,
            None => y,
        }
    };
    let mut outputs = vec![y.into()];
    if s.wants(1) || s.wants(2) {
        let [mean, factor] = statistics(s, x, axis, eps)?;
        outputs.extend([mean.into(), factor.into()]);
    }
    Ok(Some(outputs))
}

/// Mean and `1 / sqrt(variance + eps)` over the dimensions from `axis` on, in f32.
pub(super) fn statistics(s: &mut NodeLowering, x: Value, axis: i64, eps: f64) -> Result<[Value; 2], Refusal> {
    let wide = if s.dtype(x) == DType::F64 { DType::F64 } else { DType::F32 };
    let wide = s.cast(x, wide)?;
    let dims: Vec<i64> = (axis..s.rank(x) as i64).collect();
    let mean = s.reduce("mean", wide, &dims, true)?;
    let attrs = [("dim", ints(&dims)), ("keepdim", AttrValue::Bool(true)), ("correction", AttrValue::float(0.0))];
    let variance = s.op("var", &attrs, &[wide])?;
    let above = s.with("add", variance, eps)?;
    Ok([mean, s.unary("rsqrt", above)?])
}

fn rms_norm(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    if narrows(s, x)? {
        return Ok(None);
    }
    let dtype = s.dtype(x);
    let (shape, _) = from_axis(s, x)?;
    let eps = s.float("epsilon", 1e-5, dtype)?;
    let scale = s.maybe(1)?;
    let attrs = [("normalized_shape", ints(&shape)), ("eps", AttrValue::float(eps))];
    if s.wants(1) {
        return Ok(None);
    }
    let scale = over(s, scale, &shape)?;
    match (stash(s, x)?, scale) {
        (None, Some(scale)) if s.dtype(scale) == dtype => s.done("rms_norm", &attrs, &[x, scale]),
        (wide, scale) => {
            let wide = s.cast(x, wide.unwrap_or(dtype))?;
            let normal = s.op("rms_norm", &attrs, &[wide])?;
            match scale {
                None => one(finish(s, normal, dtype)?),
                Some(scale) => {
                    let own = s.dtype(scale);
                    let normal = finish(s, normal, own)?;
                    one(s.binary("mul", normal, scale)?)
                }
            }
        }
    }
}

/// A number per channel, with sizes of 1 for the other dimensions of a tensor of rank `rank`.
pub(super) fn per_channel(s: &mut NodeLowering, x: Value, rank: usize, dim: i64) -> Result<Value, Refusal> {
    let count = s.ty(x).numel() as i64;
    let sizes: Vec<i64> = (0..rank as i64).map(|d| if d == dim { count } else { 1 }).collect();
    s.reshape(x, &sizes)
}

/// Up to version 18, scale and shift are per group.
fn group_norm(s: &mut NodeLowering) -> Lowered {
    let (x, mut scale, mut shift) = (s.x(0)?, s.x(1)?, s.x(2)?);
    if narrows(s, x)? {
        return Ok(None);
    }
    let dtype = s.dtype(x);
    let groups = s.maybe_int("num_groups")?.ok_or_else(|| Refusal::new("needs the attribute `num_groups`"))?;
    let eps = s.float("epsilon", 1e-5, dtype)?;
    let channels = s.size(x, 1);
    if s.version < 21 {
        if groups <= 0 || channels % groups != 0 || s.size(scale, 0) != groups || s.size(shift, 0) != groups {
            return Err(Refusal::new(format!("cuts {channels} channels into {groups} groups with {}", s.ty(scale))));
        }
        for weight in [&mut scale, &mut shift] {
            let column = s.reshape(*weight, &[groups, 1])?;
            let repeated = s.expand(column, &[groups, channels / groups])?;
            *weight = s.reshape(repeated, &[channels])?;
        }
    }
    let attrs = [("groups", int(groups)), ("eps", AttrValue::float(eps))];
    s.done("group_norm", &attrs, &[x, scale, shift])
}

fn instance_norm(s: &mut NodeLowering) -> Lowered {
    let operands = [s.x(0)?, s.x(1)?, s.x(2)?];
    let eps = s.float("epsilon", 1e-5, s.dtype(operands[0]))?;
    let attrs = [("groups", int(s.size(operands[0], 1))), ("eps", AttrValue::float(eps))];
    s.done("group_norm", &attrs, &operands)
}

fn batch_norm(s: &mut NodeLowering) -> Lowered {
    let (x, scale, shift, mean, variance) = (s.x(0)?, s.x(1)?, s.x(2)?, s.x(3)?, s.x(4)?);
    let dtype = s.dtype(x);
    let eps = s.float("epsilon", 1e-5, dtype)?;
    // Before version 14, more than one output asked for training; before version 9, `spatial` could ask for statistics of
    // every single feature.
    if s.int("spatial", 1)? == 0 && s.rank(x) > 2 || (s.version < 14 && (1..5).any(|i| s.wants(i))) {
        return Ok(None);
    }
    let attrs = [("eps", AttrValue::float(eps))];
    if !s.flag("training_mode")? {
        let mut operands = [x, mean, variance, scale, shift];
        // Statistics may be in a wider type.
        for operand in &mut operands[1..] {
            *operand = s.cast(*operand, dtype)?;
        }
        return s.done("batch_norm", &attrs, &operands);
    }
    let rank = s.rank(x);
    let dims: Vec<i64> = (0..rank as i64).filter(|&d| d != 1).collect();
    let batch_mean = s.reduce("mean", x, &dims, false)?;
    let of = [("dim", ints(&dims)), ("correction", AttrValue::float(0.0))];
    let batch_variance = s.op("var", &of, &[x])?;
    let y = s.op("batch_norm", &attrs, &[x, batch_mean, batch_variance, scale, shift])?;
    let momentum = s.float("momentum", 0.9, dtype)?;
    let mut outputs = vec![y.into()];
    for (running, now) in [(mean, batch_mean), (variance, batch_variance)] {
        let own = s.dtype(running);
        let now = s.cast(now, own)?;
        let (old, new) = (s.with("mul", running, momentum)?, s.with("mul", now, 1.0 - momentum)?);
        outputs.push(s.binary("add", old, new)?.into());
    }
    Ok(Some(outputs))
}

/// Lines divided by their length; lines of length 0 stay.
fn lp_norm(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let axis = s.int("axis", -1)?;
    let dim = s.dim(x, axis)?;
    let attrs =
        [("ord", AttrValue::float(s.int("p", 2)? as f64)), ("dim", ints(&[dim])), ("keepdim", AttrValue::Bool(true))];
    let length = s.op("vector_norm", &attrs, &[x])?;
    let (empty, zero) = (s.with("eq", length, 0.0)?, s.number(0.0, x)?);
    let quotient = s.binary("div", x, length)?;
    s.done("where", &[], &[empty, zero, quotient])
}

fn mean_variance_norm(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let axes = s.int_list("axes")?.unwrap_or_else(|| vec![0, 2, 3]);
    let dims = s.dims(x, &axes)?;
    let mean = s.reduce("mean", x, &dims, true)?;
    let square = s.binary("mul", x, x)?;
    let squares = s.reduce("mean", square, &dims, true)?;
    let square_of_mean = s.binary("mul", mean, mean)?;
    let variance = s.binary("sub", squares, square_of_mean)?;
    let deviation = s.unary("sqrt", variance)?;
    let away = s.binary("sub", x, mean)?;
    let below = s.with("add", deviation, 1e-9)?;
    s.done("div", &[], &[away, below])
}

/// Numbers divided by a power of the squares around them along the channels.
fn local_response_norm(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let dtype = s.dtype(x);
    let (alpha, beta, bias) =
        (s.float("alpha", 0.0001, dtype)?, s.float("beta", 0.75, dtype)?, s.float("bias", 1.0, dtype)?);
    let size = s.int("size", 0)?;
    if size <= 0 || s.rank(x) < 2 {
        return Err(Refusal::new(format!("sums over {size} channels of {}", s.ty(x))));
    }
    let square = s.binary("mul", x, x)?;
    let mut pad = vec![0; 2 * s.rank(x)];
    (pad[2], pad[3]) = ((size - 1) / 2, size / 2);
    let padded = s.op("pad", &[("pad", ints(&pad)), ("value", AttrValue::float(0.0))], &[square])?;
    let windows = s.op("unfold", &[("dim", int(1)), ("size", int(size)), ("step", int(1))], &[padded])?;
    let last = s.rank(windows) as i64 - 1;
    let sums = s.reduce("sum", windows, &[last], false)?;
    let scaled = s.with("mul", sums, alpha / size as f64)?;
    let base = s.with("add", scaled, bias)?;
    let divisor = s.op("pow", &[("exponent", AttrValue::float(beta))], &[base])?;
    s.done("div", &[], &[x, divisor])
}
