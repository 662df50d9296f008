//! Images of another size, and images with more around them.

use smallvec::SmallVec;

use super::{
    AttrKind, Call, Default, Elements, EvalError, Family, Fetch, FetchReal, Kernel, KernelClass, Moved, Movement,
    OpDef, TypeError, Types, Unit, Work, attr, one,
};
use crate::ir::{DType, Number, Shape, TensorType};

/// The parameter of PyTorch's cubic curve.
const CUBIC: f64 = -0.75;

/// Places of one dimension of the operand, with their weights.
type Taps = SmallVec<[(usize, f64); 4]>;

pub(super) fn resampled(c: &Call, spatial: std::ops::RangeInclusive<usize>) -> Result<Types, TypeError> {
    c.want_float()?;
    let (x, sizes) = (c.operands[0], c.ints("size"));
    if !spatial.contains(&sizes.len()) || x.rank() != sizes.len() + 2 || x.numel() == 0 {
        return Err(c.error(format!("cannot bring {x} to {sizes:?}")));
    }
    let mut shape = Shape::from_slice(&x.shape[..2]);
    for &size in sizes {
        let size = usize::try_from(size).ok().filter(|&s| s > 0);
        shape.push(size.ok_or_else(|| c.error(format!("cannot bring {x} to {sizes:?}")))?);
    }
    c.output(x.dtype, shape)
}

/// Sizes of spatial dimension `d` of operand and result.
pub(super) fn sizes(c: &Call, d: usize) -> (usize, usize) {
    (c.operands[0].shape[2 + d], c.ints("size")[d] as usize)
}

/// The nearest element, in the single precision that PyTorch computes places in.
fn nearest(c: &Call, d: usize, at: usize) -> usize {
    let (input, output) = sizes(c, d);
    let scale = input as f32 / output as f32;
    let place = match c.bool("exact") {
        true => ((at as f64 + 0.5) * f64::from(scale)) as f32,
        false => at as f32 * scale,
    };
    (place.floor() as usize).min(input - 1)
}

/// A number in the type that PyTorch computes places and weights in: f64 for elements of f64, else f32.
pub(super) fn rounded(c: &Call, value: f64) -> f64 {
    if c.operands[0].dtype == DType::F64 { value } else { f64::from(value as f32) }
}

/// Where element `at` of the result lies among the elements of the operand.
fn place(c: &Call, d: usize, at: usize) -> f64 {
    let (input, output) = sizes(c, d);
    let (at, step) = (at as f64, |from: usize, to: usize| rounded(c, from as f64 / to as f64));
    match c.bool("align_corners") {
        true if output > 1 => rounded(c, at * step(input - 1, output - 1)),
        true => 0.0,
        false => rounded(c, rounded(c, (at + 0.5) * step(input, output)) - 0.5),
    }
}

fn linear(c: &Call, d: usize, at: usize) -> Taps {
    let (input, _) = sizes(c, d);
    let place = place(c, d, at).max(0.0);
    let first = (place.floor() as usize).min(input - 1);
    let weight = rounded(c, place - first as f64).min(1.0);
    SmallVec::from_slice(&[(first, 1.0 - weight), ((first + 1).min(input - 1), weight)])
}

fn cubic(c: &Call, d: usize, at: usize) -> Taps {
    let (input, _) = sizes(c, d);
    let place = place(c, d, at);
    let r = |value: f64| rounded(c, value);
    let (first, t) = (place.floor(), r(place - place.floor()));
    // Each step is rounded, in the order in which PyTorch computes them.
    let near = |x: f64| r(r(r(r(r((CUBIC + 2.0) * x) - (CUBIC + 3.0)) * x) * x) + 1.0);
    let far = |x: f64| r(r(r(r(r(r(CUBIC * x) - 5.0 * CUBIC) * x) + 8.0 * CUBIC) * x) - 4.0 * CUBIC);
    let rest = r(1.0 - t);
    let weights = [far(r(t + 1.0)), near(t), near(rest), far(r(rest + 1.0))];
    let inside = |i: f64| i.clamp(0.0, (input - 1) as f64) as usize;
    weights.into_iter().zip(-1..).map(|(weight, i)| (inside(first + f64::from(i)), weight)).collect()
}

