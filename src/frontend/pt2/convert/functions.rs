//! Less common functions, activations and sums of products.

use super::super::lowering::{Converted, NodeLowering, Operand, Refusal, Scalar, int};
use super::super::target::Target;
use super::pointwise;
use super::promote::{Promotion, result_dtype};
use crate::ir::{AttrValue, DType, Value};

/// What PyTorch's `selu` takes for `alpha` and `scale` of `elu`.
const SELU: (f64, f64) = (1.673_263_242_354_377_2, 1.050_700_987_355_480_5);

pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    match (target.name, target.overload) {
        ("ceil" | "trunc" | "fix" | "sign" | "sgn", "") => {
            let x = site.tensor("self")?;
            let op = match target.name {
                "fix" => "trunc",
                "sgn" => "sign",
                name => name,
            };
            site.emit(op, &[], &[x])
        }
        ("isnan", "") => {
            let x = site.tensor("self")?;
            site.emit("ne", &[], &[x, x])
        }
        ("isinf", "") => infinite(site),
        ("atan2" | "arctan2", "") => binary(site, "atan2", "self", "other", Promotion::Float),
        ("hypot", "") => binary(site, "hypot", "self", "other", Promotion::Float),
        ("fmod", "Scalar" | "Tensor") => binary(site, "fmod", "self", "other", Promotion::Common),
        ("pow", "Tensor_Tensor" | "Scalar") => power(site),
        ("gcd", "") => binary(site, "gcd", "self", "other", Promotion::Common),
        ("bitwise_not", "") => {
            let x = site.tensor("self")?;
            site.emit("bitwise_not", &[], &[x])
        }
        ("bitwise_and" | "__and__", _) => binary(site, "bitwise_and", "self", "other", Promotion::Common),
        ("bitwise_or" | "__or__", _) => binary(site, "bitwise_or", "self", "other", Promotion::Common),
        ("bitwise_xor" | "__xor__", _) => binary(site, "bitwise_xor", "self", "other", Promotion::Common),
        ("bitwise_left_shift" | "__lshift__", _) => shift(site, "shift_left"),
        ("bitwise_right_shift" | "__rshift__", _) => shift(site, "shift_right"),
        ("clamp" | "clip", "Tensor") => bounded(site),
        ("clamp_min" | "clamp_max", "Tensor") => bounded(site),
        ("addcmul" | "addcdiv", "") => sum_of_products(site, target.name),
        ("lerp", _) => pointwise::lerp(site),
        (name, "") => match real_function(name) {
            Some(op) => {
                let x = site.float_argument("self")?;
                site.emit(op, &[], &[x])
            }
            None => activation(site, name),
        },
        _ => Ok(None),
    }
}

/// The operator for a function of one real number.
fn real_function(name: &str) -> Option<&str> {
    let name = match name {
        "special_erfc" => "erfc",
        "special_exp2" => "exp2",
        "special_erfinv" => "erfinv",
        "special_gammaln" => "lgamma",
        _ => name,
    };
    let short =
        ["sin", "cos", "tan", "sinh", "cosh", "tanh"].into_iter().find(|f| name.strip_prefix("arc") == Some(*f));
    match (short, name) {
        (Some("sin"), _) => Some("asin"),
        (Some("cos"), _) => Some("acos"),
        (Some("tan"), _) => Some("atan"),
        (Some("sinh"), _) => Some("asinh"),
        (Some("cosh"), _) => Some("acosh"),
        (Some("tanh"), _) => Some("atanh"),
        (
            _,
            "tan" | "asin" | "acos" | "atan" | "sinh" | "cosh" | "asinh" | "acosh" | "atanh" | "exp2" | "log2"
            | "log10" | "erfc" | "erfinv" | "lgamma",
        ) => Some(name),
        _ => None,
    }
}

