//! Convolutions.

use super::operator::{Operator, microsoft, standard};
use crate::frontend::builder::{Refusal, int, ints};
use crate::frontend::onnx::lowering::{Lowered, NodeLowering, one};
use crate::ir::{AttrValue, DType, Value};

pub(super) const OPERATORS: &[Operator] = &[
    standard("Conv", &[1, 11, 22], convolution),
    standard("ConvTranspose", &[1, 11, 22], transposed),
    standard("CausalConvWithState", &[27], causal),
    standard("Col2Im", &[18], col2im),
    microsoft("FusedConv", fused),
];

/// How windows lie on an image.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    pub kernel: Vec<i64>,
    pub strides: Vec<i64>,
    pub dilations: Vec<i64>,
    /// Before and behind each dimension.
    pub pads: Vec<[i64; 2]>,
}

/// A list with one entry per spatial dimension.
pub(super) fn per_dimension(s: &NodeLowering, name: &str, count: usize, default: i64) -> Result<Vec<i64>, Refusal> {
    let all = s.int_list(name)?.filter(|all| !all.is_empty()).unwrap_or_else(|| vec![default; count]);
    if all.len() != count {
        return Err(Refusal::new(format!("has {} entries in `{name}` for {count} dimensions", all.len())));
    }
    Ok(all)
}

impl Windows {
    /// The windows of an operator on images of these sizes, with kernels of these sizes.
    pub(super) fn of(s: &NodeLowering, sizes: &[i64], kernel: Vec<i64>) -> Result<Windows, Refusal> {
        let count = sizes.len();
        let strides = per_dimension(s, "strides", count, 1)?;
        let dilations = per_dimension(s, "dilations", count, 1)?;
        if kernel.len() != count || strides.iter().chain(&dilations).chain(&kernel).any(|n| !(1..=1 << 31).contains(n))
        {
            return Err(Refusal::new(format!("has windows of size {kernel:?}, steps {strides:?} and {dilations:?}")));
        }
        let given = per_dimension(s, "pads", 2 * count, 0)?;
        if given.iter().any(|&p| !(0..1 << 31).contains(&p)) {
            return Err(Refusal::new(format!("has the padding {given:?}")));
        }
        let auto = s.text("auto_pad", "NOTSET")?;
        let pads = (0..count)
            .map(|d| {
                // As many windows as steps fit into the image.
                let windows = (sizes[d] + strides[d] - 1) / strides[d];
                let reach = dilations[d] * (kernel[d] - 1) + 1;
                let total = ((windows - 1) * strides[d] + reach - sizes[d]).max(0);
                match auto {
                    "NOTSET" | "" => Ok([given[d], given[d + count]]),
                    "VALID" => Ok([0, 0]),
                    "SAME_UPPER" => Ok([total / 2, total - total / 2]),
                    "SAME_LOWER" => Ok([total - total / 2, total / 2]),
                    other => Err(Refusal::new(format!("pads automatically by {other:?}"))),
                }
            })
            .collect::<Result<_, _>>()?;
        Ok(Windows { kernel, strides, dilations, pads })
    }

    /// What is put on both sides of each dimension alike.
    pub(super) fn even(&self) -> Vec<i64> {
        self.pads.iter().map(|[low, high]| *low.min(high)).collect()
    }

    /// What is missing then, as sizes for all dimensions of an image.
    pub(super) fn rest(&self) -> Option<Vec<i64>> {
        let rest: Vec<i64> = [0; 4]
            .into_iter()
            .chain(self.pads.iter().flat_map(|[low, high]| [low - low.min(high), high - low.min(high)]))
            .collect();
        rest.iter().any(|&p| p != 0).then_some(rest)
    }
}

/// Sizes behind batch and channel.
pub(super) fn spatial(s: &NodeLowering, x: Value) -> Result<Vec<i64>, Refusal> {
    let shape = s.shape(x);
    if shape.len() < 3 {
        return Err(Refusal::new(format!("takes a batch of images, not {}", s.ty(x))));
    }
    Ok(shape[2..].iter().map(|&d| d as i64).collect())
}

