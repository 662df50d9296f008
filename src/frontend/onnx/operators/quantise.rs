//! Quantisation, by what it computes.

use super::norm::per_channel;
use super::operator::{Operator, microsoft, standard};
use crate::frontend::builder::{Refusal, int};
use crate::frontend::onnx::lowering::{Lowered, NodeLowering, one};
use crate::ir::{AttrValue, DType, Value};

pub(super) const OPERATORS: &[Operator] = &[
    standard("QuantizeLinear", &[10, 13, 19, 21, 23, 24, 25, 28], quantize_linear),
    standard("DequantizeLinear", &[10, 13, 19, 21, 23, 24, 25, 28], dequantize_linear),
    standard("DynamicQuantizeLinear", &[11], dynamic),
    standard("MatMulInteger", &[10], matmul_integer),
    standard("QLinearMatMul", &[10, 21], qlinear_matmul),
    standard("ConvInteger", &[10], conv_integer),
    standard("QLinearConv", &[10], qlinear_conv),
    microsoft("QuantizeLinear", quantize_linear),
    microsoft("DequantizeLinear", dequantize_linear),
    microsoft("MatMulIntegerToFloat", matmul_integer_to_float),
    microsoft("DynamicQuantizeMatMul", dynamic_quantize_matmul),
    microsoft("QLinearAdd", |s| qlinear_binary(s, "add")),
    microsoft("QLinearMul", |s| qlinear_binary(s, "mul")),
    microsoft("QLinearSigmoid", |s| qlinear_unary(s, |s, x| s.unary("sigmoid", x))),
    microsoft("QLinearLeakyRelu", |s| {
        let alpha = s.float("alpha", 0.01, DType::F32)?;
        qlinear_unary(s, |s, x| s.op("leaky_relu", &[("negative_slope", AttrValue::float(alpha))], &[x]))
    }),
    microsoft("MatMulNBits", matmul_n_bits),
];

/// A scale or zero point, laid out so that it broadcasts with `x`: one number, one per entry of `axis`, or one per block.
fn aligned(s: &mut NodeLowering, of: Value, x: Value) -> Result<Value, Refusal> {
    let rank = s.rank(x);
    if s.ty(of).numel() == 1 {
        return s.reshape(of, &[]);
    }
    let axis = s.int("axis", 1)?;
    let dim = s.dim(x, axis)?;
    let block = s.int("block_size", 0)?;
    if block == 0 {
        return per_channel(s, of, rank, dim);
    }
    // Every entry counts for a block of neighbours; the last block may be shorter.
    let attrs = [("dim", int(dim)), ("repeats", int(block))];
    let whole = s.op("repeat_interleave", &attrs, &[of])?;
    let size = s.size(x, dim as usize);
    s.slice(whole, dim, 0, size)
}

/// Real numbers as the nearest ones of a narrow type. `scale` and `zero` broadcast with `x`.
fn quantised(
    s: &mut NodeLowering,
    x: Value,
    scale: Value,
    zero: Option<Value>,
    dtype: DType,
) -> Result<Value, Refusal> {
    let wide = s.dtype(scale);
    let x = s.cast(x, wide)?;
    let quotient = s.binary("div", x, scale)?;
    let Some((low, high)) = dtype.int_range() else {
        let most = dtype.max_finite().unwrap_or(f64::MAX);
        let attrs = [("min", AttrValue::float(-most)), ("max", AttrValue::float(most))];
        let limited = if s.int("saturate", 1)? != 0 { s.op("clamp", &attrs, &[quotient])? } else { quotient };
        return s.cast(limited, dtype);
    };
    let mut whole = s.unary("round", quotient)?;
    if let Some(zero) = zero {
        // Sums of a rounded number and a zero point are whole numbers that f32 holds.
        let wide = if s.dtype(whole) == DType::F64 { DType::F64 } else { DType::F32 };
        whole = s.cast(whole, wide)?;
        let zero = s.cast(zero, wide)?;
        whole = s.binary("add", whole, zero)?;
    }
    let attrs = [("min", AttrValue::float(low as f64)), ("max", AttrValue::float(high as f64))];
    let limited = s.op("clamp", &attrs, &[whole])?;
    s.cast(limited, dtype)
}

