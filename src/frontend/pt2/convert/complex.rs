//! Operators on complex numbers. A complex tensor is one of pairs, real and imaginary part in a last dimension, as
//! `view_as_real` shows it and as it lies in memory.

use super::super::argument::Argument;
use super::super::lowering::{Converted, NodeLowering, Refusal, Values, int, ints};
use super::super::target::Target;
use super::complex_parts::{part, slice_of_part};
use super::{complex_products, fourier, pairs, real};
use crate::ir::{AttrValue, DType, Number, Shape, TensorType, Value};
use crate::ops::find;

/// Converts an operator that takes or gives complex numbers.
pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    match arithmetic(site, target)? {
        Some(values) => Ok(Some(values)),
        None => pairs::convert(site, target),
    }
}

/// What computes with both parts together. Few kernels take parts of f16: those stay opaque.
fn arithmetic(site: &mut NodeLowering, target: Target) -> Converted {
    if site.stated(0).is_ok_and(|ty| ty.dtype == DType::F16) {
        return Ok(None);
    }
    let gives_complex = site.output_names().any(|name| site.scope.is_complex(name));
    let makes = ["zeros", "ones", "full"].iter().any(|kind| target.name.contains(kind));
    if !gives_complex && (makes || target.name == "copy") {
        // What is like a complex tensor in its shape alone.
        return if makes { real::convert(site, target) } else { Ok(None) };
    }
    match (target.name, target.overload) {
        ("view_as_complex" | "view_as_real", "") => {
            let x = site.tensor("self")?;
            site.emit("alias", &[], &[x])
        }
        ("real" | "imag", "") if site.argument_is_complex("self") => {
            let (x, at) = (site.tensor("self")?, i64::from(target.name == "imag"));
            let part = slice_of_part(site, x, at)?;
            let last = site.rank(x) as i64 - 1;
            site.emit("squeeze", &[("dim", int(last))], &[part])
        }
        ("isreal", "") => {
            let x = site.tensor("self")?;
            let imaginary = part(site, "imaginary", x, 1)?;
            let dtype = site.dtype(x);
            let zero = site.number("zero", Number::float(0.0), dtype)?;
            site.emit("eq", &[], &[imaginary, zero])
        }
        ("complex" | "polar", "") => {
            let of = if target.name == "polar" { ["abs", "angle"] } else { ["real", "imag"] };
            let result = site.stated(0)?;
            let Some((_, shape)) = result.shape.split_last() else { return Ok(None) };
            let mut operands = [site.tensor(of[0])?, site.tensor(of[1])?];
            for operand in &mut operands {
                *operand = site.cast("part", *operand, result.dtype)?;
                *operand = expanded(site, *operand, shape)?;
            }
            if target.name == "polar" {
                return site.emit("polar", &[], &operands);
            }
            let last = [("dim", int(shape.len() as i64))];
            for operand in &mut operands {
                *operand = site.implicit("part", "unsqueeze", &last, &[*operand])?;
            }
            site.emit("concat", &last, &operands)
        }
        ("mH" | "adjoint" | "matrix_H", "") => {
            let x = site.tensor("self")?;
            let mut dims: Vec<i64> = (0..site.rank(x) as i64).collect();
            // The last dimension is that of the parts.
            let [.., rows, columns, _] = &mut dims[..] else { return Ok(None) };
            std::mem::swap(rows, columns);
            let swapped = site.implicit("swapped", "permute", &[("dims", ints(&dims))], &[x])?;
            let signs = literal(site, [1.0, -1.0], site.dtype(x))?;
            Ok(Some(Values::from_elem(site.implicit("conj", "mul", &[], &[swapped, signs])?, 1)))
        }
        ("conj" | "_conj" | "conj_physical" | "_conj_physical" | "_conj_copy", "") => {
            let x = site.tensor("self")?;
            let signs = literal(site, [1.0, -1.0], site.dtype(x))?;
            match target.name {
                // PyTorch notes that the tensor is to be read so, and runs no kernel.
                "conj" | "_conj" => Ok(Some(Values::from_elem(site.implicit("conj", "mul", &[], &[x, signs])?, 1))),
                _ => site.emit("mul", &[], &[x, signs]),
            }
        }
        ("resolve_conj" | "resolve_neg", "") => {
            let x = site.tensor("self")?;
            site.emit("alias", &[], &[x])
        }
        ("mul" | "multiply", "Tensor" | "Scalar" | "") => of_two(site, "complex_mul"),
        ("div" | "divide" | "true_divide", "Tensor" | "Scalar" | "") => of_two(site, "complex_div"),
        ("add" | "sub" | "subtract", "Tensor" | "Scalar" | "") => {
            sum(site, ["self", "other"], if target.name == "add" { 1.0 } else { -1.0 })
        }
        ("einsum" | "mm" | "bmm" | "matmul", "") => complex_products::convert(site, target),
        ("rsub", "Tensor" | "Scalar" | "") => sum(site, ["other", "self"], -1.0),
        // Vector units subtract from 0, so that no zero becomes negative.
        ("neg" | "negative", "") => {
            let x = site.tensor("self")?;
            let zero = literal(site, [0.0; 2], site.dtype(x))?;
            site.emit("sub", &[], &[zero, x])
        }
        ("abs" | "absolute", "") => {
            let x = site.tensor("self")?;
            // The kernel scales first, so that squares of large numbers do not overflow.
            site.emit_fused("vector_norm", &[("dim", ints(&[site.rank(x) as i64 - 1]))], &[x])
        }
        ("square", "") => square(site),
        ("pow", "Tensor_Scalar")
            if site.maybe_scalar("exponent").is_ok_and(|e| e.is_some_and(|e| e.value().to_f64() == 2.0)) =>
        {
            square(site)
        }
        ("to" | "_to_copy" | "type_as", _) => cast(site),
        ("zeros" | "zeros_like" | "new_zeros" | "zero", _) => {
            let (_, shape) = site.stated_shape()?;
            let dtype = AttrValue::DType(site.stated(0)?.dtype);
            site.emit("full", &[("shape", shape), ("value", Number::Int(0).into()), ("dtype", dtype)], &[])
        }
        ("ones" | "ones_like" | "new_ones", _) => full(site, Some([1.0, 0.0])),
        ("full" | "full_like" | "new_full", _) => full(site, number(site, "fill_value")),
        ("scalar_tensor", "") => full(site, number(site, "s")),
        ("mean", "" | "dim") => mean(site),
        ("copy", "") => {
            let Some(source) = operand(site, "src", site.stated(0)?.dtype)? else { return Ok(None) };
            let (_, shape) = site.stated_shape()?;
            match site.ty(source) == site.stated(0)? {
                true => site.emit("clone", &[], &[source]),
                false => site.emit("expand", &[("shape", shape)], &[source]),
            }
        }
        ("where", "self" | "ScalarSelf" | "ScalarOther" | "Scalar") => {
            let (condition, dtype) = (site.tensor("condition")?, site.stated(0)?.dtype);
            let condition =
                site.implicit("condition", "unsqueeze", &[("dim", int(site.rank(condition) as i64))], &[condition])?;
            match (operand(site, "self", dtype)?, operand(site, "other", dtype)?) {
                (Some(x), Some(y)) => site.emit("where", &[], &[condition, x, y]),
                _ => Ok(None),
            }
        }
        _ => fourier::convert(site, target),
    }
}

