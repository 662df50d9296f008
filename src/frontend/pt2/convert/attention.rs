//! Softmax and fused attention.

use super::super::lowering::{Converted, NodeLowering, Scalar, int, ints};
use super::super::target::Target;
use crate::ir::{AttrValue, DType};

pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    match target.name {
        "softmax" | "log_softmax" if matches!(target.overload, "int" | "") => {
            let dtype = site.maybe_dtype("dtype")?;
            softmax(site, target.name, dtype)
        }
        "_softmax" | "_log_softmax" if target.overload.is_empty() => {
            let dtype = site.bool_or("half_to_float", false)?.then_some(DType::F32);
            softmax(site, &target.name[1..], dtype)
        }
        "_safe_softmax" if target.overload.is_empty() => safe_softmax(site),
        "scaled_dot_product_attention" => sdpa(site),
        _ => Ok(None),
    }
}

fn softmax(site: &mut NodeLowering, op: &str, dtype: Option<DType>) -> Converted {
    let x = site.tensor("self")?;
    let dim = site.dim_of(x, site.int("dim")?)?;
    if let Some(dtype) = dtype.filter(|_| !site.dtype(x).is_float()) {
        let x = site.cast("self", x, dtype)?;
        return site.emit(op, &[("dim", int(dim))], &[x]);
    }
    // Naming the type that the operand has anyway says nothing.
    let dtype = dtype.filter(|&d| d != site.dtype(x)).map_or(AttrValue::None, AttrValue::DType);
    site.emit(op, &[("dim", int(dim)), ("dtype", dtype)], &[x])
}

/// A softmax that is 0 where a row holds nothing but minus infinity.
fn safe_softmax(site: &mut NodeLowering) -> Converted {
    let x = site.tensor("self")?;
    let dim = site.dim_of(x, site.int("dim")?)?;
    if !site.dtype(x).is_float() || site.rank(x) == 0 {
        return Ok(None);
    }
    let dtype = site.maybe_dtype("dtype")?.filter(|&d| d != site.dtype(x)).map_or(AttrValue::None, AttrValue::DType);
    let softmax = site.implicit("softmax", "softmax", &[("dim", int(dim)), ("dtype", dtype)], &[x])?;
    let limit = site.literal("limit", Scalar::Float(f64::NEG_INFINITY), site.dtype(x))?;
    let masked = site.implicit("masked", "eq", &[], &[x, limit])?;
    let row = [("dim", ints(&[dim])), ("keepdim", AttrValue::Bool(true))];
    let masked = site.implicit("masked_row", "all", &row, &[masked])?;
    let zero = site.literal("zero", Scalar::Int(0), site.dtype(softmax))?;
    site.emit("where", &[], &[masked, zero, softmax])
}

fn sdpa(site: &mut NodeLowering) -> Converted {
    if site.float_or("dropout_p", 0.0)? != 0.0 {
        return Ok(None);
    }
    let query = site.tensor("query")?;
    let mut operands = vec![query, site.tensor("key")?, site.tensor("value")?];
    operands.extend(site.maybe_tensor("attn_mask")?);
    let head = site.ty(query).shape.last().copied().unwrap_or(1) as f64;
    let attrs = [
        ("causal", AttrValue::Bool(site.bool_or("is_causal", false)?)),
        ("scale", AttrValue::float(site.float_or("scale", 1.0 / head.sqrt())?)),
        ("grouped", AttrValue::Bool(site.bool_or("enable_gqa", false)?)),
    ];
    site.emit("sdpa", &attrs, &operands)
}
