//! Normalisations.

use smallvec::SmallVec;

use super::shapes::visit_axes;
use super::{
    Amplifies, Ask, AttrKind, Bounds, Call, Default, Dims, Elements, EvalError, Family, FetchReal, Interval, Kernel,
    KernelClass, Launch, LayoutRule, OpDef, RowFunction, Supports, Synthesis, TypeError, Types, Vanishes, Work, attr,
    one, optional, support,
};
use crate::ir::DType;

/// Statistics and scaling take about this many operations per element: an estimate that only ranks them behind memory
/// traffic.
const FLOPS: u32 = 8;

/// PyTorch takes any `eps`, but what a negative one gives depends on the order of operations.
pub(super) fn float_operands(c: &Call) -> Result<(), TypeError> {
    let eps = c.float("eps");
    if !(eps.is_finite() && eps >= 0.0) {
        return Err(c.error(format!("takes an `eps` of 0 or more, not {eps}")));
    }
    c.want_float()
}

/// The trailing dimensions of `x` that `normalized_shape` names.
fn normalized_axes(c: &Call) -> SmallVec<[usize; 4]> {
    let rank = c.operands[0].rank();
    (rank - c.ints("normalized_shape").len()..rank).collect()
}

/// Type rule of `layer_norm` and `rms_norm`.
fn trailing_types(c: &Call) -> Result<Types, TypeError> {
    float_operands(c)?;
    let x = c.operands[0];
    let dtype = c.same_dtype(0..c.operands.len())?;
    let sizes = c.ints("normalized_shape");
    let tail = x.rank().checked_sub(sizes.len()).map(|skip| &x.shape[skip..]);
    let fits = |tail: &[usize]| tail.iter().zip(sizes).all(|(&a, &b)| usize::try_from(b) == Ok(a));
    match tail {
        Some(tail) if !tail.is_empty() && fits(tail) => {
            if let Some(p) = c.operands[1..].iter().find(|p| p.shape[..] != *tail) {
                return Err(c.error(format!("needs parameters of shape {tail:?}, not {p}")));
            }
        }
        _ => return Err(c.error(format!("cannot normalise {x} over {sizes:?}"))),
    }
    c.output(dtype, x.shape.clone())
}

/// Scales and shifts a normalised lane by operands 1 and 2 where they are given.
fn affine(
    c: &Call,
    mut lane: Vec<f64>,
    axes: &[usize],
    index: &[usize],
    fetch: &mut FetchReal,
) -> Result<Vec<f64>, EvalError> {
    let parameters = c.operands.len() - 1;
    if parameters == 0 {
        return Ok(lane);
    }
    let mut values = lane.iter_mut();
    visit_axes(&c.operands[0].shape, axes, index, |at| {
        let at = &at[at.len() - axes.len()..];
        if let Some(v) = values.next() {
            *v *= fetch(1, at)?;
            if parameters > 1 {
                *v += fetch(2, at)?;
            }
        }
        Ok(())
    })?;
    Ok(lane)
}

pub(super) fn read_lane(
    c: &Call,
    axes: &[usize],
    index: &[usize],
    fetch: &mut FetchReal,
) -> Result<Vec<f64>, EvalError> {
    let mut lane = Vec::new();
    visit_axes(&c.operands[0].shape, axes, index, |at| {
        lane.push(fetch(0, at)?);
        Ok(())
    })?;
    Ok(lane)
}

pub(super) fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n)
}

/// The size of the channel dimension of `x`, checked against per-channel operands from number `first` on.
pub(super) fn channels(c: &Call, first: usize) -> Result<usize, TypeError> {
    let x = c.operands[0];
    if x.rank() < 2 {
        return Err(c.error(format!("needs a batch and a channel dimension, not {x}")));
    }
    match c.operands.iter().skip(first).find(|p| p.shape[..] != x.shape[1..2]) {
        Some(p) => Err(c.error(format!("needs one parameter per channel of {x}, not {p}"))),
        None => Ok(x.shape[1]),
    }
}

fn group_norm_element(c: &Call, _: usize, index: &[usize], fetch: &mut FetchReal) -> Result<f64, EvalError> {
    let x = c.operands[0];
    let size = x.shape[1] / c.size("groups").max(1);
    let first = index[1] / size.max(1) * size;
    let axes: SmallVec<[usize; 4]> = (2..x.rank()).collect();
    let mut group = Vec::new();
    let mut at: crate::ir::Shape = index.into();
    for channel in first..first + size {
        at[1] = channel;
        group.extend(read_lane(c, &axes, &at, fetch)?);
    }
    let (mean, variance) = mean_and_variance(&group);
    let value = (fetch(0, index)? - mean) / (variance + c.float("eps")).sqrt();
    per_channel(c, 1, value, index, fetch)
}

