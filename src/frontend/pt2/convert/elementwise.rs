//! Arithmetic, comparisons, activations, casts.

use super::super::lowering::{Converted, NodeLowering, Operand, Refusal, Scalar};
use super::super::target::Target;
use super::pointwise;
use super::promote::{Promotion, result_dtype};
use crate::ir::{AttrValue, DType, Number, Value};

pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    match target.name {
        "neg" | "abs" | "relu" | "floor" | "logical_not" | "round"
            if target.name != "round" || target.overload.is_empty() =>
        {
            let x = site.tensor("self")?;
            site.emit(target.name, &[], &[x])
        }
        "exp" | "expm1" | "log" | "log1p" | "sqrt" | "rsqrt" | "reciprocal" | "sin" | "cos" | "tanh" | "erf"
        | "sigmoid" | "silu" => {
            let x = site.float_argument("self")?;
            site.emit(target.name, &[], &[x])
        }
        "bitwise_not" if is_bool(site, &["self"])? => {
            let x = site.tensor("self")?;
            site.emit("logical_not", &[], &[x])
        }
        "gelu" => {
            let x = site.tensor("self")?;
            let approximate = AttrValue::str(site.str("approximate").unwrap_or("none"));
            site.emit("gelu", &[("approximate", approximate)], &[x])
        }
        "square" => power(site, Scalar::Int(2)),
        "pow" if target.overload == "Tensor_Scalar" => power(site, site.scalar("exponent")?),
        "clamp" | "clip" if target.overload.is_empty() => {
            match (site.maybe_scalar("min")?, site.maybe_scalar("max")?) {
                // Unlike `clamp_min` and `clamp_max`, it takes no notice of a single bound that is NaN.
                (Some(bound), None) | (None, Some(bound)) if bound.value().is_nan() => {
                    let x = site.tensor("self")?;
                    let operands = [Operand::Tensor(x), Operand::Scalar(bound)];
                    let dtype = result_dtype(site, &operands, Promotion::Common)?;
                    let x = site.cast("self", x, dtype)?;
                    site.emit("alias", &[], &[x])
                }
                (min, max) => clamp(site, min, max),
            }
        }
        "clamp_min" if target.overload.is_empty() => clamp(site, Some(site.scalar("min")?), None),
        "clamp_max" if target.overload.is_empty() => clamp(site, None, Some(site.scalar("max")?)),
        "hardtanh" => {
            let min = site.maybe_scalar("min_val")?.unwrap_or(Scalar::Float(-1.0));
            let max = site.maybe_scalar("max_val")?.unwrap_or(Scalar::Float(1.0));
            let dtype = site.dtype(site.tensor("self")?);
            // Integers stay integers, and so do the bounds.
            let bound = |bound: Scalar| match bound.beside(dtype) {
                Number::Int(n) => Scalar::Int(n),
                Number::Float(f) => Scalar::Float(f.0),
            };
            clamp(site, Some(bound(min)), Some(bound(max)))
        }
        "relu6" => clamp(site, Some(Scalar::Int(0)), Some(Scalar::Int(6))),
        "add" | "sub" | "subtract" | "rsub" => match pointwise::sum_with_factor(site, target)? {
            Some(values) => Ok(Some(values)),
            None if target.name == "rsub" => difference_reversed(site),
            None => sum(site, if target.name == "add" { "add" } else { "sub" }),
        },
        "mul" | "multiply" => binary(site, "mul", Promotion::Common),
        "div" | "divide" | "true_divide" if !site.given("rounding_mode") => binary(site, "div", Promotion::Float),
        "div" | "divide" | "true_divide" => rounded_quotient(site),
        "floor_divide" => quotient(site, "floor_div"),
        "remainder" => quotient(site, "remainder"),
        "maximum" | "minimum" => binary(site, target.name, Promotion::Common),
        "max" | "min" if target.overload == "other" => {
            binary(site, if target.name == "max" { "maximum" } else { "minimum" }, Promotion::Common)
        }
        "eq" | "ne" | "lt" | "le" | "gt" | "ge" => binary(site, target.name, Promotion::Common),
        "not_equal" => binary(site, "ne", Promotion::Common),
        "less" => binary(site, "lt", Promotion::Common),
        "less_equal" => binary(site, "le", Promotion::Common),
        "greater" => binary(site, "gt", Promotion::Common),
        "greater_equal" => binary(site, "ge", Promotion::Common),
        "logical_and" | "logical_or" => binary(site, target.name, Promotion::Common),
        "logical_xor" | "bitwise_xor" | "__xor__" if is_bool(site, &["self", "other"])? => {
            binary(site, "ne", Promotion::Common)
        }
        "bitwise_and" | "__and__" if is_bool(site, &["self", "other"])? => {
            binary(site, "logical_and", Promotion::Common)
        }
        "bitwise_or" | "__or__" if is_bool(site, &["self", "other"])? => binary(site, "logical_or", Promotion::Common),
        "where" if site.given("self") => select(site),
        "to" | "_to_copy" | "type_as" | "_cast_Float" => cast(site),
        "dropout" | "native_dropout" | "feature_dropout" | "alpha_dropout" => dropout(site),
        _ => Ok(None),
    }
}

