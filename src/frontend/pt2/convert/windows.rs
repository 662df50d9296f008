//! Pooling to sizes, resampling, padding by elements, windows as columns.

use super::super::lowering::{Converted, NodeLowering, Refusal, int, ints};
use super::super::target::Target;
use super::conv::{per_dimension, single};
use crate::ir::{AttrValue, DType, Ints, Value};
use crate::ops::grid_sample::{MODES, PADDINGS};

pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    match (target.name, target.overload) {
        ("adaptive_avg_pool1d", "") => in_two_dimensions(site, |site, x| {
            let size = site.ints("output_size")?;
            adaptive_mean(site, x, &[&[1], &size[..]].concat())
        }),
        ("adaptive_avg_pool2d" | "_adaptive_avg_pool2d" | "adaptive_avg_pool3d" | "_adaptive_avg_pool3d", "") => {
            let (x, size) = (site.tensor("self")?, site.ints("output_size")?);
            adaptive_mean(site, x, &size)
        }
        // The places are a second output.
        ("adaptive_max_pool1d", "") if !site.is_used(1) => in_two_dimensions(site, |site, x| {
            let size = site.ints("output_size")?;
            adaptive_maximum(site, x, &[&[1], &size[..]].concat())
        }),
        ("adaptive_max_pool2d" | "adaptive_max_pool3d", "") if !site.is_used(1) => {
            let (x, size) = (site.tensor("self")?, site.ints("output_size")?);
            adaptive_maximum(site, x, &size)
        }
        (name, "" | "vec") if name.contains("upsample_") => upsample(site, name),
        ("pad", "") if matches!(site.str("mode"), Some("reflect" | "replicate" | "circular")) => {
            let mode = site.str("mode").unwrap_or_default();
            pad(site, &site.ints("pad")?, mode)
        }
        ("reflection_pad1d" | "reflection_pad2d" | "reflection_pad3d", "") => {
            pad(site, &site.ints("padding")?, "reflect")
        }
        ("replication_pad1d" | "replication_pad2d" | "replication_pad3d", "") => {
            pad(site, &site.ints("padding")?, "replicate")
        }
        ("im2col" | "col2im", "") => columns(site, target.name),
        ("grid_sampler" | "grid_sampler_2d", "") => grid_sample(site),
        ("affine_grid_generator", "") => affine_grid(site),
        _ => Ok(None),
    }
}

/// Where the middles of the cells of an image, or their outermost ones, come to lie under an affine map.
fn affine_grid(site: &mut NodeLowering) -> Converted {
    let (theta, size, corners) = (site.tensor("theta")?, site.ints("size")?, site.bool_or("align_corners", false)?);
    let (ty, spatial) = (site.ty(theta), size.get(2..).unwrap_or_default());
    let known = matches!(ty.dtype, DType::F32 | DType::F64) && (2..=3).contains(&spatial.len());
    if !known || ty.shape[..] != [ty.shape[0], spatial.len(), spatial.len() + 1] || spatial.iter().any(|&n| n < 1) {
        return Ok(None);
    }
    let cells: i64 = spatial.iter().product();
    let mut columns = Vec::with_capacity(spatial.len() + 1);
    // Width is the first coordinate.
    for (d, &steps) in spatial.iter().enumerate().rev() {
        let end = match steps {
            1 => 0.0,
            _ if corners => 1.0,
            _ => (steps - 1) as f64 / steps as f64,
        };
        let attrs = [
            ("start", AttrValue::float(-end)),
            ("end", AttrValue::float(end)),
            ("steps", int(steps)),
            ("dtype", AttrValue::DType(ty.dtype)),
        ];
        let along = site.implicit("along", "linspace", &attrs, &[])?;
        let shape: Vec<i64> = (0..spatial.len()).map(|other| if other == d { steps } else { 1 }).collect();
        let along = site.implicit("along", "reshape", &[("shape", ints(&shape))], &[along])?;
        let everywhere = site.implicit("everywhere", "expand", &[("shape", ints(spatial))], &[along])?;
        columns.push(site.implicit("column", "reshape", &[("shape", ints(&[cells, 1]))], &[everywhere])?);
    }
    let attrs = [("shape", ints(&[cells, 1])), ("value", AttrValue::float(1.0)), ("dtype", AttrValue::DType(ty.dtype))];
    columns.push(site.implicit("one", "full", &attrs, &[])?);
    let cells = site.implicit("cells", "concat", &[("dim", int(1))], &columns)?;
    let map = site.implicit("map", "permute", &[("dims", ints(&[0, 2, 1]))], &[theta])?;
    let places = site.step("matmul", &[], &[cells, map])?;
    let mut shape = vec![ty.shape[0] as i64];
    shape.extend(spatial);
    shape.push(spatial.len() as i64);
    site.emit("reshape", &[("shape", ints(&shape))], &[places])
}

