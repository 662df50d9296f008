//! Numbers at equal distances, functions of them, and distances between rows.

use super::super::lowering::{Converted, NodeLowering, Operand, Refusal, Scalar, Values, int, ints};
use super::super::target::Target;
use super::formula::Formula;
use crate::ir::{AttrValue, DType, Value};

pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    match (target.name, target.overload) {
        ("hann_window", "" | "periodic") => window(site, Window::Cosine { constant: 0.5, factor: 0.5 }),
        ("hamming_window", "" | "periodic" | "periodic_alpha" | "periodic_alpha_beta") => {
            let (constant, factor) = (site.float_or("alpha", 0.54)?, site.float_or("beta", 0.46)?);
            window(site, Window::Cosine { constant, factor })
        }
        ("blackman_window", "" | "periodic") => window(site, Window::Blackman),
        ("bartlett_window", "" | "periodic") => window(site, Window::Bartlett),
        ("linspace", "") => whole_line(site),
        ("linspace", "Tensor_Tensor" | "Tensor_Scalar" | "Scalar_Tensor") => line(site),
        ("logspace", "") => powers(site),
        ("mvlgamma", "") => log_gamma_of_many(site),
        ("dist", "") => {
            let (x, y) = (site.tensor("self")?, site.tensor("other")?);
            let order = site.float_or("p", 2.0)?;
            if site.dtype(x) != site.dtype(y) || !site.dtype(x).is_float() {
                return Ok(None);
            }
            let apart = site.implicit("difference", "sub", &[], &[x, y])?;
            let all: Vec<i64> = (0..site.rank(apart) as i64).collect();
            site.emit("vector_norm", &[("ord", AttrValue::float(order)), ("dim", ints(&all))], &[apart])
        }
        ("pdist" | "_pdist_forward", "") => between_rows(site),
        ("median", "") => {
            let x = site.tensor("self")?;
            let count = site.ty(x).numel();
            if count == 0 {
                return Ok(None);
            }
            let flat = site.implicit("flat", "reshape", &[("shape", AttrValue::shape(&[count]))], &[x])?;
            let values = site.emit("median", &[("dim", int(0))], &[flat])?;
            Ok(values.map(|values| values.into_iter().take(1).collect()))
        }
        ("gradient", "scalarint" | "scalararray" | "array") => slopes(site),
        _ => Ok(None),
    }
}

fn is_usual(dtype: DType) -> bool {
    matches!(dtype, DType::F32 | DType::F64)
}

enum Window {
    /// A constant less a factor times one turn of a cosine.
    Cosine {
        constant: f64,
        factor: f64,
    },
    Blackman,
    /// A triangle.
    Bartlett,
}

/// Weights of samples. A periodic window is one that is longer by an element, without the last one.
fn window(site: &mut NodeLowering, window: Window) -> Converted {
    let (length, dtype) = (site.int("window_length")?, site.stated(0)?.dtype);
    let steps = if site.bool_or("periodic", true)? { length } else { length - 1 };
    if length < 2 || !is_usual(dtype) {
        return Ok(None);
    }
    let attrs = [("end", int(length)), ("dtype", AttrValue::DType(dtype))];
    let places = site.implicit("places", "arange", &attrs, &[])?;
    let (steps, turn) = (steps as f64, 2.0 * std::f64::consts::PI);
    let mut f = Formula::in_steps(site, dtype);
    let (op, operands) = match window {
        Window::Cosine { constant, factor } => {
            let angle = f.with("mul", places, turn / steps)?;
            let cosine = f.op("cos", &[angle])?;
            let scaled = f.with("mul", cosine, -factor)?;
            f.last_with("add", scaled, constant)?
        }
        Window::Blackman => {
            let half = f.with("mul", places, turn / 2.0 / steps)?;
            let mut wave = |times: f64, factor: f64| {
                let angle = f.with("mul", half, times)?;
                let cosine = f.op("cos", &[angle])?;
                f.with("mul", cosine, factor)
            };
            let (fast, slow) = (wave(4.0, 0.08)?, wave(2.0, 0.5)?);
            let apart = f.op("sub", &[fast, slow])?;
            f.last_with("add", apart, 0.42)?
        }
        Window::Bartlett => {
            let rising = f.with("mul", places, 2.0 / steps)?;
            let opposite = f.op("neg", &[rising])?;
            let falling = f.with("add", opposite, 2.0)?;
            f.last("minimum", &[rising, falling])?
        }
    };
    site.emit(op, &[], &operands)
}