/// Whether all these arguments are bools.
fn is_bool(site: &NodeLowering, names: &[&str]) -> Result<bool, Refusal> {
    for name in names {
        let bool = match site.operand(name)? {
            Operand::Tensor(v) => site.dtype(v) == DType::Bool,
            Operand::Scalar(s) => matches!(s, Scalar::Bool(_)),
        };
        if !bool {
            return Ok(false);
        }
    }
    Ok(true)
}

fn binary(site: &mut NodeLowering, op: &str, promotion: Promotion) -> Converted {
    let (x, y) = (site.operand("self")?, site.operand("other")?);
    site.promoted(op, &[("self", x), ("other", y)], promotion)
}

/// A quotient that is rounded to a whole number.
fn rounded_quotient(site: &mut NodeLowering) -> Converted {
    match site.str("rounding_mode") {
        Some("floor") => quotient(site, "floor_div"),
        Some("trunc") => quotient(site, "trunc_div"),
        _ => Ok(None),
    }
}

/// A quotient or rest of numbers. PyTorch refuses bools.
fn quotient(site: &mut NodeLowering, op: &str) -> Converted {
    let operands = [site.operand("self")?, site.operand("other")?];
    match result_dtype(site, &operands, Promotion::Common)? {
        DType::Bool => Ok(None),
        _ => binary(site, op, Promotion::Common),
    }
}

/// `self ± alpha * other`.
fn sum(site: &mut NodeLowering, op: &str) -> Converted {
    let (x, y) = (site.operand("self")?, site.operand("other")?);
    let dtype = result_dtype(site, &[x, y], Promotion::Common)?;
    let y = scaled(site, y, dtype)?;
    site.promoted(op, &[("self", x), ("other", y)], Promotion::Common)
}

/// `other - alpha * self`.
fn difference_reversed(site: &mut NodeLowering) -> Converted {
    let (x, y) = (site.operand("self")?, site.operand("other")?);
    let dtype = result_dtype(site, &[x, y], Promotion::Common)?;
    let x = scaled(site, x, dtype)?;
    site.promoted("sub", &[("other", y), ("self", x)], Promotion::Common)
}

/// `operand * alpha` in the result's element type.
fn scaled(site: &mut NodeLowering, operand: Operand, dtype: DType) -> Result<Operand, Refusal> {
    let alpha = site.maybe_scalar("alpha")?.unwrap_or(Scalar::Int(1));
    if alpha.value().to_i64() == Some(1) {
        return Ok(operand);
    }
    match operand {
        Operand::Scalar(s) => Ok(Operand::Scalar(match s.value() * alpha.value() {
            Number::Int(n) => Scalar::Int(n),
            Number::Float(f) => Scalar::Float(f.0),
        })),
        Operand::Tensor(value) => {
            let value = site.cast("cast", value, dtype)?;
            let alpha = site.literal("alpha", alpha, dtype)?;
            Ok(Operand::Tensor(site.implicit("scaled", "mul", &[], &[value, alpha])?))
        }
    }
}

fn power(site: &mut NodeLowering, exponent: Scalar) -> Converted {
    let x = site.tensor("self")?;
    let dtype = result_dtype(site, &[Operand::Tensor(x), Operand::Scalar(exponent)], Promotion::Common)?;
    let x = site.cast("self", x, dtype)?;
    site.emit("pow", &[("exponent", exponent.value().into())], &[x])
}

fn clamp(site: &mut NodeLowering, min: Option<Scalar>, max: Option<Scalar>) -> Converted {
    let x = site.tensor("self")?;
    let operands: Vec<Operand> =
        [Some(Operand::Tensor(x)), min.map(Operand::Scalar), max.map(Operand::Scalar)].into_iter().flatten().collect();
    let dtype = result_dtype(site, &operands, Promotion::Common)?;
    let x = site.cast("self", x, dtype)?;
    let bound = |b: Option<Scalar>| b.map_or(AttrValue::None, |s| s.beside(dtype).into());
    site.emit("clamp", &[("min", bound(min)), ("max", bound(max))], &[x])
}

fn select(site: &mut NodeLowering) -> Converted {
    let condition = site.tensor("condition")?;
    let condition = site.cast("condition", condition, DType::Bool)?;
    let (x, y) = (site.operand("self")?, site.operand("other")?);
    let dtype = result_dtype(site, &[x, y], Promotion::Common)?;
    let x = site.as_tensor("self", x, dtype)?;
    let y = site.as_tensor("other", y, dtype)?;
    site.emit("where", &[], &[condition, x, y])
}

/// A change of element type, or of nothing: device and memory layout do not count.
fn cast(site: &mut NodeLowering) -> Converted {
    let x = site.tensor("self")?;
    let other: Option<Value> = site.maybe_tensor("other")?;
    let dtype = match (site.maybe_dtype("dtype")?, other) {
        (Some(dtype), _) => dtype,
        (None, Some(other)) => site.dtype(other),
        (None, None) => site.dtype(x),
    };
    site.emit("cast", &[("dtype", AttrValue::DType(dtype))], &[x])
}

/// Dropout outside of training. In training it is random, hence opaque.
fn dropout(site: &mut NodeLowering) -> Converted {
    let p = site.float_or("p", 0.5)?;
    // `native_dropout` also gives the mask.
    if (site.bool_or("train", true)? && p != 0.0) || site.is_used(1) {
        return Ok(None);
    }
    // The operators that write their argument call it `self`.
    let x = site.tensor(if site.given("input") { "input" } else { "self" })?;
    site.emit("dropout", &[("p", AttrValue::float(p))], &[x])
}
