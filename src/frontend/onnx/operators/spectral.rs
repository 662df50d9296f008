//! Fourier transforms and the windows in front of them.

use super::operator::{Operator, standard};
use crate::frontend::builder::{Refusal, int};
use crate::frontend::onnx::held::{Constant, Held};
use crate::frontend::onnx::lowering::{Lowered, NodeLowering, one};
use crate::frontend::onnx::tensor::tensor_type;
use crate::ir::{DType, Number, Value};

pub(super) const OPERATORS: &[Operator] = &[
    standard("HannWindow", &[17], |s| window(s, &[0.5, -0.5])),
    standard("HammingWindow", &[17], |s| window(s, &[25.0 / 46.0, -21.0 / 46.0])),
    standard("BlackmanWindow", &[17], |s| window(s, &[0.42, -0.5, 0.08])),
    standard("DFT", &[17, 20], dft),
    standard("STFT", &[17], stft),
];

/// A sum of cosines over `size` places.
fn window(s: &mut NodeLowering, weights: &[f64]) -> Lowered {
    let size = s.fixed_int(0)?.ok_or_else(|| Refusal::new("needs a size"))?;
    let dtype = s.maybe_dtype("output_datatype")?.unwrap_or(DType::F32);
    let periodic = s.int("periodic", 1)? != 0;
    if !(0..=1 << 16).contains(&size) {
        return Err(Refusal::new(format!("has the size {size}")));
    }
    let length = if periodic { size } else { size - 1 } as f64;
    let at = |i: i64| -> f64 {
        let turn = std::f64::consts::TAU * i as f64 / length;
        weights.iter().enumerate().map(|(n, w)| w * (n as f64 * turn).cos()).sum()
    };
    let data: Option<Vec<Number>> = (0..size).map(|i| dtype.store(Number::float(at(i)))).collect();
    let data = data.ok_or_else(|| Refusal::new(format!("has no window of {dtype}")))?;
    let ty = tensor_type(dtype, [size as usize].into_iter().collect())?;
    let held: Held = Constant::held(s.name, ty, data);
    Ok(Some(vec![held]))
}

/// The longest transforms that are written out as products with matrices.
const LONGEST: i64 = 1 << 10;

/// Cosines and sines of the transform of `length` places, for `inputs` of them and `outputs` frequencies.
fn waves(s: &mut NodeLowering, inputs: i64, outputs: i64, length: i64, dtype: DType) -> Result<[Value; 2], Refusal> {
    let ty = tensor_type(dtype, [inputs as usize, outputs as usize].into_iter().collect())?;
    let places = || (0..inputs).flat_map(move |i| (0..outputs).map(move |k| (i * k) % length));
    let turn = std::f64::consts::TAU / length as f64;
    let cos = places().map(|n| Number::float(dtype.round((turn * n as f64).cos()))).collect();
    let sin = places().map(|n| Number::float(dtype.round((turn * n as f64).sin()))).collect();
    Ok([s.literal("cosines", ty.clone(), cos)?, s.literal("sines", ty, sin)?])
}

/// The transform along the last dimension: of a real part and, if there is one, an imaginary one.
fn transformed(
    s: &mut NodeLowering,
    real: Value,
    imaginary: Option<Value>,
    outputs: i64,
    length: i64,
    inverse: bool,
) -> Result<[Value; 2], Refusal> {
    let inputs = s.size(real, s.rank(real) - 1);
    let dtype = s.dtype(real);
    let [cos, sin] = waves(s, inputs, outputs, length, dtype)?;
    // e^(-i a) = cos a - i sin a; the inverse turns the other way.
    let (mut re, mut im) = (s.binary("matmul", real, cos)?, s.binary("matmul", real, sin)?);
    if !inverse {
        im = s.unary("neg", im)?;
    }
    if let Some(imaginary) = imaginary {
        let (c, n) = (s.binary("matmul", imaginary, cos)?, s.binary("matmul", imaginary, sin)?);
        re = s.binary(if inverse { "sub" } else { "add" }, re, n)?;
        im = s.binary("add", im, c)?;
    }
    if inverse {
        (re, im) = (s.with("div", re, length as f64)?, s.with("div", im, length as f64)?);
    }
    Ok([re, im])
}

/// Entry `at` of the last dimension, without it.
fn part(s: &mut NodeLowering, x: Value, at: i64) -> Result<Value, Refusal> {
    let last = s.rank(x) as i64 - 1;
    let entry = s.slice(x, last, at, at + 1)?;
    s.op("squeeze", &[("dim", int(last))], &[entry])
}

