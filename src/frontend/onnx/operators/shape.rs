//! Constants, shapes as tensors, and views.

use super::operator::{Operator, standard};
use crate::frontend::builder::{Refusal, ints};
use crate::frontend::onnx::held::{Constant, Held, int_list};
use crate::frontend::onnx::lowering::{Lowered, NodeLowering, one};
use crate::frontend::onnx::{proto, tensor};
use crate::ir::{AttrValue, DType, MAX_RANK, Number, TensorType, Value};

pub(super) const OPERATORS: &[Operator] = &[
    standard("Constant", &[1, 9, 11, 12, 13, 19, 21, 23, 24, 25], constant),
    standard("ConstantOfShape", &[9, 20, 21, 23, 24, 25], constant_of_shape),
    standard("Shape", &[1, 13, 15, 19, 21, 23, 24, 25], shape),
    standard("Size", &[1, 13, 19, 21, 23, 24, 25], size),
    standard("Identity", &[1, 13, 14, 16, 19, 21, 23, 24, 25], identity),
    standard("Dropout", &[1, 6, 7, 10, 12, 13, 22], dropout),
    standard("Reshape", &[1, 5, 13, 14, 19, 21, 23, 24, 25], reshape),
    standard("Flatten", &[1, 9, 11, 13, 21, 23, 24, 25], flatten),
    standard("Squeeze", &[1, 11, 13, 21, 23, 24, 25], squeeze),
    standard("Unsqueeze", &[1, 11, 13, 21, 23, 24, 25], unsqueeze),
    standard("Transpose", &[1, 13, 21, 23, 24, 25], transpose),
    standard("Expand", &[8, 13], expand),
    standard("Range", &[11, 27], range),
    standard("EyeLike", &[9, 22], eye_like),
];

/// The tensor that an attribute holds.
fn held(s: &NodeLowering, tensor: &proto::Tensor) -> Result<Option<Held>, Refusal> {
    let ty = tensor::type_of(tensor)?;
    let data = tensor::known(tensor, &ty, s.folder)?;
    Ok(data.map(|data| Constant::held(s.name, ty, data)))
}

fn constant(s: &mut NodeLowering) -> Lowered {
    let listed = |s: &NodeLowering, dtype, data: Vec<Number>| {
        let ty = tensor::tensor_type(dtype, [data.len()].into_iter().collect())?;
        Ok::<_, Refusal>(Constant::held(s.name, ty, data))
    };
    let single = |s: &NodeLowering, dtype, number| Constant::held(s.name, TensorType::scalar(dtype), vec![number]);
    let held = if let Some(tensor) = s.tensor("value") {
        match held(s, tensor)? {
            Some(held) => held,
            None => return Err(Refusal::new("holds a tensor that is too large").help("make it an initializer")),
        }
    } else if let Some(value) = s.maybe_float("value_float")? {
        single(s, DType::F32, Number::float(f64::from(value as f32)))
    } else if let Some(value) = s.maybe_int("value_int")? {
        single(s, DType::I64, Number::Int(value))
    } else if let Some(values) = s.int_list("value_ints")? {
        listed(s, DType::I64, values.into_iter().map(Number::Int).collect())?
    } else if s.has("value_floats") {
        let values = s.float_list("value_floats");
        listed(s, DType::F32, values.into_iter().map(|v| Number::float(f64::from(v as f32))).collect())?
    } else if let Some(sparse) = s.sparse("sparse_value") {
        let (ty, data) = tensor::dense(sparse, s.folder)?;
        Constant::held(s.name, ty, data)
    } else {
        return Err(Refusal::new("holds no number and no tensor"));
    };
    Ok(Some(vec![held]))
}

fn constant_of_shape(s: &mut NodeLowering) -> Lowered {
    let sizes = s.fixed_ints(0)?.ok_or_else(|| Refusal::new("needs a shape"))?;
    tensor::shape(&sizes)?;
    let (value, dtype) = match s.tensor("value") {
        None => (Number::float(0.0), DType::F32),
        Some(tensor) => match held(s, tensor)? {
            Some(Held::Constant(c)) if c.data.len() == 1 => (c.data[0], c.ty.dtype),
            _ => return Err(Refusal::new("takes one number as `value`")),
        },
    };
    one(s.full(&sizes, value, dtype)?)
}

