//! Resampling: every dimension by itself, as a product with a matrix of weights that is computed while the file is read.

use super::operator::{Operator, standard};
use crate::frontend::builder::{Refusal, ints};
use crate::frontend::onnx::lowering::{Lowered, NodeLowering, one};
use crate::frontend::onnx::tensor::tensor_type;
use crate::ir::{AttrValue, DType, Number, Value};

pub(super) const OPERATORS: &[Operator] = &[
    standard("Resize", &[10, 11, 13, 18, 19], resize),
    standard("Upsample", &[1, 7, 9, 10], upsample),
    standard("GridSample", &[16, 20, 22], grid_sample),
];

/// Images at places. Volumes stay opaque, and types in which every device computes places in another precision.
fn grid_sample(s: &mut NodeLowering) -> Lowered {
    let (x, grid) = (s.x(0)?, s.x(1)?);
    let mode = match s.text("mode", "linear")? {
        "linear" => "bilinear",
        "cubic" => "bicubic",
        other => other,
    };
    let attrs = [
        ("mode", AttrValue::str(mode)),
        ("padding", AttrValue::str(s.text("padding_mode", "zeros")?)),
        ("align_corners", AttrValue::Bool(s.flag("align_corners")?)),
    ];
    let is_known = matches!(s.dtype(x), DType::F32 | DType::F64) && s.dtype(grid) == s.dtype(x);
    if s.rank(x) == 4 && is_known { s.done("grid_sample", &attrs, &[x, grid]) } else { Ok(None) }
}

/// The largest matrix of weights.
const MOST_WEIGHTS: usize = 1 << 20;

/// How a dimension is resampled.
#[derive(Clone, Debug)]
struct Along {
    dim: usize,
    input: i64,
    output: i64,
    scale: f64,
    /// The part of the dimension that is looked at, where that matters.
    roi: [f64; 2],
}

/// What is the same for all dimensions.
#[derive(Clone, Debug)]
struct Kernel<'m> {
    mode: &'m str,
    coordinates: &'m str,
    nearest: &'m str,
    a: f64,
    excludes: bool,
    antialias: bool,
    extrapolation: f64,
}

fn upsample(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let scales = match s.version >= 9 {
        true => s.fixed(1)?.map(|c| c.floats()).unwrap_or_default(),
        false => s.float_list("scales"),
    };
    let kernel = Kernel {
        mode: s.text("mode", "nearest")?,
        coordinates: "asymmetric",
        nearest: "floor",
        a: -0.75,
        excludes: false,
        antialias: false,
        extrapolation: 0.0,
    };
    let all: Vec<usize> = (0..s.rank(x)).collect();
    let dims = scaled(s, x, &all, &scales)?;
    resampled(s, x, &dims, &kernel)
}

fn scaled(s: &NodeLowering, x: Value, axes: &[usize], scales: &[f64]) -> Result<Vec<Along>, Refusal> {
    if scales.len() != axes.len() || scales.iter().any(|&f| !(f > 0.0 && f.is_finite())) {
        return Err(Refusal::new(format!("scales {} by {scales:?}", s.ty(x))));
    }
    let along = |(&dim, &scale): (&usize, &f64)| {
        let input = s.size(x, dim);
        Along { dim, input, output: (input as f64 * scale).floor() as i64, scale, roi: [0.0, 1.0] }
    };
    Ok(axes.iter().zip(scales).map(along).collect())
}

fn resize(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let old = s.version < 11;
    let axes: Vec<usize> = match s.int_list("axes")? {
        Some(axes) => s.dims(x, &axes)?.into_iter().map(|d| d as usize).collect(),
        None => (0..s.rank(x)).collect(),
    };
    let listed = |s: &NodeLowering, i: usize| -> Result<Option<Vec<f64>>, Refusal> {
        Ok(s.fixed(i)?.map(|c| c.floats()).filter(|all| !all.is_empty()))
    };
    let scales = listed(s, if old { 1 } else { 2 })?;
    let sizes = if old { None } else { listed(s, 3)? };
    let mut dims = match (scales, sizes) {
        (_, Some(sizes)) => {
            if sizes.len() != axes.len() {
                return Err(Refusal::new(format!("brings {} to the sizes {sizes:?}", s.ty(x))));
            }
            let factors: Vec<f64> = axes.iter().zip(&sizes).map(|(&d, to)| to / s.size(x, d) as f64).collect();
            let common = match s.text("keep_aspect_ratio_policy", "stretch")? {
                "not_larger" => Some(factors.iter().copied().fold(f64::INFINITY, f64::min)),
                "not_smaller" => Some(factors.iter().copied().fold(0.0, f64::max)),
                _ => None,
            };
            let along = |((&dim, &to), &factor): ((&usize, &f64), &f64)| {
                let input = s.size(x, dim);
                let scale = common.unwrap_or(factor);
                let output = common.map_or(to as i64, |c| (c * input as f64 + 0.5).floor() as i64);
                Along { dim, input, output, scale, roi: [0.0, 1.0] }
            };
            axes.iter().zip(&sizes).zip(&factors).map(along).collect()
        }
        (Some(scales), None) => scaled(s, x, &axes, &scales)?,
        (None, None) => return Err(Refusal::new("needs scales or sizes")),
    };
    let kernel = Kernel {
        mode: s.text("mode", "nearest")?,
        coordinates: if old { "asymmetric" } else { s.text("coordinate_transformation_mode", "half_pixel")? },
        nearest: if old { "floor" } else { s.text("nearest_mode", "round_prefer_floor")? },
        a: s.maybe_float("cubic_coeff_a")?.unwrap_or(-0.75),
        excludes: s.flag("exclude_outside")?,
        antialias: s.flag("antialias")?,
        extrapolation: s.maybe_float("extrapolation_value")?.unwrap_or(0.0),
    };
    if kernel.coordinates == "tf_crop_and_resize" {
        let roi = listed(s, 1)?.filter(|roi| roi.len() == 2 * dims.len());
        let roi = roi.ok_or_else(|| Refusal::new("needs the part of the image that is looked at"))?;
        let count = dims.len();
        dims.iter_mut().enumerate().for_each(|(i, along)| along.roi = [roi[i], roi[i + count]]);
    }
    resampled(s, x, &dims, &kernel)
}

