//! Signs, choices between two numbers, and what integers are made of: functions of the elements that take a few operators of the
//! table, and are exact in every type.

use super::super::lowering::{Converted, NodeLowering, Operand, Refusal, Scalar};
use super::super::target::Target;
use super::promote::{Promotion, result_dtype};
use crate::ir::{AttrValue, DType, Value};

pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    match (target.name, target.overload) {
        ("signbit", "") => signbit(site),
        ("copysign", _) => copysign(site),
        ("heaviside", "") => step(site),
        ("fmax" | "fmin", "") => of_numbers(site, if target.name == "fmax" { "maximum" } else { "minimum" }),
        ("ldexp", "Tensor") => scaled_by_power(site),
        ("lcm", "") => common_multiple(site),
        ("angle", "") => angle(site),
        ("isreal", "") => constant(site, Scalar::Bool(true)),
        ("isinf" | "isposinf" | "isneginf", "") if !is_float(site)? => constant(site, Scalar::Bool(false)),
        ("isfinite", "") if !is_float(site)? => constant(site, Scalar::Bool(true)),
        ("conj_physical" | "resolve_conj" | "resolve_neg" | "conj" | "_conj" | "real", "") => {
            let x = site.tensor("self")?;
            site.emit("alias", &[], &[x])
        }
        ("logical_xor", "") => {
            let (x, y) = (site.tensor("self")?, site.tensor("other")?);
            let (x, y) = (site.cast("self", x, DType::Bool)?, site.cast("other", y, DType::Bool)?);
            site.emit("ne", &[], &[x, y])
        }
        ("round", "decimals") => to_decimals(site),
        _ => Ok(None),
    }
}

fn is_float(site: &NodeLowering) -> Result<bool, Refusal> {
    Ok(site.dtype(site.tensor("self")?).is_float())
}

/// One value everywhere.
fn constant(site: &mut NodeLowering, value: Scalar) -> Converted {
    let (_, shape) = site.stated_shape()?;
    let dtype = site.stated(0)?.dtype;
    let attrs = [("shape", shape), ("value", value.beside(dtype).into()), ("dtype", AttrValue::DType(dtype))];
    site.emit("full", &attrs, &[])
}

/// The two arguments in their common type.
fn both(site: &mut NodeLowering, names: [&str; 2], promotion: Promotion) -> Result<(Value, Value, DType), Refusal> {
    let operands = [site.operand(names[0])?, site.operand(names[1])?];
    let dtype = result_dtype(site, &operands, promotion)?;
    let x = site.as_tensor(names[0], operands[0], dtype)?;
    let y = site.as_tensor(names[1], operands[1], dtype)?;
    Ok((x, y, dtype))
}

fn zero(site: &mut NodeLowering, dtype: DType) -> Result<Value, Refusal> {
    site.literal("zero", Scalar::Int(0), dtype)
}

/// Whether an element is negative, or a zero of that sign: the operators and their operands, but for the last one. The IR tells no
/// signs of NaN apart: they count as positive.
fn is_negative(site: &mut NodeLowering, x: Value) -> Result<(&'static str, [Value; 2]), Refusal> {
    let dtype = site.dtype(x);
    let zero = zero(site, dtype)?;
    if !dtype.is_float() {
        return Ok(("lt", [x, zero]));
    }
    let below = site.implicit("below", "lt", &[], &[x, zero])?;
    let is_zero = site.implicit("is_zero", "eq", &[], &[x, zero])?;
    // Of a zero, the sign shows in what is divided by it.
    let turned = site.implicit("turned", "reciprocal", &[], &[x])?;
    let turned = site.implicit("turned_below", "lt", &[], &[turned, zero])?;
    let negative_zero = site.implicit("negative_zero", "logical_and", &[], &[is_zero, turned])?;
    Ok(("logical_or", [below, negative_zero]))
}

fn signbit(site: &mut NodeLowering) -> Converted {
    let x = site.tensor("self")?;
    if site.dtype(x) == DType::Bool {
        return constant(site, Scalar::Bool(false));
    }
    let (op, operands) = is_negative(site, x)?;
    site.emit(op, &[], &operands)
}

/// The size of one number with the sign of another one.
fn copysign(site: &mut NodeLowering) -> Converted {
    let (x, y, _) = both(site, ["self", "other"], Promotion::Float)?;
    let (op, operands) = is_negative(site, y)?;
    let negative = site.implicit("negative", op, &[], &operands)?;
    let size = site.implicit("size", "abs", &[], &[x])?;
    let opposite = site.implicit("opposite", "neg", &[], &[size])?;
    site.emit("where", &[], &[negative, opposite, size])
}