/// A convolution of `x` with `w`, whatever the padding is.
pub(super) fn convolved(
    s: &mut NodeLowering,
    x: Value,
    w: Value,
    bias: Option<Value>,
) -> Result<Option<Value>, Refusal> {
    let sizes = spatial(s, x)?;
    if !(1..=3).contains(&sizes.len()) {
        return Ok(None);
    }
    let kernel: Vec<i64> = s.shape(w).iter().skip(2).map(|&d| d as i64).collect();
    if s.int_list("kernel_shape")?.is_some_and(|stated| stated != kernel) {
        return Err(Refusal::new(format!("states another kernel than {}", s.ty(w))));
    }
    let windows = Windows::of(s, &sizes, kernel)?;
    let mut x = x;
    if let Some(rest) = windows.rest() {
        let zero = if s.dtype(x).is_float() { AttrValue::float(0.0) } else { AttrValue::Int(0) };
        x = s.op("pad", &[("pad", ints(&rest)), ("value", zero)], &[x])?;
    }
    let attrs = [
        ("stride", ints(&windows.strides)),
        ("padding", ints(&windows.even())),
        ("dilation", ints(&windows.dilations)),
        ("groups", int(s.int("group", 1)?)),
    ];
    let operands: Vec<Value> = [Some(x), Some(w), bias].into_iter().flatten().collect();
    let op = ["conv1d", "conv2d", "conv3d"][sizes.len() - 1];
    s.op(op, &attrs, &operands).map(Some)
}

fn convolution(s: &mut NodeLowering) -> Lowered {
    let (x, w, bias) = (s.x(0)?, s.x(1)?, s.maybe(2)?);
    Ok(convolved(s, x, w, bias)?.map(|y| vec![y.into()]))
}

/// A convolution, the sum with a residual, and an activation.
fn fused(s: &mut NodeLowering) -> Lowered {
    let (x, w, bias) = (s.x(0)?, s.x(1)?, s.maybe(2)?);
    let Some(mut y) = convolved(s, x, w, bias)? else { return Ok(None) };
    if let Some(residual) = s.maybe(3)? {
        y = s.binary("add", y, residual)?;
    }
    let numbers = s.float_list("activation_params");
    let number = |i: usize, default: f64| numbers.get(i).copied().unwrap_or(default);
    match s.text("activation", "")? {
        "" => one(y),
        "Relu" => s.done("relu", &[], &[y]),
        "Tanh" => s.done("tanh", &[], &[y]),
        "Sigmoid" => s.done("sigmoid", &[], &[y]),
        "LeakyRelu" => s.done("leaky_relu", &[("negative_slope", AttrValue::float(number(0, 0.01)))], &[y]),
        "Clip" => {
            let (low, high) = (number(0, f64::NEG_INFINITY), number(1, f64::INFINITY));
            s.done("clamp", &[("min", AttrValue::float(low)), ("max", AttrValue::float(high))], &[y])
        }
        "HardSigmoid" => one(super::activation::hard_sigmoid(s, y, number(0, 0.2), number(1, 0.5))?),
        other => Err(Refusal::new(format!("has the unknown activation {other:?}"))),
    }
}