fn quantize_linear(s: &mut NodeLowering) -> Lowered {
    let (x, scale, zero) = (s.x(0)?, s.x(1)?, s.maybe(2)?);
    let dtype = match (zero, s.maybe_int("output_dtype")?.filter(|&code| code != 0)) {
        (Some(zero), _) => s.dtype(zero),
        (None, Some(_)) => s.maybe_dtype("output_dtype")?.unwrap_or(DType::U8),
        (None, None) => DType::U8,
    };
    // 4-bit integers have other ends than the type that holds them.
    if s.maybe_int("output_dtype")?.is_some_and(|code| matches!(code, 21 | 22)) {
        return Ok(None);
    }
    let mut scale = aligned(s, scale, x)?;
    let zero = zero.map(|z| aligned(s, z, x)).transpose()?;
    if let Some(precision) = s.maybe_int("precision")?.filter(|&code| code != 0) {
        let _ = precision;
        let wide = s.maybe_dtype("precision")?.unwrap_or(DType::F32);
        scale = s.cast(scale, wide)?;
    } else if !s.dtype(x).is_float() {
        let wide = s.dtype(scale);
        let x = s.cast(x, wide)?;
        return one(quantised(s, x, scale, zero, dtype)?);
    }
    one(quantised(s, x, scale, zero, dtype)?)
}

/// The real numbers that narrow ones stand for.
fn dequantised(s: &mut NodeLowering, x: Value, scale: Value, zero: Option<Value>) -> Result<Value, Refusal> {
    let own = s.dtype(scale);
    // Differences of narrow integers are whole numbers that f32 holds.
    let wide = if s.dtype(x) == DType::I32 { DType::F64 } else { DType::F32 };
    let mut x = s.cast(x, wide)?;
    if let Some(zero) = zero {
        let zero = s.cast(zero, wide)?;
        x = s.binary("sub", x, zero)?;
    }
    let x = s.cast(x, own)?;
    s.binary("mul", x, scale)
}

fn dequantize_linear(s: &mut NodeLowering) -> Lowered {
    let (x, scale, zero) = (s.x(0)?, s.x(1)?, s.maybe(2)?);
    let scale = aligned(s, scale, x)?;
    let zero = zero.map(|z| aligned(s, z, x)).transpose()?;
    let y = dequantised(s, x, scale, zero)?;
    match s.maybe_int("output_dtype")?.filter(|&code| code != 0) {
        None => one(y),
        Some(_) => {
            let dtype = s.maybe_dtype("output_dtype")?.unwrap_or(DType::F32);
            one(s.cast(y, dtype)?)
        }
    }
}

/// A tensor as bytes, by the range of its elements, with its scale and zero point.
fn by_range(s: &mut NodeLowering, x: Value) -> Result<[Value; 3], Refusal> {
    let dims: Vec<i64> = (0..s.rank(x) as i64).collect();
    let zero = s.number(0.0, x)?;
    let (high, low) = (s.reduce("amax", x, &dims, false)?, s.reduce("amin", x, &dims, false)?);
    let (high, low) = (s.binary("maximum", high, zero)?, s.binary("minimum", low, zero)?);
    let range = s.binary("sub", high, low)?;
    let flat = s.with("eq", range, 0.0)?;
    let one = s.number(1.0, range)?;
    let range = s.op("where", &[], &[flat, one, range])?;
    let scale = s.with("div", range, 255.0)?;
    let start = s.binary("div", low, scale)?;
    let start = s.unary("neg", start)?;
    let attrs = [("min", AttrValue::float(0.0)), ("max", AttrValue::float(255.0))];
    let start = s.op("clamp", &attrs, &[start])?;
    let start = s.unary("round", start)?;
    let place = s.cast(start, DType::U8)?;
    let y = quantised(s, x, scale, Some(place), DType::U8)?;
    Ok([y, scale, place])
}

fn dynamic(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let all = by_range(s, x)?;
    Ok(Some(all.into_iter().map(Into::into).collect()))
}

/// Integers less their zero point, as `i32`.
fn centred(
    s: &mut NodeLowering,
    x: Value,
    zero: Option<Value>,
    lays: impl Fn(&mut NodeLowering, Value) -> Result<Value, Refusal>,
) -> Result<Value, Refusal> {
    let wide = s.cast(x, DType::I32)?;
    let Some(zero) = zero else { return Ok(wide) };
    let zero = s.cast(zero, DType::I32)?;
    let zero = if s.ty(zero).numel() == 1 { s.reshape(zero, &[])? } else { lays(s, zero)? };
    s.binary("sub", wide, zero)
}

/// One number per row of a matrix.
fn by_row(s: &mut NodeLowering, zero: Value) -> Result<Value, Refusal> {
    if s.rank(zero) == 1 { s.op("unsqueeze", &[("dim", int(1))], &[zero]) } else { Ok(zero) }
}

fn by_column(_: &mut NodeLowering, zero: Value) -> Result<Value, Refusal> {
    Ok(zero)
}

fn matmul_integer(s: &mut NodeLowering) -> Lowered {
    let (x, y, of_x, of_y) = (s.x(0)?, s.x(1)?, s.maybe(2)?, s.maybe(3)?);
    let (x, y) = (centred(s, x, of_x, by_row)?, centred(s, y, of_y, by_column)?);
    s.done("matmul", &[], &[x, y])
}