/// A constant complex number.
fn literal(site: &mut NodeLowering, parts: [f64; 2], dtype: DType) -> Result<Value, Refusal> {
    let ty = TensorType::new(dtype, Shape::from_slice(&[2])).map_err(|e| Refusal::new(e.to_string()))?;
    let data: Vec<Number> = parts.iter().map(|&part| Number::float(dtype.round(part))).collect();
    let lowering = &mut site.lowering;
    let name = lowering.names.fresh(&format!("{}.number", lowering.name));
    Ok(lowering.graph.add_literal(&name, ty, data, lowering.origin.clone())?.into())
}

/// The number that is given as `name`, if it is one.
fn number(site: &NodeLowering, name: &str) -> Option<[f64; 2]> {
    match site.argument(name)? {
        Argument::Other(tag, text) if tag == "as_complex" => {
            let parts: serde_json::Value = serde_json::from_str(text).ok()?;
            Some([parts.get("real")?.as_f64()?, parts.get("imag")?.as_f64()?])
        }
        Argument::Tensor(_) => None,
        _ => Some([site.scalar(name).ok()?.value().to_f64(), 0.0]),
    }
}

fn expanded(site: &mut NodeLowering, x: Value, shape: &[usize]) -> Result<Value, Refusal> {
    match site.ty(x).shape[..] == *shape {
        true => Ok(x),
        false => site.implicit("expanded", "expand", &[("shape", AttrValue::shape(shape))], &[x]),
    }
}

/// Real numbers and a 0 for each, as parts of complex numbers.
fn parts_of_real(site: &mut NodeLowering, real: Value, dtype: DType) -> Result<[Value; 2], Refusal> {
    let real = site.cast("real", real, dtype)?;
    let real = site.implicit("real", "unsqueeze", &[("dim", int(site.rank(real) as i64))], &[real])?;
    let zero = site.number("zero", Number::float(0.0), dtype)?;
    let shape = AttrValue::shape(&site.ty(real).shape);
    Ok([real, site.implicit("imaginary", "expand", &[("shape", shape)], &[zero])?])
}

/// Argument `name` as complex numbers whose parts are `dtype`: PyTorch gives a real number the imaginary part 0. None where it is
/// of another kind.
fn operand(site: &mut NodeLowering, name: &str, dtype: DType) -> Result<Option<Value>, Refusal> {
    if let Some(parts) = number(site, name) {
        return literal(site, parts, dtype).map(Some);
    }
    let Some(Argument::Tensor(_)) = site.argument(name) else { return Ok(None) };
    let value = site.tensor(name)?;
    if site.argument_is_complex(name) {
        return site.cast(name, value, dtype).map(Some);
    }
    let parts = parts_of_real(site, value, dtype)?;
    let last = site.rank(value) as i64;
    site.implicit(name, "concat", &[("dim", int(last))], &parts).map(Some)
}

