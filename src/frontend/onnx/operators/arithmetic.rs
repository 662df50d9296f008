//! Arithmetic, comparisons, logic, bits and casts.

use super::operator::{Operator, standard};
use crate::frontend::builder::Refusal;
use crate::frontend::onnx::lowering::{Lowered, NodeLowering, one};
use crate::ir::{AttrValue, DType, Number, Value};

pub(super) const OPERATORS: &[Operator] = &[
    standard("Abs", &[1, 6, 13], |s| unary(s, "abs")),
    standard("Neg", &[1, 6, 13], |s| unary(s, "neg")),
    standard("Exp", &[1, 6, 13], |s| unary(s, "exp")),
    standard("Log", &[1, 6, 13], |s| unary(s, "log")),
    standard("Sqrt", &[1, 6, 13], |s| unary(s, "sqrt")),
    standard("Reciprocal", &[1, 6, 13], |s| unary(s, "reciprocal")),
    standard("Sin", &[7, 22], |s| unary(s, "sin")),
    standard("Cos", &[7, 22], |s| unary(s, "cos")),
    standard("Tan", &[7, 22], |s| unary(s, "tan")),
    standard("Asin", &[7, 22], |s| unary(s, "asin")),
    standard("Acos", &[7, 22], |s| unary(s, "acos")),
    standard("Atan", &[7, 22], |s| unary(s, "atan")),
    standard("Sinh", &[9, 22], |s| unary(s, "sinh")),
    standard("Cosh", &[9, 22], |s| unary(s, "cosh")),
    standard("Tanh", &[1, 6, 13], |s| unary(s, "tanh")),
    standard("Asinh", &[9, 22], |s| unary(s, "asinh")),
    standard("Acosh", &[9, 22], |s| unary(s, "acosh")),
    standard("Atanh", &[9, 22], |s| unary(s, "atanh")),
    standard("Erf", &[9, 13], |s| unary(s, "erf")),
    standard("Floor", &[1, 6, 13], |s| unary(s, "floor")),
    standard("Ceil", &[1, 6, 13], |s| unary(s, "ceil")),
    standard("Round", &[11, 22], |s| unary(s, "round")),
    standard("Sign", &[9, 13], sign),
    standard("Not", &[1], |s| unary(s, "logical_not")),
    standard("BitwiseNot", &[18], |s| unary(s, "bitwise_not")),
    standard("IsNaN", &[9, 13, 20], is_nan),
    standard("IsInf", &[10, 20], is_infinite),
    standard("Add", &[1, 6, 7, 13, 14], |s| binary(s, "add")),
    standard("Sub", &[1, 6, 7, 13, 14], |s| binary(s, "sub")),
    standard("Mul", &[1, 6, 7, 13, 14], |s| binary(s, "mul")),
    standard("Div", &[1, 6, 7, 13, 14], quotient),
    standard("Mod", &[10, 13, 28], rest),
    standard("Pow", &[1, 7, 12, 13, 15], power),
    standard("And", &[1, 7], |s| binary(s, "logical_and")),
    standard("Or", &[1, 7], |s| binary(s, "logical_or")),
    standard("Xor", &[1, 7], |s| binary(s, "ne")),
    standard("Equal", &[1, 7, 11, 13, 19], |s| binary(s, "eq")),
    standard("Greater", &[1, 7, 9, 13], |s| binary(s, "gt")),
    standard("GreaterOrEqual", &[12, 16], |s| binary(s, "ge")),
    standard("Less", &[1, 7, 9, 13], |s| binary(s, "lt")),
    standard("LessOrEqual", &[12, 16], |s| binary(s, "le")),
    standard("BitwiseAnd", &[18], |s| binary(s, "bitwise_and")),
    standard("BitwiseOr", &[18], |s| binary(s, "bitwise_or")),
    standard("BitwiseXor", &[18], |s| binary(s, "bitwise_xor")),
    standard("BitShift", &[11, 28], shift),
    standard("Max", &[1, 6, 8, 12, 13], |s| many(s, "maximum")),
    standard("Min", &[1, 6, 8, 12, 13], |s| many(s, "minimum")),
    standard("Sum", &[1, 6, 8, 13], |s| many(s, "add")),
    standard("Mean", &[1, 6, 8, 13], mean),
    standard("Where", &[9, 16], choice),
    standard("Clip", &[1, 6, 11, 12, 13], clip),
    standard("Cast", &[1, 6, 9, 13, 19, 21, 23, 24, 25], cast),
    standard("CastLike", &[15, 19, 21, 23, 24, 25], cast_like),
];