/// What PyTorch does to lines: a height of 1 while `pool` works.
fn in_two_dimensions(site: &mut NodeLowering, pool: impl Fn(&mut NodeLowering, Value) -> Converted) -> Converted {
    let x = site.tensor("self")?;
    let dim = site.rank(x).saturating_sub(1) as i64;
    let image = site.implicit("image", "unsqueeze", &[("dim", int(dim))], &[x])?;
    let Some(pooled) = pool(site, image)? else { return Ok(None) };
    let line = site.implicit("line", "squeeze", &[("dim", int(dim))], &pooled[..1])?;
    Ok(Some([line].into_iter().collect()))
}

/// Pooling down to a single element is a mean.
fn adaptive_mean(site: &mut NodeLowering, x: Value, size: &[i64]) -> Converted {
    let (rank, spatial) = (site.rank(x), size.len());
    if size.iter().all(|&n| n == 1) && rank > spatial {
        let dims: Ints = (rank - spatial..rank).map(|d| d as i64).collect();
        return site.emit("mean", &[("dim", AttrValue::Ints(dims)), ("keepdim", AttrValue::Bool(true))], &[x]);
    }
    adaptive(site, "adaptive_avg_pool", x, size)
}

fn adaptive_maximum(site: &mut NodeLowering, x: Value, size: &[i64]) -> Converted {
    adaptive(site, "adaptive_max_pool", x, size)
}

/// An image without a batch dimension is a batch of one. Windows without elements are nowhere.
fn adaptive(site: &mut NodeLowering, op: &str, x: Value, size: &[i64]) -> Converted {
    if !site.dtype(x).is_float() || site.ty(x).numel() == 0 {
        return Ok(None);
    }
    let size = [("output_size", ints(size))];
    match site.rank(x).checked_sub(size[0].1.as_ints().map_or(0, <[i64]>::len)) {
        Some(2) => site.emit(op, &size, &[x]),
        Some(1) => {
            let x = site.implicit("batch", "unsqueeze", &[("dim", int(0))], &[x])?;
            single(site, |site| site.emit(op, &size, &[x]))
        }
        _ => Ok(None),
    }
}

/// Factors that an operator is given instead of sizes, or beside them; `None` if they are no list of numbers.
fn factors(site: &NodeLowering) -> Result<Option<Vec<f64>>, Refusal> {
    if site.given("scale_factors") {
        return site.floats("scale_factors");
    }
    let mut given = Vec::new();
    for name in ["scales", "scales_d", "scales_h", "scales_w"] {
        given.extend(site.maybe_scalar(name)?.map(|s| s.value().to_f64()));
    }
    Ok(Some(given))
}

/// Places in images. Volumes stay opaque, and types in which every device computes places in another precision.
fn grid_sample(site: &mut NodeLowering) -> Converted {
    let (x, grid) = (site.tensor("input")?, site.tensor("grid")?);
    let known = matches!(site.dtype(x), DType::F32 | DType::F64) && site.dtype(grid) == site.dtype(x);
    if !known || site.rank(x) != 4 {
        return Ok(None);
    }
    let named = |code: i64, all: [&str; 3]| {
        let name = usize::try_from(code).ok().and_then(|code| all.get(code).copied());
        name.map(AttrValue::str).ok_or_else(|| Refusal::new(format!("has no mode {code}")))
    };
    let mode = named(site.int("interpolation_mode")?, MODES)?;
    let padding = named(site.int("padding_mode")?, PADDINGS)?;
    let corners = AttrValue::Bool(site.bool_or("align_corners", false)?);
    site.emit("grid_sample", &[("mode", mode), ("padding", padding), ("align_corners", corners)], &[x, grid])
}