/// Scales and shifts by the per-channel operands from number `first` on.
pub(super) fn per_channel(
    c: &Call,
    first: usize,
    value: f64,
    index: &[usize],
    fetch: &mut FetchReal,
) -> Result<f64, EvalError> {
    let channel = &index[1..2];
    let scaled = if c.operands.len() > first { value * fetch(first, channel)? } else { value };
    Ok(if c.operands.len() > first + 1 { scaled + fetch(first + 1, channel)? } else { scaled })
}

/// A normalised element is at most the square root of the number of elements, as one of them makes out all of the
/// variance at most.
const NORMALISED: Bounds = Bounds {
    range: |r| {
        let x = r.x()?;
        if r.call.float("eps") <= 0.0 {
            return None;
        }
        let lane: f64 = r.call.ints("normalized_shape").iter().map(|&d| d as f64).product();
        let mut out = if x.is_zero() { x } else { Interval::around_0(lane.sqrt() * 1.001)? };
        if r.known.len() > 1 {
            out = out.times(r.of(1)?)?;
        }
        if r.known.len() > 2 { out.plus(r.of(2)?) } else { Some(out) }
    },
    magnitude: |m| {
        let weight = if m.call.operands.len() > 1 { m.of(1) } else { 1.0 };
        (m.call.operands[0].numel() as f64).sqrt() * weight + m.of(2)
    },
};

/// Where the last dimension alone is normalised and all that goes in is finite.
fn normalises_last(s: &Supports) -> bool {
    s.is_finite() && s.call.ints("normalized_shape").len() == 1
}

fn layer_norm_support(s: &Supports) -> Option<Dims> {
    if !normalises_last(s) {
        return None;
    }
    let mut last = s.operand(1)?.dim(0);
    if let Some(bias) = s.operands.get(2) {
        last = support::joined(last, bias.broadcast(&s.ty.shape).pop()?);
    }
    let mut dims: Dims = (1..s.ty.rank()).map(|_| None).collect();
    dims.push(last);
    Some(dims)
}

fn rms_norm_support(s: &Supports) -> Option<Dims> {
    if !normalises_last(s) {
        return None;
    }
    let mut dims = support::same(s)?;
    if let (Some(weight), Some(last)) = (s.operands.get(1), dims.last_mut()) {
        *last = support::common(last.clone(), weight.dim(0));
    }
    Some(dims)
}

/// What the normalisations have in common.
const NORM: OpDef = OpDef {
    family: Family::Norm,
    kernels: KernelClass::Rows,
    work: Work::per_input::<FLOPS>,
    amplifies: Amplifies::Inside,
    ..OpDef::PLAIN
};