fn of_two(site: &mut NodeLowering, op: &str) -> Converted {
    let dtype = site.stated(0)?.dtype;
    if site.given("rounding_mode") {
        return Ok(None);
    }
    match (operand(site, "self", dtype)?, operand(site, "other", dtype)?) {
        (Some(x), Some(y)) => site.emit(op, &[], &[x, y]),
        _ => Ok(None),
    }
}

/// The first argument plus `sign` and `alpha` times the second. PyTorch multiplies with the complex number `alpha + 0 i`, which
/// matters where something is infinite.
fn sum(site: &mut NodeLowering, [first, second]: [&str; 2], sign: f64) -> Converted {
    let dtype = site.stated(0)?.dtype;
    let alpha = if site.given("alpha") { number(site, "alpha") } else { Some([1.0, 0.0]) };
    let Some([alpha, 0.0]) = alpha else { return Ok(None) };
    let Some(x) = operand(site, first, dtype)? else { return Ok(None) };
    let y = match number(site, second) {
        Some([real, imaginary]) => literal(site, [sign * alpha * real, sign * alpha * imaginary], dtype)?,
        None => {
            let Some(y) = operand(site, second, dtype)? else { return Ok(None) };
            let factor = literal(site, [sign * alpha, 0.0], dtype)?;
            site.implicit("scaled", "complex_mul", &[], &[y, factor])?
        }
    };
    site.emit("add", &[], &[x, y])
}

fn square(site: &mut NodeLowering) -> Converted {
    let x = site.tensor("self")?;
    site.emit("complex_mul", &[], &[x, x])
}

/// To and from complex numbers, and between those of different precision.
fn cast(site: &mut NodeLowering) -> Converted {
    let (x, result) = (site.tensor("self")?, site.stated(0)?);
    let to_complex = site.output_names().next().is_some_and(|name| site.scope.is_complex(name));
    let dtype = [("dtype", AttrValue::DType(result.dtype))];
    match (site.argument_is_complex("self"), to_complex) {
        (true, true) => site.emit("cast", &dtype, &[x]),
        // One of both parts is not 0.
        (true, false) if result.dtype == DType::Bool => {
            let parts = site.implicit("parts", "cast", &dtype, &[x])?;
            site.emit("any", &[("dim", ints(&[site.rank(x) as i64 - 1]))], &[parts])
        }
        (true, false) => {
            let real = part(site, "real", x, 0)?;
            site.emit("cast", &dtype, &[real])
        }
        (false, _) => {
            let parts = parts_of_real(site, x, result.dtype)?;
            site.emit("concat", &[("dim", int(result.rank() as i64 - 1))], &parts)
        }
    }
}

fn full(site: &mut NodeLowering, value: Option<[f64; 2]>) -> Converted {
    let Some(value) = value else { return Ok(None) };
    let (_, shape) = site.stated_shape()?;
    let value = literal(site, value, site.stated(0)?.dtype)?;
    let all = site.implicit("all", "expand", &[("shape", shape)], &[value])?;
    site.emit("clone", &[], &[all])
}

/// A sum, divided by a complex number as PyTorch does it.
fn mean(site: &mut NodeLowering) -> Converted {
    let (x, dtype) = (site.tensor("self")?, site.stated(0)?.dtype);
    // It may be asked for in more digits.
    let x = match dtype == site.dtype(x) {
        true => x,
        false => site.implicit("wide", "cast", &[("dtype", AttrValue::DType(dtype))], &[x])?,
    };
    let (shape, given) = (site.ty(x).shape, site.maybe_ints("dim")?.filter(|dims| !dims.is_empty()));
    let own = shape.len().saturating_sub(1);
    let dims: Vec<i64> = match given {
        Some(dims) => {
            let dim = |&d: &i64| crate::ops::shapes::normalize_dim(d, own).map(|d| d as i64);
            dims.iter()
                .map(dim)
                .collect::<Option<_>>()
                .ok_or_else(|| Refusal::new(format!("reduces {dims:?} of {own}")))?
        }
        None => (0..own as i64).collect(),
    };
    let (Some(sum), keepdim) = (find("sum"), site.bool_or("keepdim", false)?) else { return Ok(None) };
    let attrs = sum.attrs(&[("dim", ints(&dims)), ("keepdim", AttrValue::Bool(keepdim))]);
    let attrs = attrs.map_err(|e| Refusal::new(e.to_string()))?;
    let count: f64 = dims.iter().filter_map(|&d| shape.get(d as usize)).map(|&n| n as f64).product();
    let sum = site.lowering.part("sum", sum, attrs, &[x])?;
    let count = literal(site, [count, 0.0], site.dtype(x))?;
    let sum = sum.first().copied().ok_or_else(|| Refusal::new("has no result"))?;
    site.emit("complex_div", &[], &[sum, count])
}
