//! Convolution and pooling.

use super::super::lowering::{Converted, NodeLowering, Refusal, Scalar, int, ints};
use super::super::target::Target;
use crate::ir::{AttrValue, DType, Ints, Value};

pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    match (target.name, target.overload) {
        ("conv1d", "" | "padding") => batched(site, 1, conv),
        ("conv2d", "" | "padding") => batched(site, 2, conv),
        ("conv3d", "" | "padding") => batched(site, 3, conv),
        ("conv_transpose1d", "") => batched(site, 1, transposed),
        ("conv_transpose2d" | "conv_transpose3d", "input") => {
            batched(site, if target.name == "conv_transpose2d" { 2 } else { 3 }, transposed)
        }
        ("convolution", "") => {
            let x = site.tensor("input")?;
            let spatial = site.rank(x).saturating_sub(2);
            match (spatial, site.bool_or("transposed", false)?) {
                (1..=3, false) => batched(site, spatial, conv),
                (1..=3, true) => batched(site, spatial, transposed),
                _ => Ok(None),
            }
        }
        ("max_pool1d", "") => in_two_dimensions(site, "max_pool2d"),
        ("max_pool2d", "") => pool(site, "max_pool2d"),
        ("max_pool3d", "") => pool(site, "max_pool3d"),
        // The places are a second output.
        ("max_pool2d_with_indices", "") if !site.is_used(1) => pool(site, "max_pool2d"),
        ("max_pool3d_with_indices", "") if !site.is_used(1) => pool(site, "max_pool3d"),
        ("avg_pool1d", "") => in_two_dimensions(site, "avg_pool2d"),
        ("avg_pool2d" | "avg_pool3d", "") => pool(site, target.name),
        _ => Ok(None),
    }
}

/// A list with one entry per spatial dimension; one number stands for all of them.
pub(super) fn per_dimension(site: &NodeLowering, name: &str, count: usize, default: i64) -> Result<Vec<i64>, Refusal> {
    let given = site.maybe_ints(name)?;
    Ok(match given.as_deref() {
        None | Some([]) => vec![default; count],
        Some([one]) => vec![*one; count],
        Some(all) => all.to_vec(),
    })
}

/// Input, weight and bias of a convolution of floats. An input without a batch dimension becomes a batch of one for `convolve`.
fn batched(
    site: &mut NodeLowering,
    spatial: usize,
    convolve: impl Fn(&mut NodeLowering, usize, Vec<Value>) -> Converted,
) -> Converted {
    let x = site.tensor("input")?;
    let mut operands: Vec<Value> = vec![x, site.tensor("weight")?];
    operands.extend(site.maybe_tensor("bias")?);
    if site.rank(operands[1]) != spatial + 2 || !site.dtype(x).is_float() {
        return Ok(None);
    }
    if site.rank(x) == spatial + 2 {
        return convolve(site, spatial, operands);
    }
    if site.rank(x) != spatial + 1 {
        return Ok(None);
    }
    operands[0] = site.implicit("batch", "unsqueeze", &[("dim", int(0))], &[x])?;
    single(site, |site| convolve(site, spatial, operands))
}

/// What `of_batch` gives for a batch of one, without the batch dimension.
pub(super) fn single(site: &mut NodeLowering, of_batch: impl FnOnce(&mut NodeLowering) -> Converted) -> Converted {
    let Some(batch) = of_batch(site)? else { return Ok(None) };
    let one = site.implicit("single", "squeeze", &[("dim", int(0))], &batch[..1])?;
    Ok(Some([one].into_iter().collect()))
}

fn conv(site: &mut NodeLowering, spatial: usize, mut operands: Vec<Value>) -> Converted {
    let stride = per_dimension(site, "stride", spatial, 1)?;
    let dilation = per_dimension(site, "dilation", spatial, 1)?;
    let padding = match site.str("padding") {
        None => per_dimension(site, "padding", spatial, 0)?,
        Some("valid") => vec![0; spatial],
        Some("same") if stride.iter().all(|&s| s == 1) && dilation.len() == spatial => {
            let (x, padding) = same(site, operands[0], operands[1], &dilation)?;
            operands[0] = x;
            padding
        }
        Some(_) => return Ok(None),
    };
    let attrs = [
        ("stride", ints(&stride)),
        ("padding", ints(&padding)),
        ("dilation", ints(&dilation)),
        ("groups", int(site.int_or("groups", 1)?)),
    ];
    site.emit(["conv1d", "conv2d", "conv3d"][spatial - 1], &attrs, &operands)
}

/// Padding for a result of the size of `x`. Where it cannot be the same on both sides, one more is put behind `x` first.
fn same(site: &mut NodeLowering, x: Value, w: Value, dilation: &[i64]) -> Result<(Value, Vec<i64>), Refusal> {
    let kernel = site.ty(w).shape;
    let total: Option<Vec<i64>> =
        dilation.iter().zip(&kernel[2..]).map(|(d, &k)| d.checked_mul(k as i64 - 1).filter(|&t| t >= 0)).collect();
    let total = total.ok_or_else(|| Refusal::new(format!("has no padding for {dilation:?}")))?;
    let padding = total.iter().map(|t| t / 2).collect();
    if total.iter().all(|t| t % 2 == 0) {
        return Ok((x, padding));
    }
    let behind: Ints = [0; 4].into_iter().chain(total.iter().flat_map(|t| [0, t % 2])).collect();
    Ok((site.implicit("padded", "pad", &[("pad", AttrValue::Ints(behind))], &[x])?, padding))
}