/// 0 below 0 and for NaN, 1 above, and the second argument at 0.
fn step(site: &mut NodeLowering) -> Converted {
    let (x, at_zero, dtype) = both(site, ["self", "values"], Promotion::Common)?;
    let zero = zero(site, dtype)?;
    let is_zero = site.implicit("is_zero", "eq", &[], &[x, zero])?;
    let below = site.implicit("below", "lt", &[], &[x, zero])?;
    let undefined = site.implicit("undefined", "ne", &[], &[x, x])?;
    let low = site.implicit("low", "logical_or", &[], &[below, undefined])?;
    let (nothing, one) =
        (site.literal("nothing", Scalar::Int(0), DType::I64)?, site.literal("one", Scalar::Int(1), DType::I64)?);
    let outside = site.implicit("outside", "where", &[], &[low, nothing, one])?;
    let outside = site.cast("outside", outside, dtype)?;
    site.emit("where", &[], &[is_zero, at_zero, outside])
}

/// The larger or the smaller one of two numbers; where one of them is NaN, the other one.
fn of_numbers(site: &mut NodeLowering, op: &'static str) -> Converted {
    let (x, y, dtype) = both(site, ["self", "other"], Promotion::Common)?;
    if dtype == DType::Bool {
        return site.emit(if op == "maximum" { "logical_or" } else { "logical_and" }, &[], &[x, y]);
    }
    if !dtype.is_float() {
        return site.emit(op, &[], &[x, y]);
    }
    let extreme = site.implicit("extreme", op, &[], &[x, y])?;
    let (no_x, no_y) = (site.implicit("no_x", "ne", &[], &[x, x])?, site.implicit("no_y", "ne", &[], &[y, y])?);
    let other = site.implicit("other", "where", &[], &[no_x, y, extreme])?;
    site.emit("where", &[], &[no_y, x, other])
}

/// `self` times 2 to the power of `other`, which is computed first.
fn scaled_by_power(site: &mut NodeLowering) -> Converted {
    let (x, exponent, base) = (site.operand("self")?, site.operand("other")?, Operand::Scalar(Scalar::Float(2.0)));
    let dtype = result_dtype(site, &[base, exponent], Promotion::Common)?;
    let base = site.as_tensor("base", base, dtype)?;
    let exponent = site.as_tensor("exponent", exponent, dtype)?;
    let power = site.implicit("power", "power", &[], &[base, exponent])?;
    site.promoted("mul", &[("self", x), ("other", Operand::Tensor(power))], Promotion::Common)
}

/// The smallest integer that both divide; 0 if either is.
fn common_multiple(site: &mut NodeLowering) -> Converted {
    let (x, y, dtype) = both(site, ["self", "other"], Promotion::Common)?;
    if !dtype.is_int() {
        return Ok(None);
    }
    // Narrow integers are multiplied in i32, and the result is cut off.
    let wide = if dtype == DType::I64 { dtype } else { DType::I32 };
    let (x, y) = (site.cast("wide", x, wide)?, site.cast("wide", y, wide)?);
    let divisor = site.implicit("divisor", "gcd", &[], &[x, y])?;
    let (zero, one) = (zero(site, wide)?, site.literal("one", Scalar::Int(1), wide)?);
    let none = site.implicit("none", "eq", &[], &[divisor, zero])?;
    let divisor = site.implicit("divides", "where", &[], &[none, one, divisor])?;
    let part = site.implicit("part", "trunc_div", &[], &[x, divisor])?;
    let product = site.implicit("product", "mul", &[], &[part, y])?;
    if dtype == wide {
        return site.emit("abs", &[], &[product]);
    }
    let size = site.implicit("size", "abs", &[], &[product])?;
    site.emit("cast", &[("dtype", AttrValue::DType(dtype))], &[size])
}

/// Of a real number: half a turn for negative ones.
fn angle(site: &mut NodeLowering) -> Converted {
    let x = site.float_argument("self")?;
    let dtype = site.dtype(x);
    let zero = zero(site, dtype)?;
    let below = site.implicit("below", "lt", &[], &[x, zero])?;
    let half = site.literal("half_turn", Scalar::Float(std::f64::consts::PI), dtype)?;
    let turned = site.implicit("turned", "where", &[], &[below, half, zero])?;
    let undefined = site.implicit("undefined", "ne", &[], &[x, x])?;
    site.emit("where", &[], &[undefined, x, turned])
}

/// The nearest number with so many decimals. PyTorch scales by a power of ten, rounds, and scales back.
fn to_decimals(site: &mut NodeLowering) -> Converted {
    let (x, decimals) = (site.tensor("self")?, site.int_or("decimals", 0)?);
    if decimals == 0 {
        return site.emit("round", &[], &[x]);
    }
    let dtype = site.dtype(x);
    let (true, Ok(exponent)) = (matches!(dtype, DType::F32 | DType::F64), i32::try_from(decimals.unsigned_abs()))
    else {
        return Ok(None);
    };
    let power = site.literal("power", Scalar::Float(dtype.round(10.0_f64.powi(exponent))), dtype)?;
    let (away, back) = if decimals > 0 { ("mul", "div") } else { ("div", "mul") };
    let scaled = site.implicit("scaled", away, &[], &[x, power])?;
    let rounded = site.implicit("rounded", "round", &[], &[scaled])?;
    site.emit(back, &[], &[rounded, power])
}
