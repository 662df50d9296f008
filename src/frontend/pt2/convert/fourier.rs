//! Fourier transforms.

use super::super::argument::{Argument, Number};
use super::super::lowering::{Converted, NodeLowering, Refusal, Scalar, int, ints};
use super::super::target::Target;
use crate::ir::{AttrValue, DType, Value};
use crate::ops::fourier_norm;
use crate::ops::shapes::normalize_dim;

pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    match (target.name, target.overload) {
        ("_fft_c2c", "") => {
            let forward = ("forward", AttrValue::Bool(site.bool_or("forward", true)?));
            kernel(site, "fft_c2c", forward)
        }
        ("_fft_r2c", "") => {
            let onesided = ("onesided", AttrValue::Bool(site.bool_or("onesided", true)?));
            kernel(site, "fft_r2c", onesided)
        }
        ("_fft_c2r", "") => {
            let length = ("length", int(site.int("last_dim_size")?));
            kernel(site, "fft_c2r", length)
        }
        ("fft_fftshift" | "fft_ifftshift", "") => shifted(site, target.name == "fft_fftshift"),
        ("stft", "") => short_time(site),
        (name, "") => match name.strip_prefix("fft_") {
            Some(name) => function(site, name),
            None => Ok(None),
        },
        _ => Ok(None),
    }
}

/// PyTorch's own kernels.
fn kernel(site: &mut NodeLowering, op: &str, own: (&str, AttrValue)) -> Converted {
    let x = site.tensor("self")?;
    if !is_transformed(site, x) {
        return Ok(None);
    }
    let Some(norm) = fourier_norm(site.int("normalization")?) else { return Ok(None) };
    let (shape, dims) = (own_shape(site, x)?, site.ints("dim")?);
    if dims.is_empty() {
        return Ok(None);
    }
    let dims = counted(&dims, shape.len())?;
    site.emit(op, &[("dims", ints(&dims)), ("norm", norm), own], &[x])
}

/// Whether the table has transforms of such tensors: PyTorch has none of no elements, and few of narrow floats.
fn is_transformed(site: &NodeLowering, x: Value) -> bool {
    matches!(site.dtype(x), DType::F32 | DType::F64) && site.ty(x).numel() > 0
}

/// The sizes of an operand, without the parts of complex numbers.
fn own_shape(site: &NodeLowering, x: Value) -> Result<Vec<usize>, Refusal> {
    let mut shape = site.ty(x).shape.to_vec();
    if site.argument_is_complex("self") {
        shape.pop();
    }
    Ok(shape)
}

fn counted(dims: &[i64], rank: usize) -> Result<Vec<i64>, Refusal> {
    let dim = |&d: &i64| normalize_dim(d, rank).map(|d| d as i64);
    let counted = dims.iter().map(dim).collect::<Option<_>>();
    counted.ok_or_else(|| Refusal::new(format!("transforms the dimensions {dims:?} of {rank}")))
}

/// The functions of `torch.fft` that are one kernel, on operands that are cut off or filled up first.
fn function(site: &mut NodeLowering, name: &str) -> Converted {
    let (kind, spatial) = match name.strip_suffix(['2', 'n']) {
        Some(kind) if name.ends_with('2') => (kind, Some(2)),
        Some(kind) => (kind, None),
        None => (name, Some(1)),
    };
    let x = site.tensor("self")?;
    let (shape, is_complex) = (own_shape(site, x)?, site.argument_is_complex("self"));
    let (op, inverse) = match (kind, is_complex) {
        ("fft", true) => ("fft_c2c", false),
        ("ifft", true) => ("fft_c2c", true),
        // Along several dimensions, and backwards, PyTorch makes real numbers complex ones first.
        ("fft", false) if spatial != Some(1) => ("fft_c2c", false),
        ("ifft", false) => ("fft_c2c", true),
        ("irfft", false) => ("fft_c2r", true),
        ("fft" | "rfft", false) => ("fft_r2c", false),
        ("irfft", true) => ("fft_c2r", true),
        _ => return Ok(None),
    };
    let norm = match (site.str("norm"), inverse) {
        (None | Some("backward"), false) | (Some("forward"), true) => "none",
        (None | Some("backward"), true) | (Some("forward"), false) => "n",
        (Some("ortho"), _) => "root_n",
        _ => return Ok(None),
    };
    let given = if spatial == Some(1) { site.maybe_int("n")?.map(|n| vec![n]) } else { site.maybe_ints("s")? };
    let dims = match (site.maybe_ints("dim")?, &given) {
        (Some(dims), _) => counted(&dims, shape.len())?,
        (None, Some(sizes)) => counted(&(-(sizes.len() as i64)..0).collect::<Vec<_>>(), shape.len())?,
        (None, None) => {
            let count = spatial.unwrap_or(shape.len());
            counted(&(-(count as i64)..0).collect::<Vec<_>>(), shape.len())?
        }
    };
    let size = |dim: i64| shape.get(dim as usize).copied().unwrap_or(0) as i64;
    let Some((&last, _)) = dims.split_last() else { return Ok(None) };
    let mut sizes: Vec<i64> = dims.iter().map(|&d| size(d)).collect();
    if op == "fft_c2r" {
        *sizes.last_mut().unwrap_or(&mut 0) = (size(last) - 1).saturating_mul(2);
    }
    for (own, given) in
        sizes.iter_mut().zip(given.iter().flatten().filter(|_| given.as_ref().is_some_and(|g| g.len() == dims.len())))
    {
        *own = if *given == -1 { *own } else { *given };
    }
    let length = sizes.last().copied().unwrap_or(0);
    if given.as_ref().is_some_and(|g| g.len() != dims.len()) || sizes.iter().any(|&n| n < 1) {
        return Ok(None);
    }
    if op == "fft_c2r" {
        *sizes.last_mut().unwrap_or(&mut 0) = length / 2 + 1;
    }
    let mut x = match site.dtype(x) {
        dtype if dtype.is_float() => x,
        _ => site.cast("self", x, DType::F32)?,
    };
    if !is_transformed(site, x) {
        return Ok(None);
    }
    if !is_complex && op != "fft_r2c" {
        x = as_complex(site, x)?;
    }
    for (&dim, &to) in dims.iter().zip(&sizes) {
        x = brought_to(site, x, dim, to)?;
    }
    let own = match op {
        "fft_c2c" => ("forward", AttrValue::Bool(!inverse)),
        "fft_r2c" => ("onesided", AttrValue::Bool(kind == "rfft")),
        _ => ("length", int(length)),
    };
    site.emit(op, &[("dims", ints(&dims)), ("norm", AttrValue::str(norm)), own], &[x])
}