/// The place in the old dimension for a place in the new one.
fn origin(along: &Along, coordinates: &str, at: f64) -> Result<f64, Refusal> {
    let (input, scale) = (along.input as f64, along.scale);
    let width = scale * input;
    let [start, end] = along.roi;
    Ok(match coordinates {
        "align_corners" if width == 1.0 => 0.0,
        "align_corners" => at * (input - 1.0) / (width - 1.0),
        "asymmetric" => at / scale,
        "half_pixel" => (at + 0.5) / scale - 0.5,
        "pytorch_half_pixel" if width == 1.0 => -0.5,
        "pytorch_half_pixel" => (at + 0.5) / scale - 0.5,
        // The middle of the old dimension stays that of the new one, however its size was rounded.
        "half_pixel_symmetric" => input / 2.0 * (1.0 - along.output as f64 / width) + (at + 0.5) / scale - 0.5,
        "tf_crop_and_resize" if width == 1.0 => start * (input - 1.0) + (end - start) * (input - 1.0) / 2.0,
        "tf_crop_and_resize" => start * (input - 1.0) + at * (end - start) * (input - 1.0) / (width - 1.0),
        other => return Err(Refusal::new(format!("places elements by {other:?}"))),
    })
}

fn cubic(x: f64, a: f64) -> f64 {
    let x = x.abs();
    match x {
        _ if x <= 1.0 => ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0,
        _ if x < 2.0 => a * (((x - 5.0) * x + 8.0) * x - 4.0),
        _ => 0.0,
    }
}

impl Kernel<'_> {
    /// Places in the old dimension, which may lie outside, and their weights.
    fn weights(&self, along: &Along, place: f64) -> Result<Vec<(i64, f64)>, Refusal> {
        let left = place.floor() as i64;
        if self.mode == "nearest" {
            let nearest = match self.nearest {
                "round_prefer_floor" => (place - 0.5).ceil(),
                "round_prefer_ceil" => (place + 0.5).floor(),
                "floor" => place.floor(),
                "ceil" => place.ceil(),
                other => return Err(Refusal::new(format!("rounds by {other:?}"))),
            };
            return Ok(vec![(nearest as i64, 1.0)]);
        }
        // Antialiasing widens the kernel where sizes shrink.
        let narrow = if self.antialias { along.scale.min(1.0) } else { 1.0 };
        let (reach, of): (f64, fn(f64, f64) -> f64) = match self.mode {
            "linear" => (1.0, |x, _| (1.0 - x.abs()).clamp(0.0, 1.0)),
            "cubic" => (2.0, cubic),
            other => return Err(Refusal::new(format!("interpolates by {other:?}"))),
        };
        let span = (reach / narrow).ceil() as i64;
        let mut all: Vec<(i64, f64)> =
            (left - span..=left + span + 1).map(|i| (i, of((i as f64 - place) * narrow, self.a))).collect();
        all.retain(|(_, w)| *w != 0.0);
        if self.excludes {
            all.retain(|(i, _)| (0..along.input).contains(i));
        }
        if self.excludes || self.antialias {
            let sum: f64 = all.iter().map(|(_, w)| w).sum();
            all.iter_mut().for_each(|(_, w)| *w /= sum);
        }
        Ok(all)
    }
}