fn transposed(site: &mut NodeLowering, spatial: usize, operands: Vec<Value>) -> Converted {
    let attrs = [
        ("stride", ints(&per_dimension(site, "stride", spatial, 1)?)),
        ("padding", ints(&per_dimension(site, "padding", spatial, 0)?)),
        ("output_padding", ints(&per_dimension(site, "output_padding", spatial, 0)?)),
        ("dilation", ints(&per_dimension(site, "dilation", spatial, 1)?)),
        ("groups", int(site.int_or("groups", 1)?)),
    ];
    let op = ["conv_transpose1d", "conv_transpose2d", "conv_transpose3d"][spatial - 1];
    site.emit(op, &attrs, &operands)
}

/// The windows of a pooling operator over `spatial` dimensions: sizes, steps and padding.
fn windows(site: &NodeLowering, spatial: usize) -> Result<[Vec<i64>; 3], Refusal> {
    let kernel = per_dimension(site, "kernel_size", spatial, 1)?;
    let stride = match site.maybe_ints("stride")? {
        Some(stride) if !stride.is_empty() => per_dimension(site, "stride", spatial, 1)?,
        _ => kernel.clone(),
    };
    Ok([kernel, stride, per_dimension(site, "padding", spatial, 0)?])
}

fn pool(site: &mut NodeLowering, op: &str) -> Converted {
    let spatial = if op.ends_with("3d") { 3 } else { 2 };
    let x = site.tensor("self")?;
    let sizes = windows(site, spatial)?;
    let dilation = per_dimension(site, "dilation", spatial, 1)?;
    if !site.dtype(x).is_float() {
        return Ok(None);
    }
    match site.rank(x).checked_sub(spatial) {
        Some(2) => pooled(site, op, x, &sizes, &dilation),
        Some(1) => {
            let x = site.implicit("batch", "unsqueeze", &[("dim", int(0))], &[x])?;
            single(site, |site| pooled(site, op, x, &sizes, &dilation))
        }
        _ => Ok(None),
    }
}

fn pooled(
    site: &mut NodeLowering,
    op: &str,
    x: Value,
    [kernel, stride, padding]: &[Vec<i64>; 3],
    dilation: &[i64],
) -> Converted {
    let ceil = AttrValue::Bool(site.bool_or("ceil_mode", false)?);
    let mut attrs =
        vec![("kernel_size", ints(kernel)), ("stride", ints(stride)), ("padding", ints(padding)), ("ceil_mode", ceil)];
    if op.starts_with("max") {
        attrs.push(("dilation", ints(dilation)));
    } else {
        if site.given("divisor_override") {
            return with_divisor(site, op, x, attrs, kernel);
        }
        // Without padding, it does not matter whether it counts.
        let counts = site.bool_or("count_include_pad", true)? || padding.iter().all(|&p| p == 0);
        attrs.push(("count_include_pad", AttrValue::Bool(counts)));
    }
    site.emit(op, &attrs, &[x])
}

/// Sums under windows over a number that is given: means over whole windows, of which padding is a part, times their size.
fn with_divisor(
    site: &mut NodeLowering,
    op: &str,
    x: Value,
    mut attrs: Vec<(&str, AttrValue)>,
    kernel: &[i64],
) -> Converted {
    let (divisor, dtype) = (site.int("divisor_override")?, site.dtype(x));
    // Windows that reach beyond the padding are smaller.
    if divisor == 0 || site.bool_or("ceil_mode", false)? || !matches!(dtype, DType::F32 | DType::F64) {
        return Ok(None);
    }
    attrs.push(("count_include_pad", AttrValue::Bool(true)));
    let mean = site.implicit("mean", op, &attrs, &[x])?;
    let size: i64 = kernel.iter().product();
    let factor = site.literal("factor", Scalar::Float(size as f64 / divisor as f64), dtype)?;
    site.emit("mul", &[], &[mean, factor])
}

/// What PyTorch does to lines: a height of 1 while an image is pooled.
fn in_two_dimensions(site: &mut NodeLowering, op: &str) -> Converted {
    let x = site.tensor("self")?;
    let rank = site.rank(x) as i64;
    if !(2..=3).contains(&rank) || !site.dtype(x).is_float() {
        return Ok(None);
    }
    let [kernel, stride, padding] = windows(site, 1)?;
    let dilation = per_dimension(site, "dilation", 1, 1)?;
    let high = |all: Vec<i64>, first: i64| [&[first], &all[..]].concat();
    let sizes = [high(kernel, 1), high(stride, 1), high(padding, 0)];
    let mut image = site.implicit("image", "unsqueeze", &[("dim", int(rank - 1))], &[x])?;
    if rank == 2 {
        image = site.implicit("batch", "unsqueeze", &[("dim", int(0))], &[image])?;
    }
    let Some(pooled) = pooled(site, op, image, &sizes, &high(dilation, 1))? else { return Ok(None) };
    let mut line = site.implicit("line", "squeeze", &[("dim", int(2))], &pooled[..1])?;
    if rank == 2 {
        line = site.implicit("single", "squeeze", &[("dim", int(0))], &[line])?;
    }
    Ok(Some([line].into_iter().collect()))
}