fn qlinear_matmul(s: &mut NodeLowering) -> Lowered {
    let [x, x_scale, x_zero, y, y_scale, y_zero, scale, zero] = inputs(s)?;
    let (x, y) = (centred(s, x, Some(x_zero), by_row)?, centred(s, y, Some(y_zero), by_column)?);
    let product = s.binary("matmul", x, y)?;
    let x_scale = if s.ty(x_scale).numel() == 1 { s.reshape(x_scale, &[])? } else { by_row(s, x_scale)? };
    let y_scale = if s.ty(y_scale).numel() == 1 { s.reshape(y_scale, &[])? } else { y_scale };
    requantised(s, product, [x_scale, y_scale], scale, zero)
}

fn inputs(s: &mut NodeLowering) -> Result<[Value; 8], Refusal> {
    let mut all = [s.x(0)?; 8];
    for (i, value) in all.iter_mut().enumerate() {
        *value = s.x(i)?;
    }
    Ok(all)
}

/// A product of integers as narrow integers with another scale.
fn requantised(
    s: &mut NodeLowering,
    product: Value,
    [x_scale, y_scale]: [Value; 2],
    scale: Value,
    zero: Value,
) -> Lowered {
    let dtype = s.dtype(zero);
    // Whole numbers of 32 bits are more than narrow floats hold.
    let wide = DType::F64;
    let product = s.cast(product, wide)?;
    let (x_scale, y_scale, scale) = (s.cast(x_scale, wide)?, s.cast(y_scale, wide)?, s.cast(scale, wide)?);
    let both = s.binary("mul", x_scale, y_scale)?;
    let real = s.binary("mul", product, both)?;
    let scale = if s.ty(scale).numel() == 1 { s.reshape(scale, &[])? } else { by_row(s, scale)? };
    let zero = if s.ty(zero).numel() == 1 { s.reshape(zero, &[])? } else { by_row(s, zero)? };
    one(quantised(s, real, scale, Some(zero), dtype)?)
}

fn matmul_integer_to_float(s: &mut NodeLowering) -> Lowered {
    let (x, y, x_scale, y_scale) = (s.x(0)?, s.x(1)?, s.x(2)?, s.x(3)?);
    let (of_x, of_y) = (s.maybe(4)?, s.maybe(5)?);
    let (x, y) = (centred(s, x, of_x, by_row)?, centred(s, y, of_y, by_column)?);
    let product = s.binary("matmul", x, y)?;
    let bias = s.maybe(6)?;
    scaled_product(s, product, x_scale, y_scale, bias)
}

fn scaled_product(
    s: &mut NodeLowering,
    product: Value,
    x_scale: Value,
    y_scale: Value,
    bias: Option<Value>,
) -> Lowered {
    let own = s.dtype(y_scale);
    let product = s.cast(product, own)?;
    let both = s.binary("mul", x_scale, y_scale)?;
    let real = s.binary("mul", product, both)?;
    match bias {
        None => one(real),
        Some(bias) => s.done("add", &[], &[real, bias]),
    }
}

fn dynamic_quantize_matmul(s: &mut NodeLowering) -> Lowered {
    let (x, y, y_scale, y_zero, bias) = (s.x(0)?, s.x(1)?, s.x(2)?, s.maybe(3)?, s.maybe(4)?);
    let [x, x_scale, x_zero] = by_range(s, x)?;
    let (x, y) = (centred(s, x, Some(x_zero), by_row)?, centred(s, y, y_zero, by_column)?);
    let product = s.binary("matmul", x, y)?;
    scaled_product(s, product, x_scale, y_scale, bias)
}

/// A convolution of integers. Its padding stands for the number 0: integers less their zero point are padded.
fn integer_convolution(
    s: &mut NodeLowering,
    x: Value,
    w: Value,
    zeros: [Option<Value>; 2],
) -> Result<Option<Value>, Refusal> {
    let [of_x, of_w] = zeros;
    let x = centred(s, x, of_x, by_column)?;
    let rank = s.rank(w);
    let w = centred(s, w, of_w, |s, zero| per_channel(s, zero, rank, 0))?;
    // The op table convolves floats; doubles hold every sum of products of bytes exactly.
    let (x, w) = (s.cast(x, DType::F64)?, s.cast(w, DType::F64)?);
    super::conv::convolved(s, x, w, None)
}

fn conv_integer(s: &mut NodeLowering) -> Lowered {
    let (x, w) = (s.x(0)?, s.x(1)?);
    let zeros = [s.maybe(2)?, s.maybe(3)?];
    match integer_convolution(s, x, w, zeros)? {
        Some(y) => one(s.cast(y, DType::I32)?),
        None => Ok(None),
    }
}