/// Whole numbers: those of a line without their fractions.
fn whole_line(site: &mut NodeLowering) -> Converted {
    let dtype = site.stated(0)?.dtype;
    if !dtype.is_int() {
        return Ok(None);
    }
    let end = |site: &NodeLowering, name| Ok::<_, Refusal>(AttrValue::float(site.scalar(name)?.beside(dtype).to_f64()));
    let attrs = [
        ("start", end(site, "start")?),
        ("end", end(site, "end")?),
        ("steps", int(site.int("steps")?)),
        ("dtype", AttrValue::DType(DType::F64)),
    ];
    let line = site.implicit("line", "linspace", &attrs, &[])?;
    site.emit("cast", &[("dtype", AttrValue::DType(dtype))], &[line])
}

/// Numbers at equal distances between two that are tensors: the first half counted from the start, the second from the end.
fn line(site: &mut NodeLowering) -> Converted {
    let (steps, dtype) = (site.int("steps")?, site.stated(0)?.dtype);
    if steps < 2 || !is_usual(dtype) {
        return Ok(None);
    }
    let mut end = |name: &str| -> Result<Value, Refusal> {
        match site.operand(name)? {
            Operand::Tensor(value) => site.cast(name, value, dtype),
            Operand::Scalar(scalar) => site.literal(name, scalar, dtype),
        }
    };
    let (start, end) = (end("start")?, end("end")?);
    let attrs = [("end", int(steps)), ("dtype", AttrValue::DType(DType::I64))];
    let places = site.implicit("places", "arange", &attrs, &[])?;
    let half = site.literal("half", Scalar::Int((steps + 1) / 2), DType::I64)?;
    let first = site.implicit("first", "lt", &[], &[places, half])?;
    let last = site.literal("last", Scalar::Int(steps - 1), DType::I64)?;
    let behind = site.implicit("behind", "sub", &[], &[last, places])?;
    let (ahead, behind) = (site.cast("ahead", places, dtype)?, site.cast("behind", behind, dtype)?);
    let mut f = Formula::new(site, dtype);
    let apart = f.op("sub", &[end, start])?;
    let step = f.with("div", apart, (steps - 1) as f64)?;
    let (ahead, behind) = (f.op("mul", &[step, ahead])?, f.op("mul", &[step, behind])?);
    let (from_start, from_end) = (f.op("add", &[start, ahead])?, f.op("sub", &[end, behind])?);
    site.emit("where", &[], &[first, from_start, from_end])
}

/// A base to the power of numbers at equal distances, computed in f64.
fn powers(site: &mut NodeLowering) -> Converted {
    let (dtype, base) = (site.stated(0)?.dtype, site.float_or("base", 10.0)?);
    if !is_usual(dtype) || base <= 0.0 {
        return Ok(None);
    }
    let attrs = [
        ("start", AttrValue::float(site.scalar("start")?.value().to_f64())),
        ("end", AttrValue::float(site.scalar("end")?.value().to_f64())),
        ("steps", int(site.int("steps")?)),
        ("dtype", AttrValue::DType(DType::F64)),
    ];
    let line = site.implicit("line", "linspace", &attrs, &[])?;
    let base = site.literal("base", Scalar::Float(base), DType::F64)?;
    let powers = site.implicit("powers", "power", &[], &[base, line])?;
    site.emit("cast", &[("dtype", AttrValue::DType(dtype))], &[powers])
}