fn shape(s: &mut NodeLowering) -> Lowered {
    let ty = s.held(0).and_then(|held| s.sink.ty(held)).ok_or_else(|| Refusal::new("needs a tensor"))?;
    let rank = ty.rank() as i64;
    let place = |at: i64| (if at < 0 { at + rank } else { at }).clamp(0, rank) as usize;
    let (start, end) = (place(s.int("start", 0)?), place(s.int("end", rank)?));
    let sizes: Vec<i64> = ty.shape.iter().map(|&d| d as i64).collect();
    Ok(Some(vec![int_list(s.name, sizes.get(start..end).unwrap_or(&[]))?]))
}

fn size(s: &mut NodeLowering) -> Lowered {
    let ty = s.held(0).and_then(|held| s.sink.ty(held)).ok_or_else(|| Refusal::new("needs a tensor"))?;
    let count = Number::Int(ty.numel() as i64);
    Ok(Some(vec![Constant::held(s.name, TensorType::scalar(DType::I64), vec![count])]))
}

fn identity(s: &mut NodeLowering) -> Lowered {
    Ok(Some(vec![s.held(0).cloned().ok_or_else(|| Refusal::new("needs an input"))?]))
}

/// The identity, but in training.
fn dropout(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let ratio = match s.version >= 12 {
        true => s.constant(1)?.and_then(|c| c.number()).map_or(0.5, Number::to_f64),
        false => s.float("ratio", 0.5, DType::F32)?,
    };
    if s.version >= 12 && s.has_input(2) && ratio != 0.0 {
        match s.constant(2)?.and_then(|c| c.number()) {
            Some(training) if !training.is_true() => {}
            _ => return Ok(None),
        }
    }
    let y = s.op("dropout", &[("p", AttrValue::float(ratio))], &[x])?;
    let mut outputs = vec![y.into()];
    if s.wants(1) {
        let sizes: Vec<i64> = s.shape(x).iter().map(|&d| d as i64).collect();
        outputs.push(s.full(&sizes, true, DType::Bool)?.into());
    }
    Ok(Some(outputs))
}

fn reshape(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let wanted = s.fixed_ints(1)?.ok_or_else(|| Refusal::new("needs a shape"))?;
    let keeps_zero = s.flag("allowzero")?;
    let mut sizes = Vec::with_capacity(wanted.len());
    for (d, &size) in wanted.iter().enumerate() {
        // 0 stands for the size that was there.
        sizes.push(if size == 0 && !keeps_zero {
            if d >= s.rank(x) {
                return Err(Refusal::new(format!("copies size {d} of {}", s.ty(x))));
            }
            s.size(x, d)
        } else {
            size
        });
    }
    let known = sizes.iter().filter(|&&d| d != -1).try_fold(1_i64, |n, &d| n.checked_mul(d));
    let numel = s.ty(x).numel() as i64;
    match (sizes.iter().filter(|&&d| d == -1).count(), known) {
        (0, _) => {}
        (1, Some(known)) if known > 0 && numel % known == 0 => {
            sizes.iter_mut().filter(|d| **d == -1).for_each(|d| *d = numel / known);
        }
        _ => return Err(Refusal::new(format!("takes the shape {wanted:?} for {}", s.ty(x)))),
    }
    s.done("reshape", &[("shape", ints(&sizes))], &[x])
}

fn flatten(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let (axis, rank) = (s.int("axis", 1)?, s.rank(x) as i64);
    let at = if axis < 0 { axis + rank } else { axis };
    if !(0..=rank).contains(&at) {
        return Err(Refusal::new(format!("has no dimension {axis} in {}", s.ty(x))));
    }
    let shape = s.shape(x);
    let (front, back) = shape.split_at(at as usize);
    let product = |sizes: &[usize]| sizes.iter().product::<usize>() as i64;
    s.done("reshape", &[("shape", ints(&[product(front), product(back)]))], &[x])
}