/// Real numbers as complex ones: pairs with a second part of 0.
fn as_complex(site: &mut NodeLowering, x: Value) -> Result<Value, Refusal> {
    let real = site.implicit("real", "unsqueeze", &[("dim", int(site.rank(x) as i64))], &[x])?;
    let zero = site.literal("zero", Scalar::Float(0.0), site.dtype(x))?;
    let shape = AttrValue::shape(&site.ty(real).shape);
    let imaginary = site.implicit("imaginary", "expand", &[("shape", shape)], &[zero])?;
    site.implicit("complex", "concat", &[("dim", int(site.rank(x) as i64))], &[real, imaginary])
}

/// A dimension cut off or filled up with zeros.
fn brought_to(site: &mut NodeLowering, x: Value, dim: i64, to: i64) -> Result<Value, Refusal> {
    let size = site.ty(x).shape.get(dim as usize).copied().unwrap_or(0) as i64;
    if to < size {
        return site.implicit("cut", "slice", &[("dim", int(dim)), ("start", int(0)), ("end", int(to))], &[x]);
    }
    if to == size {
        return Ok(x);
    }
    let mut pad = vec![0; 2 * site.rank(x)];
    pad[2 * dim as usize + 1] = to - size;
    site.implicit("filled", "pad", &[("pad", ints(&pad))], &[x])
}

/// Half of a dimension exchanged with the other half.
fn shifted(site: &mut NodeLowering, forward: bool) -> Converted {
    let x = site.tensor("self")?;
    let shape = own_shape(site, x)?;
    let dims = match site.maybe_ints("dim")? {
        Some(dims) => counted(&dims, shape.len())?,
        None => (0..shape.len() as i64).collect(),
    };
    let shift = |&d: &i64| {
        let size = shape.get(d as usize).copied().unwrap_or(0) as i64;
        if forward { size / 2 } else { (size + 1) / 2 }
    };
    let shifts: Vec<i64> = dims.iter().map(shift).collect();
    site.emit("roll", &[("shifts", ints(&shifts)), ("dims", ints(&dims))], &[x])
}

/// Transforms of overlapping frames, each times a window.
fn short_time(site: &mut NodeLowering) -> Converted {
    let x = site.tensor("self")?;
    let (shape, n) = (own_shape(site, x)?, site.int("n_fft")?);
    let (step, length) = (site.int_or("hop_length", n / 4)?, site.int_or("win_length", n)?);
    let plain = !site.argument_is_complex("self")
        && matches!(shape.len(), 1 | 2)
        && is_transformed(site, x)
        && (1..=n).contains(&length)
        && step > 0
        && !site.bool_or("align_to_window", false)?
        && (site.given("window") || length == n);
    if !plain {
        return Ok(None);
    }
    let rank = shape.len() as i64;
    let framed = [("dim", int(rank - 1)), ("size", int(n)), ("step", int(step))];
    let mut frames = site.implicit("frames", "unfold", &framed, &[x])?;
    if let Some(mut window) = site.maybe_tensor("window")? {
        if site.ty(window).shape[..] != [length as usize] || site.dtype(window) != site.dtype(x) {
            return Ok(None);
        }
        if length < n {
            let left = (n - length) / 2;
            window = site.implicit("window", "pad", &[("pad", ints(&[left, n - length - left]))], &[window])?;
        }
        frames = part(site, "windowed", "mul", &[], &[frames, window])?;
    }
    let onesided = match site.argument("onesided") {
        Some(Argument::Bool(Number::Known(onesided))) => *onesided,
        _ => true,
    };
    let norm = AttrValue::str(if site.bool_or("normalized", false)? { "root_n" } else { "none" });
    let attrs = [("dims", ints(&[rank])), ("norm", norm), ("onesided", AttrValue::Bool(onesided))];
    let spectrum = part(site, "spectrum", "fft_r2c", &attrs, &[frames])?;
    // Frequencies stand in front of frames.
    let mut order: Vec<i64> = (0..rank + 2).collect();
    order.swap(rank as usize - 1, rank as usize);
    site.emit("permute", &[("dims", ints(&order))], &[spectrum])
}

/// A node that is a kernel of its own.
fn part(
    site: &mut NodeLowering,
    part: &str,
    op: &str,
    attrs: &[(&str, AttrValue)],
    operands: &[Value],
) -> Result<Value, Refusal> {
    let def = crate::ops::find(op).ok_or_else(|| Refusal::new(format!("needs the operator `{op}`")))?;
    let attrs = def.attrs(attrs).map_err(|e| Refusal::new(e.to_string()))?;
    let values = site.lowering.part(part, def, attrs, operands)?;
    values.first().copied().ok_or_else(|| Refusal::new(format!("makes `{op}` give nothing")))
}