fn resampled(s: &mut NodeLowering, x: Value, dims: &[Along], kernel: &Kernel) -> Lowered {
    let changed: Vec<Along> =
        dims.iter().filter(|a| a.input != a.output || a.scale != 1.0 || a.roi != [0.0, 1.0]).cloned().collect();
    if dims.iter().any(|a| a.input < 1 || !(0..=1 << 24).contains(&a.output)) {
        return Err(Refusal::new(format!("resamples {} to sizes that are empty or too large", s.ty(x))));
    }
    if let Some(y) = of_table(s, x, &changed, kernel)? {
        return one(y);
    }
    let (dtype, mut y) = (s.dtype(x), x);
    let mut inside: Option<Value> = None;
    for along in &changed {
        let places = (0..along.output).map(|at| origin(along, kernel.coordinates, at as f64));
        let places = places.collect::<Result<Vec<f64>, Refusal>>()?;
        let weights = places.iter().map(|&p| kernel.weights(along, p)).collect::<Result<Vec<_>, Refusal>>()?;
        let within = |at: i64| at.clamp(0, along.input - 1);
        if weights.iter().all(|w| matches!(w[..], [(_, 1.0)])) {
            let picks: Vec<i64> = weights.iter().filter_map(|w| w.first()).map(|&(at, _)| within(at)).collect();
            y = super::rearrange::picked(s, y, along.dim as i64, &picks)?;
        } else {
            y = blended(s, y, along, &weights)?;
        }
        if kernel.coordinates == "tf_crop_and_resize" {
            let hits: Vec<Number> =
                places.iter().map(|&p| (p >= 0.0 && p <= (along.input - 1) as f64).into()).collect();
            let mut sizes = vec![1; s.rank(x)];
            sizes[along.dim] = along.output as usize;
            let ty = tensor_type(crate::ir::DType::Bool, sizes.into_iter().collect())?;
            let hit = s.literal("inside", ty, hits)?;
            inside = Some(match inside {
                None => hit,
                Some(all) => s.binary("logical_and", all, hit)?,
            });
        }
    }
    if let Some(inside) = inside {
        let outside = s.number(kernel.extrapolation, y)?;
        y = s.op("where", &[], &[inside, y, outside])?;
    }
    one(s.cast(y, dtype)?)
}

/// A product with weights along one dimension.
fn blended(s: &mut NodeLowering, x: Value, along: &Along, weights: &[Vec<(i64, f64)>]) -> Result<Value, Refusal> {
    let (rows, columns) = (along.input as usize, along.output as usize);
    if rows.saturating_mul(columns) > MOST_WEIGHTS {
        return Err(Refusal::new(format!("resamples {rows} elements to {columns}, which is not supported")));
    }
    let mut matrix = vec![0.0; rows * columns];
    for (column, weights) in weights.iter().enumerate() {
        for &(at, weight) in weights {
            // Outside, the outermost elements go on.
            matrix[at.clamp(0, along.input - 1) as usize * columns + column] += weight;
        }
    }
    let dtype = s.dtype(x);
    let ty = tensor_type(dtype, [rows, columns].into_iter().collect())?;
    let data = matrix.into_iter().map(|w| Number::float(dtype.round(w))).collect();
    let matrix = s.literal("weights", ty, data)?;
    let rank = s.rank(x) as i64;
    let mut to_last: Vec<i64> = (0..rank).filter(|&d| d != along.dim as i64).collect();
    to_last.push(along.dim as i64);
    let last = s.permute(x, &to_last)?;
    let product = s.binary("matmul", last, matrix)?;
    let mut back: Vec<i64> = (0..rank - 1).collect();
    back.insert(along.dim, rank - 1);
    s.permute(product, &back)
}

/// The operator of the table for what PyTorch has an operator for: all spatial dimensions by one of its methods.
fn of_table(s: &mut NodeLowering, x: Value, changed: &[Along], kernel: &Kernel) -> Result<Option<Value>, Refusal> {
    let rank = s.rank(x);
    let spatial = rank > 2 && changed.iter().all(|a| a.dim >= 2);
    let exact = changed.iter().all(|a| (a.scale * a.input as f64 - a.output as f64).abs() < 1e-9);
    if !spatial || !exact || kernel.antialias || kernel.excludes || !s.dtype(x).is_float() || changed.is_empty() {
        return Ok(None);
    }
    let mut sizes: Vec<i64> = s.shape(x)[2..].iter().map(|&d| d as i64).collect();
    changed.iter().for_each(|a| sizes[a.dim - 2] = a.output);
    let size = ("size", ints(&sizes));
    let corners = match kernel.coordinates {
        "half_pixel" => Some(false),
        "pytorch_half_pixel" if sizes.iter().all(|&n| n > 1) => Some(false),
        "align_corners" if sizes.iter().all(|&n| n > 1) => Some(true),
        _ => None,
    };
    match (kernel.mode, kernel.coordinates, kernel.nearest, corners) {
        ("nearest", "asymmetric", "floor", _) => s.op("upsample_nearest", &[size], &[x]).map(Some),
        ("nearest", "half_pixel", "round_prefer_ceil", _) => {
            s.op("upsample_nearest", &[size, ("exact", AttrValue::Bool(true))], &[x]).map(Some)
        }
        ("linear", _, _, Some(corners)) if rank <= 5 => {
            s.op("upsample_linear", &[size, ("align_corners", AttrValue::Bool(corners))], &[x]).map(Some)
        }
        ("cubic", _, _, Some(corners)) if rank == 4 && kernel.a == -0.75 => {
            s.op("upsample_bicubic", &[size, ("align_corners", AttrValue::Bool(corners))], &[x]).map(Some)
        }
        _ => Ok(None),
    }
}
