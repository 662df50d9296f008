//! Normalisations.

use super::super::lowering::{Converted, NodeLowering, Refusal, Scalar, int, ints};
use super::super::target::Target;
use crate::ir::{AttrValue, DType, Value};

pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    match target.name {
        "layer_norm" => trailing(site, "layer_norm", 1e-5),
        // The statistics are extra outputs.
        "native_layer_norm" => with_statistics(site),
        "rms_norm" => {
            let x = site.tensor("input")?;
            // Without `eps`, PyTorch's kernels disagree about half precision: some take the epsilon of the
            // operand's type, some that of the type they compute in.
            let eps = match site.dtype(x) {
                dtype @ (DType::F32 | DType::F64) => dtype.epsilon().unwrap_or_default(),
                _ if site.given("eps") => 0.0,
                _ => return Ok(None),
            };
            trailing(site, "rms_norm", eps)
        }
        "group_norm" => group_norm(site, "num_groups"),
        "native_group_norm" if !site.is_used(1) && !site.is_used(2) => group_norm(site, "group"),
        "batch_norm" | "cudnn_batch_norm" | "native_batch_norm" | "_native_batch_norm_legit" => {
            if site.bool_or("training", false)? {
                return by_batch(site);
            }
            if site.is_used(1) || site.is_used(2) {
                return Ok(None);
            }
            batch_norm(site)
        }
        "_native_batch_norm_legit_no_training" if !site.is_used(1) && !site.is_used(2) => batch_norm(site),
        "_native_batch_norm_legit_functional" => keeping_statistics(site, target),
        "instance_norm" => instance_norm(site),
        "_weight_norm" => weight_norm(site),
        _ => Ok(None),
    }
}

/// `v * (g / |v|)`, with the length of `v` over all dimensions but `dim`; -1 stands for none.
fn weight_norm(site: &mut NodeLowering) -> Converted {
    let (v, g) = (site.tensor("v")?, site.tensor("g")?);
    let dim = site.int_or("dim", 0)?;
    let kept = if dim == -1 { -1 } else { site.dim_of(v, dim)? };
    let others: Vec<i64> = (0..site.rank(v) as i64).filter(|&d| d != kept).collect();
    let square = site.implicit("square", "mul", &[], &[v, v])?;
    let attrs = [("dim", ints(&others)), ("keepdim", AttrValue::Bool(kept >= 0))];
    let sum = site.implicit("sum", "sum", &attrs, &[square])?;
    let length = site.implicit("length", "sqrt", &[], &[sum])?;
    let factor = site.implicit("factor", "div", &[], &[g, length])?;
    site.emit("mul", &[], &[v, factor])
}

/// Operands with the optional ones `weight` and `bias`. A bias by itself stands behind a weight of ones.
fn with_parameters(site: &mut NodeLowering, mut operands: Vec<Value>) -> Result<Vec<Value>, Refusal> {
    let (mut weight, bias) = (site.maybe_tensor("weight")?, site.maybe_tensor("bias")?);
    if let (None, Some(bias)) = (weight, bias) {
        let shape = site.ty(bias).shape;
        let attrs = [
            ("shape", AttrValue::shape(&shape)),
            ("value", AttrValue::float(1.0)),
            ("dtype", AttrValue::DType(site.dtype(bias))),
        ];
        weight = Some(site.implicit("weight", "full", &attrs, &[])?);
    }
    operands.extend(weight.into_iter().chain(bias));
    Ok(operands)
}

fn eps(site: &NodeLowering, default: f64) -> Result<AttrValue, Refusal> {
    Ok(AttrValue::float(site.float_or("eps", default)?))
}

/// A normalisation over the last dimensions.
fn trailing(site: &mut NodeLowering, op: &str, default_eps: f64) -> Converted {
    let x = site.tensor("input")?;
    let operands = with_parameters(site, vec![x])?;
    // The table knows sizes of errors only.
    if site.float_or("eps", default_eps)? < 0.0 {
        return Ok(None);
    }
    let attrs = [("normalized_shape", ints(&site.ints("normalized_shape")?)), ("eps", eps(site, default_eps)?)];
    site.emit(op, &attrs, &operands)
}

/// Layer normalisation; where they are used, means and reciprocal deviations as well.
fn with_statistics(site: &mut NodeLowering) -> Converted {
    let Some(mut values) = trailing(site, "layer_norm", 1e-5)? else { return Ok(None) };
    if !site.is_used(1) && !site.is_used(2) {
        return Ok(Some(values));
    }
    let (x, own) = (site.tensor("input")?, site.ints("normalized_shape")?.len());
    let (rank, dtype) = (site.rank(x), site.dtype(x));
    if !matches!(dtype, DType::F32 | DType::F64) || own > rank {
        return Ok(None);
    }
    let dims: Vec<i64> = (rank - own..rank).map(|d| d as i64).collect();
    let [dims, keepdim] = [("dim", ints(&dims)), ("keepdim", AttrValue::Bool(true))];
    values.push(site.implicit("mean", "mean", &[dims.clone(), keepdim.clone()], &[x])?);
    let variance = [dims, keepdim, ("correction", AttrValue::float(0.0))];
    let variance = site.implicit("variance", "var", &variance, &[x])?;
    let eps = site.literal("eps", Scalar::Float(site.float_or("eps", 1e-5)?), dtype)?;
    let shifted = site.implicit("shifted", "add", &[], &[variance, eps])?;
    values.push(site.implicit("deviation", "rsqrt", &[], &[shifted])?);
    Ok(Some(values))
}

fn group_norm(site: &mut NodeLowering, groups: &str) -> Converted {
    let x = site.tensor("input")?;
    let operands = with_parameters(site, vec![x])?;
    let attrs = [("groups", int(site.int(groups)?)), ("eps", eps(site, 1e-5)?)];
    site.emit("group_norm", &attrs, &operands)
}