fn binary(site: &mut NodeLowering, op: &str, x: &str, y: &str, promotion: Promotion) -> Converted {
    let operands = [site.operand(x)?, site.operand(y)?];
    // PyTorch's logic has other operators for bools.
    if result_dtype(site, &operands, promotion)? == DType::Bool {
        return Ok(None);
    }
    site.promoted(op, &[(x, operands[0]), (y, operands[1])], promotion)
}

fn shift(site: &mut NodeLowering, op: &str) -> Converted {
    let operands = [site.operand("self")?, site.operand("other")?];
    match result_dtype(site, &operands, Promotion::Common)? {
        // Of floats, PyTorch takes products with powers of 2.
        dtype if !dtype.is_int() => Ok(None),
        _ => site.promoted(op, &[("self", operands[0]), ("other", operands[1])], Promotion::Common),
    }
}

/// `isinf` as `abs(x) == inf`. Integers are never infinite.
fn infinite(site: &mut NodeLowering) -> Converted {
    let x = site.tensor("self")?;
    let dtype = site.dtype(x);
    if !dtype.is_float() {
        return Ok(None);
    }
    let size = site.implicit("abs", "abs", &[], &[x])?;
    let infinity = site.literal("infinity", Scalar::Float(f64::INFINITY), dtype)?;
    site.emit("eq", &[], &[size, infinity])
}

/// A power by tensors, or of a number. In narrow types it depends on the device whether the number is rounded first.
fn power(site: &mut NodeLowering) -> Converted {
    let operands = [site.operand("self")?, site.operand("exponent")?];
    let dtype = result_dtype(site, &operands, Promotion::Common)?;
    let rounds = |o: &Operand| match o {
        Operand::Scalar(s) => dtype.store(s.value()).is_none_or(|kept| kept.to_f64() != s.value().to_f64()),
        Operand::Tensor(_) => false,
    };
    let narrow = !matches!(dtype, DType::F32 | DType::F64);
    if dtype == DType::Bool || (narrow && operands.iter().any(rounds)) {
        return Ok(None);
    }
    site.promoted("power", &[("self", operands[0]), ("exponent", operands[1])], Promotion::Common)
}

/// A tensor limited by tensors.
fn bounded(site: &mut NodeLowering) -> Converted {
    let x = site.tensor("self")?;
    let (min, max) = (site.maybe_tensor("min")?, site.maybe_tensor("max")?);
    let all: Vec<Operand> = [Some(x), min, max].into_iter().flatten().map(Operand::Tensor).collect();
    let dtype = result_dtype(site, &all, Promotion::Common)?;
    let x = site.cast("self", x, dtype)?;
    // The larger one of two bools is true if either is.
    let (larger, smaller) = if dtype == DType::Bool { ("logical_or", "logical_and") } else { ("maximum", "minimum") };
    match (min, max) {
        (None, None) => Ok(None),
        (Some(bound), None) => {
            let bound = site.cast("min", bound, dtype)?;
            site.emit(larger, &[], &[x, bound])
        }
        (None, Some(bound)) => {
            let bound = site.cast("max", bound, dtype)?;
            site.emit(smaller, &[], &[x, bound])
        }
        (Some(min), Some(max)) => {
            let (min, max) = (site.cast("min", min, dtype)?, site.cast("max", max, dtype)?);
            let above = site.implicit("above", larger, &[], &[x, min])?;
            site.emit(smaller, &[], &[above, max])
        }
    }
}

/// `self + value * tensor1 * tensor2`, or with a quotient.
fn sum_of_products(site: &mut NodeLowering, op: &str) -> Converted {
    let names = ["self", "tensor1", "tensor2"];
    let values = names.iter().map(|n| site.tensor(n)).collect::<Result<Vec<_>, Refusal>>()?;
    let all: Vec<Operand> = values.iter().map(|&v| Operand::Tensor(v)).collect();
    let dtype = result_dtype(site, &all, Promotion::Common)?;
    let value = site.maybe_scalar("value")?.unwrap_or(Scalar::Int(1));
    let whole = matches!(value, Scalar::Int(_));
    if dtype == DType::Bool || !(dtype.is_float() || (whole && op == "addcmul")) {
        return Ok(None);
    }
    let mut operands = Vec::with_capacity(3);
    for (name, value) in names.iter().zip(values) {
        operands.push(site.cast(name, value, dtype)?);
    }
    let value = if dtype.is_float() { AttrValue::float(value.value().to_f64()) } else { value.value().into() };
    site.emit(op, &[("value", value)], &operands)
}