pub(super) fn unary(s: &mut NodeLowering, op: &str) -> Lowered {
    let x = s.x(0)?;
    s.done(op, &[], &[x])
}

fn binary(s: &mut NodeLowering, op: &str) -> Lowered {
    let operands = s.broadcast()?;
    s.done(op, &[], &operands)
}

fn is_nan(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    s.done("ne", &[], &[x, x])
}

fn is_infinite(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    match (s.int("detect_positive", 1)? != 0, s.int("detect_negative", 1)? != 0) {
        (true, true) => {
            let size = s.unary("abs", x)?;
            let infinity = s.number(f64::INFINITY, x)?;
            s.done("eq", &[], &[size, infinity])
        }
        (false, false) => {
            let shape: Vec<i64> = s.shape(x).iter().map(|&d| d as i64).collect();
            one(s.full(&shape, false, DType::Bool)?)
        }
        (positive, _) => {
            let infinity = s.number(if positive { f64::INFINITY } else { f64::NEG_INFINITY }, x)?;
            s.done("eq", &[], &[x, infinity])
        }
    }
}

/// A quotient; of integers, the whole part.
fn quotient(s: &mut NodeLowering) -> Lowered {
    let operands = s.broadcast()?;
    let whole = operands.first().is_some_and(|&x| s.dtype(x).is_int());
    s.done(if whole { "trunc_div" } else { "div" }, &[], &operands)
}

/// What a division leaves: with the sign of the divisor, as in Python, or with `fmod` that of the dividend, as in C.
fn rest(s: &mut NodeLowering) -> Lowered {
    let op = if s.flag("fmod")? { "fmod" } else { "remainder" };
    binary(s, op)
}

/// A power in the type of the base, whatever type the exponent has.
fn power(s: &mut NodeLowering) -> Lowered {
    let (x, y) = (s.x(0)?, s.x(1)?);
    let (base, exponent) = (s.dtype(x), s.dtype(y));
    if let Some(constant) = s.constant(1)?
        && let Some(number) = constant.number()
        && constant.ty.rank() <= s.rank(x)
        && (base.is_float() || number.to_i64().is_some_and(|n| n >= 0))
    {
        let exponent = number.to_i64().map_or(number, Number::Int);
        return s.done("pow", &[("exponent", exponent.into())], &[x]);
    }
    if base == exponent {
        return s.done("power", &[], &[x, y]);
    }
    // An integer to a power with a fraction, or the other way round, is computed with fractions.
    let common = match (base.is_float(), exponent.is_float()) {
        (true, _) => base,
        (false, true) => DType::F64,
        (false, false) => DType::I64,
    };
    let (x, y) = (s.cast(x, common)?, s.cast(y, common)?);
    let result = s.binary("power", x, y)?;
    one(s.cast(result, base)?)
}

fn shift(s: &mut NodeLowering) -> Lowered {
    match s.text("direction", "")? {
        "LEFT" => binary(s, "shift_left"),
        "RIGHT" => binary(s, "shift_right"),
        other => Err(Refusal::new(format!("shifts in the direction {other:?}"))),
    }
}

/// One operator over any number of inputs, from the first one on.
fn chain(s: &mut NodeLowering, op: &str) -> Result<Value, Refusal> {
    let all = s.all()?;
    let (&first, rest) = all.split_first().ok_or_else(|| Refusal::new("needs an input"))?;
    rest.iter().try_fold(first, |sum, &x| s.binary(op, sum, x))
}