/// The logarithm of the gamma function of matrices of size `p`: a constant and the sum of those of `x`, `x - 1/2`, and so on.
fn log_gamma_of_many(site: &mut NodeLowering) -> Converted {
    let (x, p) = (site.float_argument("self")?, site.int("p")?);
    let (dtype, rank) = (site.dtype(x), site.rank(x) as i64);
    if !is_usual(dtype) || p < 1 {
        return Ok(None);
    }
    let attrs = [("start", int(1 - p)), ("end", int(1)), ("dtype", AttrValue::DType(dtype))];
    let count = site.implicit("count", "arange", &attrs, &[])?;
    let each = site.implicit("each", "unsqueeze", &[("dim", int(rank))], &[x])?;
    let constant = 0.25 * p as f64 * (p - 1) as f64 * std::f64::consts::PI.ln();
    let mut f = Formula::in_steps(site, dtype);
    let halves = f.with("mul", count, 0.5)?;
    let shifted = f.op("add", &[each, halves])?;
    let all = f.op("lgamma", &[shifted])?;
    let sum = f.sum(all, &[rank])?;
    let (op, operands) = f.last_with("add", sum, constant)?;
    site.emit(op, &[], &operands)
}

/// The distances between each two rows of a matrix, row by row.
fn between_rows(site: &mut NodeLowering) -> Converted {
    let (x, order) = (site.tensor("self")?, site.float_or("p", 2.0)?);
    let [rows, _] = site.ty(x).shape[..] else { return Ok(None) };
    if !is_usual(site.dtype(x)) || rows < 2 {
        return Ok(None);
    }
    let size = AttrValue::Int(rows as i64);
    let attrs = [("row", size.clone()), ("col", size), ("offset", int(1)), ("dtype", AttrValue::DType(DType::I64))];
    let pairs = site.implicit("pairs", "triu_indices", &attrs, &[])?;
    let mut side = |at: i64| {
        let slice = [("dim", int(0)), ("start", int(at)), ("end", int(at + 1))];
        let places = site.implicit("places", "slice", &slice, &[pairs])?;
        let places = site.implicit("places", "squeeze", &[("dim", int(0))], &[places])?;
        site.implicit("side", "index_select", &[("dim", int(0))], &[x, places])
    };
    let (first, second) = (side(0)?, side(1)?);
    let apart = site.implicit("difference", "sub", &[], &[first, second])?;
    site.emit("vector_norm", &[("ord", AttrValue::float(order)), ("dim", ints(&[1]))], &[apart])
}

/// Differences of neighbours over their distance: of both neighbours in between, of the one that there is at the ends.
fn slopes(site: &mut NodeLowering) -> Converted {
    // Of integers, differences wrap around before they are divided.
    let x = site.tensor("self")?;
    let (dtype, rank) = (site.dtype(x), site.rank(x));
    let spacing = site.maybe_scalar("spacing")?.map_or(1.0, |s| s.value().to_f64());
    if !is_usual(dtype) || site.int_or("edge_order", 1)? != 1 || spacing == 0.0 {
        return Ok(None);
    }
    let dims: Vec<i64> = match site.maybe_ints("dim")? {
        Some(dims) => dims.iter().map(|&d| site.dim_of(x, d)).collect::<Result<_, _>>()?,
        None => (0..rank as i64).collect(),
    };
    let mut results = Values::new();
    for dim in dims {
        let size = site.ty(x).shape.get(dim as usize).map_or(0, |&size| size as i64);
        if size < 2 {
            return Ok(None);
        }
        let mut slope = |from: i64, to: i64, count: i64| -> Result<Value, Refusal> {
            let mut part = |start: i64| {
                let slice = [("dim", int(dim)), ("start", int(start)), ("end", int(start + count))];
                site.implicit("part", "slice", &slice, &[x])
            };
            let (low, high) = (part(from)?, part(to)?);
            let mut f = Formula::new(site, dtype);
            let apart = f.op("sub", &[high, low])?;
            f.with("div", apart, spacing * (to - from) as f64)
        };
        let mut parts = vec![slope(0, 1, 1)?];
        if size > 2 {
            parts.push(slope(0, 2, size - 2)?);
        }
        parts.push(slope(size - 2, size - 1, 1)?);
        results.push(site.implicit("slopes", "concat", &[("dim", int(dim))], &parts)?);
    }
    Ok(Some(results))
}
