//! Fake quantisation: numbers rounded to those that a few bits can hold, as the formula that PyTorch computes it by.

use super::super::lowering::{Converted, NodeLowering, Refusal, Scalar};
use super::super::target::Target;
use super::formula::Formula;
use crate::ir::{AttrValue, DType, Value};

pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    let by_channel = match (target.name, target.overload) {
        ("fake_quantize_per_tensor_affine" | "fake_quantize_per_tensor_affine_cachemask", "") => false,
        ("fake_quantize_per_channel_affine" | "fake_quantize_per_channel_affine_cachemask", "") => true,
        _ => return Ok(None),
    };
    let x = site.tensor("self")?;
    if site.dtype(x) != DType::F32 {
        return Ok(None);
    }
    let Some((scale, zero)) = parameters(site, x, by_channel)? else { return Ok(None) };
    let (least, most) = (site.int("quant_min")?, site.int("quant_max")?);
    let mut f = Formula::new(site, DType::F32);
    let one = f.literal(1.0)?;
    let inverse = f.op("div", &[one, scale])?;
    let scaled = f.op("mul", &[x, inverse])?;
    let whole = f.op("round", &[scaled])?;
    let code = f.op("add", &[whole, zero])?;
    let limits = [("min", AttrValue::float(least as f64)), ("max", AttrValue::float(most as f64))];
    let held = f.site.implicit("held", "clamp", &limits, &[code])?;
    let moved = f.op("sub", &[held, zero])?;
    // The kernel converts to integers in between, which have no NaN.
    let Some(mut values) = f.site.emit_fused("mul", &[], &[moved, scale])? else { return Ok(None) };
    if target.name.ends_with("_cachemask") {
        // Where nothing was cut off.
        let (above, below) = (f.with("ge", code, least as f64)?, f.with("le", code, most as f64)?);
        values.push(f.op("logical_and", &[above, below])?);
    }
    Ok(Some(values))
}

/// Scale and zero point in a shape that broadcasts to `x`.
fn parameters(site: &mut NodeLowering, x: Value, by_channel: bool) -> Result<Option<(Value, Value)>, Refusal> {
    if !by_channel {
        let (scale, zero) = (site.float_or("scale", 1.0)?, site.int("zero_point")?);
        let scale = site.literal("scale", Scalar::Float(scale), DType::F32)?;
        return Ok(Some((scale, site.literal("zero", Scalar::Float(zero as f64), DType::F32)?)));
    }
    let (scale, zero) = (site.tensor("scale")?, site.tensor("zero_point")?);
    let axis = site.dim_of(x, site.int("axis")?)? as usize;
    let known = site.dtype(scale) == DType::F32 && site.dtype(zero) == DType::I32;
    if !known || site.rank(scale) != 1 || site.rank(zero) != 1 {
        return Ok(None);
    }
    let zero = site.cast("zero", zero, DType::F32)?;
    let shape: Vec<usize> = (0..site.rank(x)).map(|d| if d == axis { site.ty(x).shape[d] } else { 1 }).collect();
    let mut f = Formula::new(site, DType::F32);
    Ok(Some((f.reshape(scale, &shape)?, f.reshape(zero, &shape)?)))
}