/// The sum of the elements at all combinations of `taps`, each times its weights.
fn weighted(
    c: &Call,
    index: &[usize],
    fetch: &mut FetchReal,
    taps: fn(&Call, usize, usize) -> Taps,
) -> Result<f64, EvalError> {
    let mut sums: SmallVec<[(Shape, f64); 16]> = SmallVec::from_elem((Shape::from_slice(&index[..2]), 1.0), 1);
    for (d, &at) in index[2..].iter().enumerate() {
        let along = taps(c, d, at);
        let with = |(cell, weight): &(Shape, f64)| {
            let (cell, weight) = (cell.clone(), *weight);
            along.clone().into_iter().map(move |(i, w)| {
                let mut cell = cell.clone();
                cell.push(i);
                (cell, weight * w)
            })
        };
        sums = sums.iter().flat_map(with).collect();
    }
    sums.iter().try_fold(0.0, |sum, (cell, weight)| Ok(sum + weight * fetch(0, cell)?))
}

/// A kernel that reads about as much as it writes, or all of its operand.
fn work(c: &Call, outputs: &[TensorType], per_element: f64) -> Work {
    let elements: f64 = outputs.iter().map(|t| t.numel() as f64).sum();
    Work::streaming(c, outputs, per_element * elements, Unit::Vector)
}

/// How much there is more in front of and behind each of the last dimensions.
fn around(c: &Call) -> SmallVec<[(i64, i64); 3]> {
    c.ints("pad").chunks_exact(2).map(|p| (p[0], p[1])).collect()
}

fn padded(c: &Call) -> Result<Types, TypeError> {
    c.want_float()?;
    let (x, pad, mode) = (c.operands[0], around(c), c.str("mode"));
    let wrong = || c.error(format!("cannot pad {x} by {:?} in the mode {mode:?}", c.ints("pad")));
    let fits = c.ints("pad").len().is_multiple_of(2) && (1..=3).contains(&pad.len());
    if !fits || !(pad.len() + 1..=pad.len() + 2).contains(&x.rank()) || x.numel() == 0 {
        return Err(wrong());
    }
    let mut shape = x.shape.clone();
    for (size, &(low, high)) in shape.iter_mut().rev().zip(pad.iter().rev()) {
        let most = match mode {
            // The element at the edge is not repeated.
            "reflect" => *size as i64 - 1,
            "circular" => *size as i64,
            "replicate" => i64::MAX,
            _ => return Err(wrong()),
        };
        if !(0..=most).contains(&low) || !(0..=most).contains(&high) {
            return Err(wrong());
        }
        *size = (*size as i64).checked_add(low).and_then(|n| n.checked_add(high)).ok_or_else(wrong)? as usize;
    }
    c.output(x.dtype, shape)
}

fn padded_element(c: &Call, _: usize, index: &[usize], fetch: &mut Fetch) -> Result<Number, EvalError> {
    let (x, pad) = (c.operands[0], around(c));
    let mut from = Shape::from_slice(index);
    let first = x.rank() - pad.len();
    for (d, &(low, _)) in pad.iter().enumerate() {
        let size = x.shape[first + d] as i64;
        let at = index[first + d] as i64 - low;
        let at = match c.str("mode") {
            "circular" => at.rem_euclid(size),
            "reflect" if at < 0 => -at,
            "reflect" if at >= size => 2 * (size - 1) - at,
            _ => at.clamp(0, size - 1),
        };
        from[first + d] = at as usize;
    }
    fetch(0, &from)
}