/// Images of the size that the file states. A factor matters only where it is not the quotient of the sizes, and the corners are not
/// aligned: then the operator stays opaque.
fn upsample(site: &mut NodeLowering, name: &str) -> Converted {
    let (kind, spatial) = match name.trim_start_matches('_').strip_prefix("upsample_") {
        Some("nearest1d") => ("nearest", 1),
        Some("nearest2d") => ("nearest", 2),
        Some("nearest3d") => ("nearest", 3),
        Some("nearest_exact1d") => ("nearest_exact", 1),
        Some("nearest_exact2d") => ("nearest_exact", 2),
        Some("nearest_exact3d") => ("nearest_exact", 3),
        Some("linear1d") => ("linear", 1),
        Some("bilinear2d") => ("linear", 2),
        Some("trilinear3d") => ("linear", 3),
        Some("bicubic2d") => ("bicubic", 2),
        Some("bilinear2d_aa") => ("antialiased linear", 2),
        Some("bicubic2d_aa") => ("antialiased cubic", 2),
        _ => return Ok(None),
    };
    let x = site.tensor(if site.given("input") { "input" } else { "self" })?;
    let (from, to) = (site.ty(x), site.stated(0)?);
    if from.rank() != spatial + 2 || to.rank() != spatial + 2 || !from.dtype.is_float() {
        return Ok(None);
    }
    let Some(factors) = factors(site)? else { return Ok(None) };
    let plain = |(&factor, (&from, &to)): (&f64, (&usize, &usize))| {
        from as f64 * factor == to as f64 && (1.0 / factor) as f32 == from as f32 / to as f32
    };
    let corners = site.bool_or("align_corners", false)?;
    let sizes = || from.shape[2..].iter().zip(&to.shape[2..]);
    if !(corners || factors.is_empty() || factors.len() == spatial && factors.iter().zip(sizes()).all(plain)) {
        return Ok(None);
    }
    let size = ("size", AttrValue::shape(&to.shape[2..]));
    match kind {
        "nearest" => site.emit("upsample_nearest", &[size], &[x]),
        "nearest_exact" => site.emit("upsample_nearest", &[size, ("exact", AttrValue::Bool(true))], &[x]),
        _ => {
            let corners = AttrValue::Bool(corners);
            if let Some(mode) = kind.strip_prefix("antialiased ") {
                let mode = AttrValue::str(mode);
                return site.emit("upsample_antialiased", &[size, ("mode", mode), ("align_corners", corners)], &[x]);
            }
            let op = if kind == "linear" { "upsample_linear" } else { "upsample_bicubic" };
            site.emit(op, &[size, ("align_corners", corners)], &[x])
        }
    }
}

/// PyTorch lists pairs from the innermost dimension outwards.
fn pad(site: &mut NodeLowering, pairs: &[i64], mode: &str) -> Converted {
    let x = site.tensor("self")?;
    let (rank, padded) = (site.rank(x), pairs.len() / 2);
    let fits = pairs.len().is_multiple_of(2) && (1..=3).contains(&padded) && (padded + 1..=padded + 2).contains(&rank);
    if !fits || !site.dtype(x).is_float() || site.ty(x).numel() == 0 || pairs.iter().any(|&n| n < 0) {
        return Ok(None);
    }
    let pad: Ints = pairs.chunks_exact(2).rev().flatten().copied().collect();
    site.emit("pad_edges", &[("pad", AttrValue::Ints(pad)), ("mode", AttrValue::str(mode))], &[x])
}

fn columns(site: &mut NodeLowering, op: &str) -> Converted {
    let x = site.tensor("self")?;
    let rank = if op == "im2col" { 4 } else { 3 };
    if site.rank(x) != rank || !site.dtype(x).is_float() || site.ty(x).numel() == 0 {
        return Ok(None);
    }
    let mut attrs = Vec::with_capacity(5);
    for name in ["kernel_size", "dilation", "padding", "stride"] {
        attrs.push((name, ints(&per_dimension(site, name, 2, 1)?)));
    }
    if op == "col2im" {
        attrs.push(("output_size", ints(&per_dimension(site, "output_size", 2, 1)?)));
    }
    site.emit(op, &attrs, &[x])
}