fn squeeze(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let shape = s.shape(x);
    let dropped: Vec<i64> = match s.list("axes", 1, 13)? {
        Some(axes) => s.dims(x, &axes)?,
        None => (0..shape.len() as i64).filter(|&d| shape[d as usize] == 1).collect(),
    };
    if let Some(d) = dropped.iter().find(|&&d| shape[d as usize] != 1) {
        return Err(Refusal::new(format!("drops dimension {d} of {}", s.ty(x))));
    }
    let kept: Vec<i64> =
        (0..).zip(&shape).filter(|(d, _)| !dropped.contains(d)).map(|(_, &size)| size as i64).collect();
    s.done("reshape", &[("shape", ints(&kept))], &[x])
}

fn unsqueeze(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let axes = s.list("axes", 1, 13)?.ok_or_else(|| Refusal::new("needs dimensions"))?;
    let rank = s.rank(x) + axes.len();
    if rank > MAX_RANK {
        return Err(Refusal::new(format!("makes {rank} dimensions")));
    }
    let dims = axes.iter().map(|&d| crate::ops::shapes::normalize_dim(d, rank)).collect::<Option<Vec<usize>>>();
    let dims = dims.ok_or_else(|| Refusal::new(format!("has no dimensions {axes:?} in rank {rank}")))?;
    let mut sizes = s.shape(x).into_iter();
    let mut all = Vec::with_capacity(rank);
    for d in 0..rank {
        all.push(if dims.contains(&d) { 1 } else { sizes.next().map_or(1, |size| size as i64) });
    }
    if sizes.next().is_some() {
        return Err(Refusal::new(format!("takes a dimension of {axes:?} twice")));
    }
    s.done("reshape", &[("shape", ints(&all))], &[x])
}

fn transpose(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let rank = s.rank(x) as i64;
    let dims = s.int_list("perm")?.unwrap_or_else(|| (0..rank).rev().collect());
    s.done("permute", &[("dims", ints(&dims))], &[x])
}

/// Unlike the IR's `expand`, sizes of 1 in the shape leave what is there.
fn expand(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let wanted = s.fixed_ints(1)?.ok_or_else(|| Refusal::new("needs a shape"))?;
    let shape = s.shape(x);
    let rank = shape.len().max(wanted.len());
    let at = |d: usize| (d + shape.len()).checked_sub(rank).map(|i| shape[i] as i64);
    let to = |d: usize| (d + wanted.len()).checked_sub(rank).map_or(1, |i| wanted[i]);
    let sizes: Vec<i64> = (0..rank).map(|d| if to(d) == 1 { at(d).unwrap_or(1) } else { to(d) }).collect();
    s.done("expand", &[("shape", ints(&sizes))], &[x])
}

fn range(s: &mut NodeLowering) -> Lowered {
    let mut numbers = Vec::new();
    let mut dtype = DType::I64;
    for i in 0..3 {
        let constant = s.fixed(i)?.ok_or_else(|| Refusal::new(format!("needs input {i}")))?;
        numbers.push(constant.number().ok_or_else(|| Refusal::new(format!("takes one number as input {i}")))?);
        dtype = constant.ty.dtype;
    }
    let attrs = [
        ("start", numbers[0].into()),
        ("end", numbers[1].into()),
        ("step", numbers[2].into()),
        ("dtype", AttrValue::DType(dtype)),
    ];
    s.done("arange", &attrs, &[])
}

/// 1 on one diagonal of a matrix, 0 elsewhere.
fn eye_like(s: &mut NodeLowering) -> Lowered {
    let ty = s.held(0).and_then(|held| s.sink.ty(held)).ok_or_else(|| Refusal::new("needs a matrix"))?;
    let [rows, columns] = ty.shape[..] else { return Err(Refusal::new(format!("takes a matrix, not {ty}"))) };
    let dtype = s.maybe_dtype("dtype")?.unwrap_or(ty.dtype);
    let above = s.int("k", 0)?;
    let (down, right) = (s.positions(rows as i64)?, s.positions(columns as i64)?);
    let down = s.reshape(down, &[rows as i64, 1])?;
    let moved = s.with("add", down, above)?;
    let hit: Value = s.binary("eq", right, moved)?;
    s.done("cast", &[("dtype", AttrValue::DType(dtype))], &[hit])
}