/// The table entries of this family.
pub(super) static OPS: &[OpDef] = &[
    OpDef {
        name: "layer_norm",
        launch: Launch::Rows,
        elements: Elements::Lane(RowFunction::LayerNorm),
        doc: "Mean 0 and variance 1 over the trailing dimensions, then scale and shift.",
        operands: &[one("x"), optional("weight"), optional("bias")],
        attrs: &[
            attr("normalized_shape", AttrKind::Ints, Default::Required),
            attr("eps", AttrKind::Float, Default::Float(1e-5)),
        ],
        infer: trailing_types,
        kernel: Kernel::RealLane {
            axes: normalized_axes,
            lane: |c, _, index, fetch| {
                let axes = normalized_axes(c);
                let mut lane = read_lane(c, &axes, index, fetch)?;
                let (mean, variance) = mean_and_variance(&lane);
                let scale = 1.0 / (variance + c.float("eps")).sqrt();
                lane.iter_mut().for_each(|v| *v = (*v - mean) * scale);
                affine(c, lane, &axes, index, fetch)
            },
        },
        aten: aten!("layer_norm", input: X, normalized_shape, weight: Given(1), bias: Given(2), eps),
        replay: torch!(|r| r.x()?.f_layer_norm(
            r.c.ints("normalized_shape"),
            r.given(1),
            r.given(2),
            r.c.float("eps"),
            true
        )?),
        bounds: NORMALISED,
        synthesis: Synthesis::Normalise,
        vanishes: Vanishes::With { operand: 0, bias: Some(2) },
        support: layer_norm_support,
        ..NORM
    },
    OpDef {
        name: "rms_norm",
        launch: Launch::Rows,
        elements: Elements::Lane(RowFunction::RmsNorm),
        doc: "Root mean square 1 over the trailing dimensions, then scale.",
        operands: &[one("x"), optional("weight")],
        attrs: &[
            attr("normalized_shape", AttrKind::Ints, Default::Required),
            attr("eps", AttrKind::Float, Default::Required),
        ],
        infer: trailing_types,
        kernel: Kernel::RealLane {
            axes: normalized_axes,
            lane: |c, _, index, fetch| {
                let axes = normalized_axes(c);
                let mut lane = read_lane(c, &axes, index, fetch)?;
                let mean_square = lane.iter().map(|v| v * v).sum::<f64>() / lane.len() as f64;
                let scale = 1.0 / (mean_square + c.float("eps")).sqrt();
                lane.iter_mut().for_each(|v| *v *= scale);
                affine(c, lane, &axes, index, fetch)
            },
        },
        aten: aten!("rms_norm", input: X, normalized_shape, weight: Given(1), eps),
        replay: torch!(|r| r.x()?.f_rms_norm(r.c.ints("normalized_shape"), r.given(1), r.c.float("eps"))?),
        bounds: NORMALISED,
        synthesis: Synthesis::Normalise,
        vanishes: Vanishes::With { operand: 0, bias: None },
        support: rms_norm_support,
        ..NORM
    },
    OpDef {
        name: "group_norm",
        doc: "Mean 0 and variance 1 over groups of channels, then scale and shift per channel.",
        operands: &[one("x"), optional("weight"), optional("bias")],
        attrs: &[attr("groups", AttrKind::Int, Default::Required), attr("eps", AttrKind::Float, Default::Float(1e-5))],
        infer: |c| {
            float_operands(c)?;
            let dtype = c.same_dtype(0..c.operands.len())?;
            let count = channels(c, 1)?;
            match usize::try_from(c.int("groups")) {
                Ok(groups) if groups > 0 && count.is_multiple_of(groups) => {}
                _ => return Err(c.error(format!("cannot cut {count} channels into {} groups", c.int("groups")))),
            }
            c.output(dtype, c.operands[0].shape.clone())
        },
        kernel: Kernel::Real(group_norm_element),
        aten: aten!("group_norm", input: X, num_groups: Attr("groups"), weight: Given(1), bias: Given(2), eps),
        replay: torch!(|r| r.x()?.f_group_norm(r.c.int("groups"), r.given(1), r.given(2), r.c.float("eps"), true)?),
        synthesis: Synthesis::NormaliseChannels { wide: false },
        kernels: KernelClass::Moments,
        normalised_together: |c| {
            let x = c.operands[0];
            let groups = usize::try_from(c.int("groups")).unwrap_or(1) * x.shape[0];
            x.numel() / groups.max(1)
        },
        ..NORM
    },
    OpDef {
        name: "batch_norm",
        doc: "`(x - mean) / sqrt(var + eps)` per channel, then scale and shift: inference, with given statistics.",
        operands: &[one("x"), one("mean"), one("var"), optional("weight"), optional("bias")],
        statistics: Some((1, 2)),
        attrs: &[attr("eps", AttrKind::Float, Default::Float(1e-5))],
        infer: |c| {
            float_operands(c)?;
            let x = c.operands[0];
            // Statistics and parameters may be kept in f32 for a narrower input.
            let parameters = c.same_dtype(1..c.operands.len())?;
            if parameters != x.dtype && parameters != DType::F32 {
                return Err(c.error(format!("takes no {parameters} parameters for {x}")));
            }
            if parameters != x.dtype && !matches!(x.dtype, DType::F16 | DType::BF16) {
                return Err(c.error(format!("takes no {parameters} parameters for {x}")));
            }
            if channels(c, 1)? == 0 {
                return Err(c.error(format!("needs a channel, which {x} lacks")));
            }
            c.output(x.dtype, x.shape.clone())
        },
        kernel: Kernel::Real(|c, _, index, fetch| {
            let channel = &index[1..2];
            let deviation = (fetch(2, channel)? + c.float("eps")).sqrt();
            let value = (fetch(0, index)? - fetch(1, channel)?) / deviation;
            per_channel(c, 3, value, index, fetch)
        }),
        amplifies: Amplifies::Never,
        layout: LayoutRule::Elementwise,
        aten: aten!(
            "batch_norm",
            input: X,
            weight: Given(3),
            bias: Given(4),
            running_mean: Y,
            running_var: Z,
            training: Bool(false),
            momentum: Float(0.0),
            eps,
            cudnn_enabled: Bool(true)
        ),
        replay: torch!(|r| {
            let (mean, var, weight, bias) = (r.given(1), r.given(2), r.given(3), r.given(4));
            r.x()?.f_batch_norm(weight, bias, mean, var, false, 0.0, r.c.float("eps"), true)?
        }),
        synthesis: Synthesis::NormaliseChannels { wide: true },
        asks: |_| vec![(2, Ask::Positive)],
        ..NORM
    },
];