fn batch_norm(site: &mut NodeLowering) -> Converted {
    let (Some(mean), Some(var)) = (site.maybe_tensor("running_mean")?, site.maybe_tensor("running_var")?) else {
        return Ok(None);
    };
    let x = site.tensor("input")?;
    let operands = with_parameters(site, vec![x, mean, var])?;
    // A vector has no channels.
    if site.rank(x) < 2 || site.float_or("eps", 1e-5)? < 0.0 {
        return Ok(None);
    }
    let attrs = [("eps", eps(site, 1e-5)?)];
    site.emit("batch_norm", &attrs, &operands)
}

/// Whether the statistics of the batch have the type of its elements, and exist.
fn has_statistics(site: &NodeLowering, operands: &[Value]) -> bool {
    let x = site.ty(operands[0]);
    let same = operands.iter().all(|&o| site.dtype(o) == x.dtype);
    same && matches!(x.dtype, DType::F32 | DType::F64) && x.rank() > 1 && x.numel() > 0
}

/// Normalisation by the batch's own statistics, none of which are kept.
fn by_batch(site: &mut NodeLowering) -> Converted {
    if site.given("running_mean") || site.given("running_var") {
        return Ok(None);
    }
    let x = site.tensor("input")?;
    let operands = with_parameters(site, vec![x])?;
    let attrs = [("eps", eps(site, 1e-5)?)];
    match has_statistics(site, &operands) {
        true => site.emit("batch_norm_training", &attrs, &operands),
        false => Ok(None),
    }
}

/// Normalisation by the batch's own statistics, of which running means are kept: the results, then the new running mean and the
/// new running variance. `None` where the operator is another one.
pub(super) fn keeping_statistics(site: &mut NodeLowering, target: Target) -> Converted {
    // How many results there are besides what is kept.
    let results = match target.name {
        "batch_norm" => 1,
        "native_batch_norm" | "_native_batch_norm_legit" | "_native_batch_norm_legit_functional" => 3,
        _ => return Ok(None),
    };
    let (mean, variance) = (site.maybe_tensor("running_mean")?, site.maybe_tensor("running_var")?);
    let (true, Some(mean), Some(variance)) = (site.bool_or("training", false)?, mean, variance) else {
        return Ok(None);
    };
    let x = site.tensor("input")?;
    let operands = with_parameters(site, vec![x])?;
    if !has_statistics(site, &[&operands[..], &[mean, variance]].concat()) {
        return Ok(None);
    }
    let attrs = [("eps", eps(site, 1e-5)?)];
    let Some(mut values) = site.emit("batch_norm_training", &attrs, &operands)? else { return Ok(None) };
    values.truncate(results);
    let others: Vec<i64> = (0..site.rank(x) as i64).filter(|&d| d != 1).collect();
    let others = ("dim", ints(&others));
    let own_mean = site.implicit("mean", "mean", std::slice::from_ref(&others), &[x])?;
    let attrs = [others, ("correction", AttrValue::float(1.0))];
    let own_variance = site.implicit("variance", "var", &attrs, &[x])?;
    for (kept, own) in [(mean, own_mean), (variance, own_variance)] {
        values.push(moving(site, kept, own)?);
    }
    Ok(Some(values))
}

/// A running mean after one more batch.
fn moving(site: &mut NodeLowering, kept: Value, own: Value) -> Result<Value, Refusal> {
    let (momentum, dtype) = (site.float_or("momentum", 0.1)?, site.dtype(kept));
    let mut part = |value: Value, share: f64| {
        let share = site.literal("share", Scalar::Float(share), dtype)?;
        site.implicit("part", "mul", &[], &[value, share])
    };
    let (new, old) = (part(own, momentum)?, part(kept, 1.0 - momentum)?);
    // The kernel computes statistics and shares in one go.
    let moving = site.implicit("moving", "add", &[], &[new, old])?;
    site.implicit("moving", "fused", &[], &[moving])
}

/// What PyTorch does: every channel of every sample becomes a channel of one sample.
fn instance_norm(site: &mut NodeLowering) -> Converted {
    let x = site.tensor("input")?;
    let shape = site.ty(x).shape;
    let own = site.bool_or("use_input_stats", true)?;
    let (mean, var) = (site.maybe_tensor("running_mean")?, site.maybe_tensor("running_var")?);
    let kept = match (own, mean, var) {
        (true, None, None) => Vec::new(),
        (false, Some(mean), Some(var)) => vec![mean, var],
        // Statistics that are kept are written.
        _ => return Ok(None),
    };
    let parameters = with_parameters(site, kept)?;
    if shape.len() < 3 || !has_statistics(site, &[&[x], &parameters[..]].concat()) {
        return Ok(None);
    }
    let (samples, channels) = (shape[0] as i64, shape[1] as i64);
    let mut one = vec![1, samples * channels];
    one.extend(shape[2..].iter().map(|&d| d as i64));
    let mut operands = vec![site.implicit("one", "reshape", &[("shape", ints(&one))], &[x])?];
    for parameter in parameters {
        let row = site.implicit("row", "reshape", &[("shape", ints(&[1, channels]))], &[parameter])?;
        let each = site.implicit("each", "expand", &[("shape", ints(&[samples, channels]))], &[row])?;
        operands.push(site.implicit("all", "reshape", &[("shape", ints(&[samples * channels]))], &[each])?);
    }
    let op = if own { "batch_norm_training" } else { "batch_norm" };
    let normal = site.step(op, &[("eps", eps(site, 1e-5)?)], &operands)?;
    site.emit("reshape", &[("shape", AttrValue::shape(&shape))], &[normal])
}
