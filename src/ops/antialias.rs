//! Images of another size, without the patterns that picking elements leaves: where they shrink, each new element is a mean of all that
//! it covers.

use smallvec::SmallVec;

use super::resample::{resampled, rounded, sizes};
use super::{
    AttrKind, Call, Default, Elements, EvalError, Family, FetchReal, Kernel, KernelClass, Moved, OpDef, Unit, Work,
    attr, one,
};
use crate::ir::{Shape, TensorType};

/// The parameter of PyTorch's cubic curve here: that of other image libraries.
const CUBIC: f64 = -0.5;

/// Elements along one dimension that one new element is computed from: more than this, and the budget would not see them.
const MAX_TAPS: usize = 1 << 12;

/// The weight of an element at a distance from the middle.
type Curve = fn(f64) -> f64;

/// How far the curve of a mode reaches to each side, and its value at a distance from its middle.
fn curve(mode: &str) -> Option<(f64, Curve)> {
    match mode {
        "linear" => Some((1.0, |x| (1.0 - x.abs()).max(0.0))),
        "cubic" => Some((2.0, |x| {
            let x = x.abs();
            match x {
                _ if x < 1.0 => ((CUBIC + 2.0) * x - (CUBIC + 3.0)) * x * x + 1.0,
                _ if x < 2.0 => ((CUBIC * x - 5.0 * CUBIC) * x + 8.0 * CUBIC) * x - 4.0 * CUBIC,
                _ => 0.0,
            }
        })),
        _ => None,
    }
}

/// How many old elements one new element stands for, along spatial dimension `d`.
fn scale(c: &Call, d: usize) -> f64 {
    match (sizes(c, d), c.bool("align_corners")) {
        ((_, 1), true) => 0.0,
        ((input, output), true) => rounded(c, (input - 1) as f64 / (output - 1) as f64),
        ((input, output), false) => rounded(c, input as f64 / output as f64),
    }
}

/// The old elements along spatial dimension `d` that element `at` is computed from: the first one, and the weights from there on.
fn taps(c: &Call, d: usize, at: usize) -> Result<(usize, Vec<f64>), EvalError> {
    let (reach, curve) = curve(c.str("mode")).ok_or_else(|| EvalError::NoSemantics(c.op.name.into()))?;
    let (input, _) = sizes(c, d);
    let scale = scale(c, d);
    // The curve is as wide as what one new element stands for.
    let (support, narrow) = if scale >= 1.0 { (rounded(c, reach * scale), 1.0 / scale) } else { (reach, 1.0) };
    let middle = rounded(c, scale * (at as f64 + 0.5));
    let first = (middle - support + 0.5).max(0.0) as usize;
    let end = ((middle + support + 0.5).max(0.0) as usize).min(input);
    let count = end.saturating_sub(first);
    if count > MAX_TAPS {
        return Err(EvalError::Budget);
    }
    let weight = |i: usize| rounded(c, curve(((first + i) as f64 - middle + 0.5) * narrow));
    let weights: Vec<f64> = (0..count).map(weight).collect();
    let sum = weights.iter().sum::<f64>();
    let share = |weight: f64| if sum == 0.0 { weight } else { rounded(c, weight / sum) };
    Ok((first, weights.into_iter().map(share).collect()))
}

fn element(c: &Call, _: usize, index: &[usize], fetch: &mut FetchReal) -> Result<f64, EvalError> {
    let (top, vertical) = taps(c, 0, index[2])?;
    let (left, horizontal) = taps(c, 1, index[3])?;
    let mut at = Shape::from_slice(index);
    let mut sum = 0.0;
    for (row, &high) in vertical.iter().enumerate() {
        at[2] = top + row;
        for (column, &wide) in horizontal.iter().enumerate() {
            at[3] = left + column;
            sum += high * wide * fetch(0, &at)?;
        }
    }
    Ok(sum)
}

/// One dimension after the other: first the rows, then what came of them.
fn work(c: &Call, outputs: &[TensorType]) -> Work {
    let reach = curve(c.str("mode")).map_or(1.0, |(reach, _)| reach);
    let taps: SmallVec<[f64; 2]> = (0..2).map(|d| 2.0 * reach * scale(c, d).max(1.0)).collect();
    let written: f64 = outputs.iter().map(|t| t.numel() as f64).sum();
    let (input, output) = sizes(c, 0);
    let rows = written * input as f64 / output as f64;
    Work::streaming(c, outputs, 2.0 * (rows * taps[1] + written * taps[0]), Unit::Vector)
}

/// This table entry of the family of convolutions.
pub(super) static OPS: &[OpDef] = &[OpDef {
    name: "upsample_antialiased",
    doc: "Height and width of (batch, channel, height, width) brought to `size` by the curve that `mode` names, \"linear\" or \
          \"cubic\", which is as wide as the old elements that a new one stands for; `align_corners` puts the outermost elements in \
          the same places.",
    family: Family::Conv,
    kernels: KernelClass::Window,
    operands: &[one("x")],
    attrs: &[
        attr("size", AttrKind::Ints, Default::Required),
        attr("mode", AttrKind::Str, Default::Required),
        attr("align_corners", AttrKind::Bool, Default::Bool(false)),
    ],
    infer: |c| match curve(c.str("mode")) {
        Some(_) => resampled(c, 2..=2),
        None => Err(c.error(format!("knows no curve {:?}", c.str("mode")))),
    },
    elements: Elements::Weighted(Moved::All),
    digits: |r| r.same_if(r.dim() < 2),
    kernel: Kernel::Real(element),
    work,
    aten: aten!(|c| super::aten_formulas::antialiased_call(c)),
    replay: torch!(|r| {
        let (corners, none) = (r.c.bool("align_corners"), None::<f64>);
        let resample = |x: &tch::Tensor, size: &[i64]| match r.c.str("mode") {
            "cubic" => x.f_internal_upsample_bicubic2d_aa(size, corners, none, none),
            _ => x.f_internal_upsample_bilinear2d_aa(size, corners, none, none),
        };
        match (r.x()?, r.c.ints("size")) {
            // On a CPU, PyTorch 2.11 gives every row of a result one column wide the values of the first row.
            (x, &[rows, 1]) if r.device == tch::Device::Cpu => {
                resample(&x.f_transpose(-2, -1)?, &[1, rows])?.f_transpose(-2, -1)?.f_contiguous()?
            }
            (x, size) => resample(x, size)?,
        }
    }),
    ..OpDef::PLAIN
}];
