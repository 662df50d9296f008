//! Reductions, running reductions, losses.

use super::super::lowering::{Converted, NodeLowering, Refusal, Values, int};
use super::super::target::Target;
use crate::ir::{AttrValue, DType, Value};

pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    match target.name {
        "sum" | "prod" | "mean" if !matches!(target.overload, "dim_DimnameList" | "dim_Dimname") => {
            let x = site.tensor("self")?;
            let x = match site.maybe_dtype("dtype")? {
                Some(dtype) => site.cast("self", x, dtype)?,
                None => x,
            };
            reduce(site, target.name, x)
        }
        "amax" | "amin" | "any" | "all" => {
            let x = site.tensor("self")?;
            reduce(site, target.name, x)
        }
        "_is_all_true" | "_is_any_true" => {
            let x = site.tensor("self")?;
            reduce(site, if target.name == "_is_all_true" { "all" } else { "any" }, x)
        }
        "max" | "min" if target.overload.is_empty() => {
            let x = site.tensor("self")?;
            reduce(site, if target.name == "max" { "amax" } else { "amin" }, x)
        }
        "max" | "min" if target.overload == "dim" => extreme(site, target.name),
        "logsumexp" => {
            let x = site.float_argument("self")?;
            reduce(site, "logsumexp", x)
        }
        "argmax" | "argmin" => arg(site, target.name),
        "cumsum" | "cumprod" => {
            let x = site.tensor("self")?;
            let x = match site.maybe_dtype("dtype")? {
                Some(dtype) => site.cast("self", x, dtype)?,
                None => x,
            };
            let dim = site.dim_of(x, site.int("dim")?)?;
            let values = site.emit(target.name, &[("dim", int(dim))], &[x])?;
            stored(site, values)
        }
        "var" => {
            let (x, attrs) = (site.tensor("self")?, variance(site)?);
            site.emit("var", &attrs, &[x])
        }
        "std" => {
            // The variance is not rounded before the root is taken.
            let (x, attrs) = (site.tensor("self")?, variance(site)?);
            let own = site.dtype(x);
            let wide = if own.is_float() && own.bytes() < DType::F32.bytes() { DType::F32 } else { own };
            let x = site.cast("self", x, wide)?;
            let variance = site.implicit("var", "var", &attrs, &[x])?;
            if wide == own {
                return site.emit_fused("sqrt", &[], &[variance]);
            }
            let root = site.implicit("sqrt", "sqrt", &[], &[variance])?;
            site.emit("cast", &[("dtype", AttrValue::DType(own))], &[root])
        }
        "var_mean" => {
            let (x, attrs) = (site.tensor("self")?, variance(site)?);
            site.emit("var_mean", &attrs, &[x])
        }
        "cross_entropy_loss" => cross_entropy(site),
        _ => Ok(None),
    }
}

/// The dimensions that `dim` names; none and an empty list stand for all of them.
fn reduced_dims(site: &NodeLowering, x: Value) -> Result<AttrValue, Refusal> {
    match site.maybe_ints("dim")? {
        Some(dims) if !dims.is_empty() && site.rank(x) > 0 => site.dims_of(x, &dims),
        _ => Ok(AttrValue::Ints((0..site.rank(x) as i64).collect())),
    }
}

fn reduce(site: &mut NodeLowering, op: &str, x: Value) -> Converted {
    let dims = reduced_dims(site, x)?;
    let keepdim = AttrValue::Bool(site.bool_or("keepdim", false)?);
    // A mean over integers has the element type that the file asks for; PyTorch refuses without one.
    if op == "mean" && !site.dtype(x).is_float() {
        return Ok(None);
    }
    let values = site.emit(op, &[("dim", dims), ("keepdim", keepdim)], &[x])?;
    stored(site, values)
}

/// A reduction with a narrow integer result is stored in the type that the file states.
fn stored(site: &mut NodeLowering, values: Option<Values>) -> Converted {
    let Some(values) = values else { return Ok(None) };
    let stated = site.stated(0)?.dtype;
    let integers = |d: DType| d.is_int() || d == DType::Bool;
    match values[..] {
        [value] if integers(stated) && integers(site.dtype(value)) && stated != site.dtype(value) => {
            Ok(Some(Values::from_elem(site.cast("stored", value, stated)?, 1)))
        }
        _ => Ok(Some(values)),
    }
}

/// The extreme values along a dimension and their places, as far as the program uses them.
fn extreme(site: &mut NodeLowering, name: &str) -> Converted {
    let x = site.tensor("self")?;
    if site.is_used(1) {
        let dim = int(site.dim_of(x, site.int("dim")?)?);
        let keepdim = AttrValue::Bool(site.bool_or("keepdim", false)?);
        return site.emit(name, &[("dim", dim), ("keepdim", keepdim)], &[x]);
    }
    reduce(site, if name == "max" { "amax" } else { "amin" }, x)
}

fn arg(site: &mut NodeLowering, op: &str) -> Converted {
    let x = site.tensor("self")?;
    let (x, dim) = match site.maybe_int("dim")? {
        Some(dim) => (x, site.dim_of(x, dim)?),
        None if site.bool_or("keepdim", false)? => return Ok(None),
        None => {
            let flat = AttrValue::shape(&[site.ty(x).numel()]);
            (site.implicit("flat", "reshape", &[("shape", flat)], &[x])?, 0)
        }
    };
    let keepdim = AttrValue::Bool(site.bool_or("keepdim", false)?);
    site.emit(op, &[("dim", int(dim)), ("keepdim", keepdim)], &[x])
}

/// The attributes of `var`, from any of its overloads and those of its like.
fn variance(site: &NodeLowering) -> Result<[(&'static str, AttrValue); 3], Refusal> {
    let x = site.tensor("self")?;
    let correction = match site.maybe_scalar("correction")? {
        Some(c) => c.value().to_f64(),
        None => f64::from(u8::from(site.bool_or("unbiased", true)?)),
    };
    Ok([
        ("dim", reduced_dims(site, x)?),
        ("correction", AttrValue::float(correction)),
        ("keepdim", AttrValue::Bool(site.bool_or("keepdim", false)?)),
    ])
}

/// The loss over class indices, without weights, smoothing, or an unusual index to ignore.
fn cross_entropy(site: &mut NodeLowering) -> Converted {
    let (x, target) = (site.tensor("self")?, site.tensor("target")?);
    let smoothing = site.float_or("label_smoothing", 0.0)?;
    let usual = site.int_or("ignore_index", -100)? == -100 && smoothing == 0.0 && !site.given("weight");
    let reduction = match site.int_or("reduction", 1)? {
        0 => "none",
        1 => "mean",
        2 => "sum",
        _ => return Ok(None),
    };
    if !usual || site.dtype(target) != DType::I64 {
        return Ok(None);
    }
    site.emit("cross_entropy", &[("reduction", AttrValue::str(reduction))], &[x, target])
}