fn transposed(s: &mut NodeLowering) -> Lowered {
    let (x, w, bias) = (s.x(0)?, s.x(1)?, s.maybe(2)?);
    let sizes = spatial(s, x)?;
    let count = sizes.len();
    if !(1..=3).contains(&count) {
        return Ok(None);
    }
    let kernel: Vec<i64> = s.shape(w).iter().skip(2).map(|&d| d as i64).collect();
    let strides = per_dimension(s, "strides", count, 1)?;
    let dilations = per_dimension(s, "dilations", count, 1)?;
    let more = per_dimension(s, "output_padding", count, 0)?;
    let given = per_dimension(s, "pads", 2 * count, 0)?;
    let wanted = s.int_list("output_shape")?.filter(|all| !all.is_empty());
    if strides.iter().chain(&dilations).chain(&kernel).any(|&n| !(1..1 << 31).contains(&n)) || kernel.len() != count {
        return Err(Refusal::new(format!("has windows of size {kernel:?}, steps {strides:?} and {dilations:?}")));
    }
    let auto = s.text("auto_pad", "NOTSET")?;
    // The whole result, of which the padding is cut off.
    let whole: Vec<i64> =
        (0..count).map(|d| strides[d] * (sizes[d] - 1) + dilations[d] * (kernel[d] - 1) + 1).collect();
    let cut = |d: usize| -> Result<[i64; 2], Refusal> {
        let to = match (&wanted, auto) {
            (Some(all), _) => *all.get(all.len().saturating_sub(count) + d).unwrap_or(&0),
            (None, "SAME_UPPER" | "SAME_LOWER") => sizes[d] * strides[d],
            (None, "VALID") => whole[d] + more[d],
            (None, "NOTSET" | "") => return Ok([given[d], given[d + count]]),
            (None, other) => return Err(Refusal::new(format!("pads automatically by {other:?}"))),
        };
        let total = whole[d] + more[d] - to;
        if total < 0 {
            // What is missing is added behind.
            return Ok([0, total]);
        }
        Ok(if auto == "SAME_UPPER" { [total / 2, total - total / 2] } else { [total - total / 2, total / 2] })
    };
    let cuts = (0..count).map(cut).collect::<Result<Vec<_>, _>>()?;
    let groups = ("groups", int(s.int("group", 1)?));
    let operands: Vec<Value> = [Some(x), Some(w), bias].into_iter().flatten().collect();
    let op = ["conv_transpose1d", "conv_transpose2d", "conv_transpose3d"][count - 1];
    let even = cuts.iter().all(|[low, high]| low == high && *low >= 0);
    let small = (0..count).all(|d| more[d] < strides[d] || more[d] < dilations[d]);
    let padding: Vec<i64> = cuts.iter().map(|c| if even && small { c[0] } else { 0 }).collect();
    let own: Vec<i64> = more.iter().map(|&n| if even && small { n } else { 0 }).collect();
    let attrs = [
        ("stride", ints(&strides)),
        ("padding", ints(&padding)),
        ("output_padding", ints(&own)),
        ("dilation", ints(&dilations)),
        groups,
    ];
    if even && small {
        return s.done(op, &attrs, &operands);
    }
    // Without bias, which is everywhere in the result, its padding included.
    let y = s.op(op, &attrs, &operands[..2])?;
    let pad: Vec<i64> =
        [0; 4].into_iter().chain((0..count).flat_map(|d| [-cuts[d][0], more[d] - cuts[d][1]])).collect();
    let y = s.op("pad", &[("pad", ints(&pad))], &[y])?;
    match bias {
        None => one(y),
        Some(bias) => {
            let rank = s.rank(y);
            let bias = super::norm::per_channel(s, bias, rank, 1)?;
            s.done("add", &[], &[y, bias])
        }
    }
}

/// A convolution along lines, one kernel per channel, of the last inputs of the step before and those of this one.
fn causal(s: &mut NodeLowering) -> Lowered {
    let (x, w, bias) = (s.x(0)?, s.x(1)?, s.maybe(2)?);
    let (channels, width) = (s.size(x, 1), s.size(w, 2));
    let before = match s.maybe(3)? {
        Some(state) => state,
        None => {
            let batch = s.size(x, 0);
            let dtype = s.dtype(x);
            s.full(&[batch, channels, width - 1], 0.0, dtype)?
        }
    };
    let line = s.concat(&[before, x], 2)?;
    let attrs = [("stride", ints(&[1])), ("padding", ints(&[0])), ("dilation", ints(&[1])), ("groups", int(channels))];
    let operands: Vec<Value> = [Some(line), Some(w), bias].into_iter().flatten().collect();
    let mut y = s.op("conv1d", &attrs, &operands)?;
    match s.text("activation", "none")? {
        "none" | "" => {}
        "silu" | "swish" => y = s.unary("silu", y)?,
        other => return Err(Refusal::new(format!("has the unknown activation {other:?}"))),
    }
    let end = s.size(line, 2);
    let state = s.slice(line, 2, end - (width - 1), end)?;
    Ok(Some(vec![y.into(), state.into()]))
}

fn col2im(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let image = s.fixed_ints(1)?.ok_or_else(|| Refusal::new("needs the size of the image"))?;
    let kernel = s.fixed_ints(2)?.ok_or_else(|| Refusal::new("needs the size of blocks"))?;
    let count = image.len();
    if kernel.len() != count || s.dtype(x) == DType::Bool {
        return Err(Refusal::new(format!("has blocks {kernel:?} in images {image:?}")));
    }
    let (strides, dilations) = (per_dimension(s, "strides", count, 1)?, per_dimension(s, "dilations", count, 1)?);
    let pads = per_dimension(s, "pads", 2 * count, 0)?;
    if count != 2 || pads[..2] != pads[2..] {
        return Ok(None);
    }
    let attrs = [
        ("output_size", ints(&image)),
        ("kernel_size", ints(&kernel)),
        ("dilation", ints(&dilations)),
        ("padding", ints(&pads[..2])),
        ("stride", ints(&strides)),
    ];
    s.done("col2im", &attrs, &[x])
}