/// Real and imaginary parts in a last dimension of their own.
fn pairs(s: &mut NodeLowering, parts: &[Value]) -> Result<Value, Refusal> {
    let last = parts.first().map_or(0, |&p| s.rank(p) as i64);
    let mut all = Vec::new();
    for &part in parts {
        all.push(s.op("unsqueeze", &[("dim", int(last))], &[part])?);
    }
    s.concat(&all, last)
}

/// A dimension cut off or filled up with zeros.
fn brought_to(s: &mut NodeLowering, x: Value, dim: i64, to: i64) -> Result<Value, Refusal> {
    let size = s.size(x, dim as usize);
    if to <= size {
        return s.slice(x, dim, 0, to);
    }
    let mut pad = vec![0; 2 * s.rank(x)];
    pad[2 * dim as usize + 1] = to - size;
    s.op("pad", &[("pad", crate::frontend::builder::ints(&pad))], &[x])
}

fn dft(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let rank = s.rank(x) as i64;
    let axis = match s.version >= 20 {
        true => s.fixed_int(2)?.unwrap_or(-2),
        false => s.int("axis", 1)?,
    };
    let dim = s.dim(x, axis)?;
    if rank < 2 || dim == rank - 1 {
        return Err(Refusal::new(format!("transforms dimension {axis} of {}", s.ty(x))));
    }
    let (inverse, onesided) = (s.flag("inverse")?, s.flag("onesided")?);
    let size = s.size(x, dim as usize);
    let own = if inverse && onesided { 2 * (size - 1) } else { size };
    let length = s.fixed_int(1)?.unwrap_or(own);
    if !(1..=LONGEST).contains(&length) {
        return Ok(None);
    }
    // The dimension that is transformed stands last while that happens.
    let mut order: Vec<i64> = (0..rank - 1).filter(|&d| d != dim).collect();
    order.push(dim);
    let mut back: Vec<i64> = (0..rank - 2).collect();
    back.insert(dim as usize, rank - 2);
    let mut of = Vec::new();
    for at in 0..s.size(x, rank as usize - 1) {
        let entry = part(s, x, at)?;
        of.push(s.permute(entry, &order)?);
    }
    let last = rank - 2;
    let kept = if inverse && onesided { length / 2 + 1 } else { length };
    for value in &mut of {
        *value = brought_to(s, *value, last, kept)?;
    }
    if inverse && onesided {
        // The frequencies that are left out are the mirrored ones.
        for (i, value) in of.iter_mut().enumerate() {
            let inner = s.slice(*value, last, 1, (length + 1) / 2)?;
            let mut mirrored = s.op("flip", &[("dims", crate::frontend::builder::ints(&[last]))], &[inner])?;
            if i == 1 {
                mirrored = s.unary("neg", mirrored)?;
            }
            *value = s.concat(&[*value, mirrored], last)?;
        }
    }
    let outputs = if onesided && !inverse { length / 2 + 1 } else { length };
    let real = *of.first().ok_or_else(|| Refusal::new("needs a real part"))?;
    let result = transformed(s, real, of.get(1).copied(), outputs, length, inverse)?;
    let mut parts = Vec::new();
    for value in result.into_iter().take(if inverse && onesided { 1 } else { 2 }) {
        parts.push(s.permute(value, &back)?);
    }
    one(pairs(s, &parts)?)
}

fn stft(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let step = s.fixed_int(1)?.filter(|&n| n > 0).ok_or_else(|| Refusal::new("needs a step above 0"))?;
    let window = s.maybe(2)?;
    let length = match (s.fixed_int(3)?, window) {
        (Some(length), _) => length,
        (None, Some(window)) => s.size(window, 0),
        (None, None) => return Err(Refusal::new("needs a window or the length of frames")),
    };
    if !(1..=LONGEST).contains(&length) || s.rank(x) != 3 {
        return Ok(None);
    }
    let onesided = s.int("onesided", 1)? != 0;
    let outputs = if onesided { length / 2 + 1 } else { length };
    let mut of = Vec::new();
    for at in 0..s.size(x, 2) {
        let line = part(s, x, at)?;
        let attrs = [("dim", int(1)), ("size", int(length)), ("step", int(step))];
        let mut frames = s.op("unfold", &attrs, &[line])?;
        if let Some(window) = window {
            frames = s.binary("mul", frames, window)?;
        }
        of.push(frames);
    }
    let real = *of.first().ok_or_else(|| Refusal::new("needs a real part"))?;
    let result = transformed(s, real, of.get(1).copied(), outputs, length, false)?;
    one(pairs(s, &result)?)
}