/// What the operators here have in common.
const RESAMPLED: OpDef = OpDef {
    family: Family::Conv,
    kernels: KernelClass::Window,
    operands: &[one("x")],
    attrs: &[
        attr("size", AttrKind::Ints, Default::Required),
        attr("align_corners", AttrKind::Bool, Default::Bool(false)),
    ],
    infer: |c| resampled(c, 1..=3),
    work: |c, outputs| work(c, outputs, 8.0),
    ..OpDef::PLAIN
};

/// These table entries of the family of convolutions.
pub(super) static OPS: &[OpDef] = &[
    OpDef {
        name: "upsample_nearest",
        elements: Elements::Moved(Moved::All, Movement::Pattern),
        digits: |r| r.same_if(r.dim() < 2),
        doc: "The spatial dimensions, those behind the first two, brought to `size` by taking the nearest element: with `exact`, to \
              the middle of the new one, else to its start.",
        attrs: &[attr("size", AttrKind::Ints, Default::Required), attr("exact", AttrKind::Bool, Default::Bool(false))],
        kernel: Kernel::Element(|c, _, index, fetch| {
            let mut from = Shape::from_slice(index);
            for d in 0..index.len() - 2 {
                from[2 + d] = nearest(c, d, index[2 + d]);
            }
            fetch(0, &from)
        }),
        work: |c, outputs| work(c, outputs, 0.0),
        aten: aten!(|c| super::aten_formulas::nearest_call(c)),
        replay: torch!(|r| r.nearest()?),
        ..RESAMPLED
    },
    OpDef {
        name: "upsample_linear",
        elements: Elements::Weighted(Moved::All),
        digits: |r| r.same_if(r.dim() < 2),
        doc: "The spatial dimensions, those behind the first two, brought to `size` by linear interpolation; `align_corners` puts \
              the outermost elements in the same places.",
        kernel: Kernel::Real(|c, _, index, fetch| weighted(c, index, fetch, linear)),
        aten: aten!(|c| super::aten_formulas::linear_call(c)),
        replay: torch!(|r| r.linear_interpolation()?),
        ..RESAMPLED
    },
    OpDef {
        name: "upsample_bicubic",
        elements: Elements::Weighted(Moved::All),
        digits: |r| r.same_if(r.dim() < 2),
        doc: "Height and width of (batch, channel, height, width) brought to `size` by cubic interpolation; `align_corners` puts \
              the outermost elements in the same places.",
        infer: |c| resampled(c, 2..=2),
        kernel: Kernel::Real(|c, _, index, fetch| weighted(c, index, fetch, cubic)),
        work: |c, outputs| work(c, outputs, 32.0),
        aten: aten!("upsample_bicubic2d", self: X, output_size: Attr("size"), align_corners),
        replay: torch!(|r| r.x()?.f_upsample_bicubic2d(
            r.c.ints("size"),
            r.c.bool("align_corners"),
            None::<f64>,
            None::<f64>
        )?),
        ..RESAMPLED
    },
    OpDef {
        name: "pad_edges",
        elements: Elements::Moved(Moved::All, Movement::Pattern),
        digits: |r| r.same_if(r.dim() + r.call.ints("pad").len() / 2 < r.result.rank()),
        doc: "Elements of `x` around it: `pad` holds low and high sizes for each of the last dimensions, outermost first; `mode` is \
              \"reflect\" (mirrored at the outermost elements), \"replicate\" (these repeated) or \"circular\" (from the other end).",
        attrs: &[attr("pad", AttrKind::Ints, Default::Required), attr("mode", AttrKind::Str, Default::Required)],
        family: Family::Index,
        kernels: KernelClass::Streaming,
        infer: padded,
        kernel: Kernel::Element(padded_element),
        work: |c, outputs| work(c, outputs, 0.0),
        aten: aten!(|c| super::aten_formulas::padded_call(c, "pad", "mode")),
        replay: torch!(|r| {
            // libtorch starts at the last dimension.
            let pad: Vec<i64> = r.c.ints("pad").chunks_exact(2).rev().flatten().copied().collect();
            r.x()?.f_pad(&pad[..], r.c.str("mode"), None::<f64>)?
        }),
        ..RESAMPLED
    },
];