fn activation(site: &mut NodeLowering, name: &str) -> Converted {
    if !matches!(
        name,
        "softplus"
            | "elu"
            | "selu"
            | "celu"
            | "leaky_relu"
            | "rrelu"
            | "rrelu_with_noise"
            | "rrelu_with_noise_functional"
            | "hardsigmoid"
            | "hardswish"
            | "mish"
            | "log_sigmoid"
            | "log_sigmoid_forward"
            | "glu"
    ) {
        return Ok(None);
    }
    let x = site.tensor("self")?;
    let elu = |alpha, scale, input_scale| {
        [
            ("alpha", AttrValue::float(alpha)),
            ("scale", AttrValue::float(scale)),
            ("input_scale", AttrValue::float(input_scale)),
        ]
    };
    match name {
        "softplus" => {
            let (beta, threshold) = (site.float_or("beta", 1.0)?, site.float_or("threshold", 20.0)?);
            let attrs = [("beta", AttrValue::float(beta)), ("threshold", AttrValue::float(threshold))];
            site.emit("softplus", &attrs, &[x])
        }
        "elu" => {
            let attrs =
                elu(site.float_or("alpha", 1.0)?, site.float_or("scale", 1.0)?, site.float_or("input_scale", 1.0)?);
            site.emit("elu", &attrs, &[x])
        }
        "selu" => site.emit("elu", &elu(SELU.0, SELU.1, 1.0), &[x]),
        "celu" => {
            let alpha = site.float_or("alpha", 1.0)?;
            site.emit("elu", &elu(alpha, 1.0, 1.0 / alpha), &[x])
        }
        "leaky_relu" => {
            let slope = site.float_or("negative_slope", 0.01)?;
            site.emit("leaky_relu", &[("negative_slope", AttrValue::float(slope))], &[x])
        }
        "rrelu" | "rrelu_with_noise" | "rrelu_with_noise_functional" => {
            // In training, the slope is drawn.
            if site.bool_or("training", false)? || site.is_used(1) {
                return Ok(None);
            }
            let (lower, upper) = (site.float_or("lower", 0.125)?, site.float_or("upper", 1.0 / 3.0)?);
            let slope = AttrValue::float((lower + upper) / 2.0);
            site.emit("leaky_relu", &[("negative_slope", slope)], &[x])
        }
        "log_sigmoid_forward" => log_sigmoid_forward(site, x),
        "glu" => {
            let dim = site.dim_of(x, site.int_or("dim", -1)?)?;
            site.emit("glu", &[("dim", int(dim))], &[x])
        }
        _ => site.emit(name, &[], &[x]),
    }
}

/// The logarithm of the sigmoid, and what its gradient may be computed from.
fn log_sigmoid_forward(site: &mut NodeLowering, x: Value) -> Converted {
    let needs_buffer = site.is_used(1) && site.output_names().count() == 2;
    // Empty on GPUs: what reads it there computes it again.
    if needs_buffer && (site.stated(1)? != site.ty(x) || !matches!(site.dtype(x), DType::F32 | DType::F64)) {
        return Ok(None);
    }
    let Some(mut values) = site.emit("log_sigmoid", &[], &[x])? else { return Ok(None) };
    if needs_buffer {
        let size = site.implicit("size", "abs", &[], &[x])?;
        let opposite = site.implicit("opposite", "neg", &[], &[size])?;
        values.push(site.implicit("buffer", "exp", &[], &[opposite])?);
    }
    Ok(Some(values))
}
