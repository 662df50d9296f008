//! Normalisation by the statistics of the batch itself, as in training and in instance normalisation.

use smallvec::{SmallVec, smallvec};

use super::norm::{channels, float_operands, mean_and_variance, per_channel, read_lane};
use super::{
    Amplifies, AttrKind, Call, Default, EvalError, Family, FetchReal, Kernel, KernelClass, LayoutRule, OpDef,
    TypeError, Types, Unit, Work, attr, one, optional,
};
use crate::ir::{DType, Shape, TensorType};

fn types(c: &Call) -> Result<Types, TypeError> {
    float_operands(c)?;
    let (x, dtype) = (c.operands[0], c.same_dtype(0..c.operands.len())?);
    // For narrow types, the statistics have a type of their own.
    if !matches!(dtype, DType::F32 | DType::F64) || x.numel() == 0 {
        return Err(c.error(format!("takes elements of f32 or f64, not {x}")));
    }
    let channels = channels(c, 1)?;
    let each = TensorType::new(dtype, Shape::from_slice(&[channels])).map_err(|e| c.error(e.to_string()))?;
    Ok(smallvec![x.clone(), each.clone(), each])
}

fn element(c: &Call, slot: usize, index: &[usize], fetch: &mut FetchReal) -> Result<f64, EvalError> {
    let x = c.operands[0];
    let axes: SmallVec<[usize; 4]> = (0..x.rank()).filter(|&d| d != 1).collect();
    let mut at = Shape::from_elem(0, x.rank());
    at[1] = if slot == 0 { index[1] } else { index[0] };
    let (mean, variance) = mean_and_variance(&read_lane(c, &axes, &at, fetch)?);
    // PyTorch's answer to equal elements without an `eps`.
    let scale = if variance + c.float("eps") == 0.0 { 0.0 } else { 1.0 / (variance + c.float("eps")).sqrt() };
    match slot {
        0 => {
            let value = (fetch(0, index)? - mean) * scale;
            per_channel(c, 1, value, index, fetch)
        }
        1 => Ok(mean),
        _ => Ok(scale),
    }
}

/// This table entry of the family of normalisations.
pub(super) static OPS: &[OpDef] = &[OpDef {
    name: "batch_norm_training",
    doc: "`(x - mean) / sqrt(var + eps) * weight + bias` with mean and variance of each channel (dimension 1) over the batch (0); \
          also the means (1) and `1 / sqrt(var + eps)` (2).",
    family: Family::Norm,
    kernels: KernelClass::Moments,
    normalised_together: |c| {
        let x = c.operands[0];
        x.numel() / x.shape[1].max(1)
    },
    operands: &[one("x"), optional("weight"), optional("bias")],
    attrs: &[attr("eps", AttrKind::Float, Default::Float(1e-5))],
    infer: types,
    kernel: Kernel::Real(element),
    amplifies: Amplifies::Inside,
    layout: LayoutRule::Elementwise,
    work: |c, outputs| Work::streaming(c, outputs, 8.0 * c.operands[0].numel() as f64, Unit::Vector),
    aten: aten!(
        "_native_batch_norm_legit.no_stats",
        input: X,
        weight: Given(1),
        bias: Given(2),
        training: Bool(true),
        momentum: Float(0.0),
        eps
    ),
    replay: torch!(
        several | r | {
            let (weight, bias, eps) = (r.given(1), r.given(2), r.c.float("eps"));
            let x = r.x()?;
            let (y, mean, scale) = x.f_internal_native_batch_norm_legit_no_stats(weight, bias, true, 0.0, eps)?;
            vec![y, mean, scale]
        }
    ),
    ..OpDef::PLAIN
}];