fn qlinear_conv(s: &mut NodeLowering) -> Lowered {
    let [x, x_scale, x_zero, w, w_scale, w_zero, scale, zero] = inputs(s)?;
    let bias = s.maybe(8)?;
    let Some(mut y) = integer_convolution(s, x, w, [Some(x_zero), Some(w_zero)])? else { return Ok(None) };
    let rank = s.rank(y);
    if let Some(bias) = bias {
        let bias = s.cast(bias, DType::F64)?;
        let bias = per_channel(s, bias, rank, 1)?;
        y = s.binary("add", y, bias)?;
    }
    let w_scale = if s.ty(w_scale).numel() == 1 { s.reshape(w_scale, &[])? } else { per_channel(s, w_scale, rank, 1)? };
    let x_scale = s.reshape(x_scale, &[])?;
    requantised(s, y, [x_scale, w_scale], scale, zero)
}

fn qlinear_binary(s: &mut NodeLowering, op: &str) -> Lowered {
    let (a, a_scale, a_zero) = (s.x(0)?, s.x(1)?, s.maybe(2)?);
    let (b, b_scale, b_zero) = (s.x(3)?, s.x(4)?, s.maybe(5)?);
    let (scale, zero) = (s.x(6)?, s.maybe(7)?);
    let dtype = s.dtype(a);
    let (a, b) = (dequantised(s, a, a_scale, a_zero)?, dequantised(s, b, b_scale, b_zero)?);
    let real = s.binary(op, a, b)?;
    one(quantised(s, real, scale, zero, dtype)?)
}

fn qlinear_unary(s: &mut NodeLowering, of: impl Fn(&mut NodeLowering, Value) -> Result<Value, Refusal>) -> Lowered {
    let (x, x_scale, x_zero, scale, zero) = (s.x(0)?, s.x(1)?, s.maybe(2)?, s.x(3)?, s.maybe(4)?);
    let dtype = s.dtype(x);
    let x = dequantised(s, x, x_scale, x_zero)?;
    let y = of(s, x)?;
    one(quantised(s, y, scale, zero, dtype)?)
}

/// A product with a matrix whose rows are cut into blocks of 4- or 8-bit integers, each with its scale and zero point.
fn matmul_n_bits(s: &mut NodeLowering) -> Lowered {
    let (x, packed, scales) = (s.x(0)?, s.x(1)?, s.x(2)?);
    let needed = |name: &str| Refusal::new(format!("needs the attribute `{name}`"));
    let columns = s.maybe_int("K")?.ok_or_else(|| needed("K"))?;
    let rows = s.maybe_int("N")?.ok_or_else(|| needed("N"))?;
    let block = s.maybe_int("block_size")?.ok_or_else(|| needed("block_size"))?;
    let bits = s.int("bits", 4)?;
    if !matches!(bits, 4 | 8)
        || block <= 0
        || columns <= 0
        || rows <= 0
        || s.has_input(4)
        || s.dtype(packed) != DType::U8
    {
        return Ok(None);
    }
    let blocks = (columns + block - 1) / block;
    let unpacked = |s: &mut NodeLowering, v: Value, count: i64| -> Result<Value, Refusal> {
        if bits == 8 {
            return s.reshape(v, &[rows, count]);
        }
        // Two numbers a byte, the low half first. Each row starts with a byte of its own.
        let bytes = (count + 1) / 2;
        let flat = s.reshape(v, &[rows, bytes, 1])?;
        let (low, high) = (s.with("bitwise_and", flat, 15)?, s.with("shift_right", flat, 4)?);
        let pairs = s.concat(&[low, high], 2)?;
        let row = s.reshape(pairs, &[rows, 2 * bytes])?;
        s.slice(row, 1, 0, count)
    };
    let own = s.dtype(scales);
    let numbers = unpacked(s, packed, blocks * block)?;
    let numbers = s.cast(numbers, own)?;
    let numbers = s.reshape(numbers, &[rows, blocks, block])?;
    let zeros = match s.maybe(3)? {
        None => s.number(f64::from(1 << (bits - 1)), scales)?,
        Some(zeros) if s.dtype(zeros) == DType::U8 => {
            let zeros = unpacked(s, zeros, blocks)?;
            let zeros = s.cast(zeros, own)?;
            s.reshape(zeros, &[rows, blocks, 1])?
        }
        Some(zeros) => s.reshape(zeros, &[rows, blocks, 1])?,
    };
    let scales = s.reshape(scales, &[rows, blocks, 1])?;
    let centred = s.binary("sub", numbers, zeros)?;
    let real = s.binary("mul", centred, scales)?;
    let real = s.reshape(real, &[rows, blocks * block])?;
    let weight = s.slice(real, 1, 0, columns)?;
    let weight = s.transpose(weight)?;
    let product = s.binary("matmul", x, weight)?;
    match s.maybe(5)? {
        None => one(product),
        Some(bias) => s.done("add", &[], &[product, bias]),
    }
}