fn many(s: &mut NodeLowering, op: &str) -> Lowered {
    if s.inputs.len() == 2 { binary(s, op) } else { one(chain(s, op)?) }
}

fn mean(s: &mut NodeLowering) -> Lowered {
    let sum = chain(s, "add")?;
    let count = s.inputs.len() as f64;
    one(s.with("div", sum, count)?)
}

fn choice(s: &mut NodeLowering) -> Lowered {
    let operands = s.broadcast()?;
    s.done("where", &[], &operands)
}

/// The standard does not say what the sign of NaN is: NaN in onnxruntime, 0 in PyTorch.
fn sign(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    if !s.dtype(x).is_float() {
        return s.done("sign", &[], &[x]);
    }
    let sign = s.op("sign", &[], &[x])?;
    s.done("fused", &[], &[sign])
}

/// Numbers limited from below, then from above.
fn clip(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let dtype = s.dtype(x);
    if s.version < 11 {
        let bound = |n: Option<f64>| n.map_or(AttrValue::None, AttrValue::float);
        // From version 6 on, infinities are cut off where no bound is given.
        let largest = (s.version >= 6).then_some(f64::from(f32::MAX));
        let (min, max) = (s.maybe_float("min")?.or(largest.map(|n| -n)), s.maybe_float("max")?.or(largest));
        if min.is_none() && max.is_none() {
            return one(x);
        }
        return s.done("clamp", &[("min", bound(min)), ("max", bound(max))], &[x]);
    }
    let mut bounds = [AttrValue::None, AttrValue::None];
    let mut fixed = true;
    for (i, bound) in [1, 2].into_iter().zip(&mut bounds) {
        if !s.has_input(i) {
            continue;
        }
        match s.constant(i)?.and_then(|c| c.number()).and_then(|n| dtype.number(n)) {
            // A NaN bound is no limit that an attribute could state.
            Some(number) if !number.is_nan() => *bound = number.into(),
            _ => fixed = false,
        }
    }
    match (fixed, s.has_input(1), s.has_input(2)) {
        (_, false, false) => one(x),
        (true, ..) => {
            let [min, max] = bounds;
            s.done("clamp", &[("min", min), ("max", max)], &[x])
        }
        (false, has_min, has_max) => {
            let mut result = x;
            for (i, op) in [(1, "maximum", has_min), (2, "minimum", has_max)]
                .into_iter()
                .filter_map(|(i, op, has)| has.then_some((i, op)))
            {
                let bound = s.x(i)?;
                let bound = s.reshape(bound, &[])?;
                result = s.binary(op, result, bound)?;
            }
            one(result)
        }
    }
}

fn cast(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let dtype = s.maybe_dtype("to")?.ok_or_else(|| Refusal::new("needs the attribute `to`"))?;
    converted(s, x, dtype)
}

fn cast_like(s: &mut NodeLowering) -> Lowered {
    let (x, like) = (s.x(0)?, s.x(1)?);
    let dtype = s.dtype(like);
    converted(s, x, dtype)
}

/// `x` in another element type. What is beyond the range of 8-bit floats becomes their largest number, infinities too, unless
/// `saturate` is off.
fn converted(s: &mut NodeLowering, x: Value, dtype: DType) -> Lowered {
    let from = s.dtype(x);
    let narrow = matches!(dtype, DType::F8E4M3 | DType::F8E5M2);
    if narrow && from.is_float() && s.int("saturate", 1)? != 0 {
        let most = dtype.max_finite().unwrap_or(f64::INFINITY);
        let limited = s.op("clamp", &[("min", AttrValue::float(-most)), ("max", AttrValue::float(most))], &[x])?;
        return s.done("cast", &[("dtype", AttrValue::DType(dtype))], &[limited]);
    }
    s.done("cast", &[("dtype", AttrValue::DType(dtype))], &[x])
}
