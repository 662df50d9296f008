//! Operations that work element by element.

use super::super::attribute::Attribute;
use super::super::lowering::NodeLowering;
use crate::frontend::builder::{Converted, Refusal, Values};
use crate::ir::{AttrValue, DType, Number};

/// Operations of one operand that the table has, for floats.
const UNARY: [(&str, &str); 35] = [
    ("abs", "abs"),
    ("negate", "neg"),
    ("neg", "neg"),
    ("exponential", "exp"),
    ("exponential_minus_one", "expm1"),
    ("log", "log"),
    ("log_plus_one", "log1p"),
    ("sqrt", "sqrt"),
    ("rsqrt", "rsqrt"),
    ("sine", "sin"),
    ("cosine", "cos"),
    ("tan", "tan"),
    ("tanh", "tanh"),
    ("logistic", "sigmoid"),
    ("floor", "floor"),
    ("ceil", "ceil"),
    ("round_nearest_even", "round"),
    ("erf", "erf"),
    ("erfc", "erfc"),
    ("erf_inv", "erfinv"),
    ("lgamma", "lgamma"),
    ("acos", "acos"),
    ("asin", "asin"),
    ("atan", "atan"),
    ("sinh", "sinh"),
    ("cosh", "cosh"),
    ("asinh", "asinh"),
    ("acosh", "acosh"),
    ("atanh", "atanh"),
    ("broadcast_add", "add"),
    ("broadcast_subtract", "sub"),
    ("broadcast_multiply", "mul"),
    ("broadcast_maximum", "maximum"),
    ("broadcast_minimum", "minimum"),
    ("broadcast_power", "power"),
];

pub(super) fn convert(site: &mut NodeLowering, name: &str) -> Converted {
    if let Some((_, op)) = UNARY.iter().find(|(n, _)| *n == name) {
        // What CHLO broadcasts otherwise than from the right is left alone.
        if name.starts_with("broadcast_") && site.form.attribute(&["broadcast_dimensions"]).is_some() {
            return Ok(None);
        }
        return site.elementwise(op, &[], site.operands);
    }
    match name {
        "add" | "subtract" | "multiply" | "maximum" | "minimum" | "and" | "or" | "xor" => two(site, name),
        "divide" | "remainder" => {
            let [x, y] = site.all()?;
            let float = site.dtype(x).is_float();
            let op = match (name, float) {
                ("divide", true) => "div",
                ("divide", false) => "trunc_div",
                _ => "fmod",
            };
            site.elementwise(op, &[], &[x, y])
        }
        "power" => site.elementwise("power", &[], site.operands),
        "atan2" => site.elementwise("atan2", &[], site.operands),
        "not" => {
            let [x] = site.all()?;
            let op = if site.dtype(x) == DType::Bool { "logical_not" } else { "bitwise_not" };
            site.elementwise(op, &[], &[x])
        }
        "square" => {
            let [x] = site.all()?;
            site.elementwise("mul", &[], &[x, x])
        }
        "select" => {
            let [condition, x, y] = site.all()?;
            match site.uniform(condition) {
                Some(known) => site.gives(if known.is_true() { x } else { y }),
                None => site.elementwise("where", &[], &[condition, x, y]),
            }
        }
        "convert" => {
            let [x] = site.all()?;
            let dtype = site.result()?.dtype;
            if site.dtype(x) == dtype {
                return site.gives(x);
            }
            let values = site.elementwise("cast", &[("dtype", AttrValue::DType(dtype))], &[x])?;
            if let (Some(&[value]), Some(&source)) = (values.as_deref(), site.tables.repeats.get(&x)) {
                let source = site.cast(source, dtype)?;
                site.tables.repeats.insert(value, source);
            }
            Ok(values)
        }
        "optimization_barrier" => Ok(Some(Values::from_slice(site.operands))),
        "sign" => sign(site),
        "cbrt" => {
            let [x] = site.all()?;
            let magnitude = site.part("abs", &[], &[x])?;
            let root = site.part("pow", &[("exponent", AttrValue::float(1.0 / 3.0))], &[magnitude])?;
            let sign = site.part("sign", &[], &[x])?;
            site.emit("mul", &[], &[sign, root])
        }
        "is_finite" => {
            let [x] = site.all()?;
            let magnitude = site.part("abs", &[], &[x])?;
            let infinity = site.number(Number::float(f64::INFINITY), site.dtype(x))?;
            site.emit("lt", &[], &[magnitude, infinity])
        }
        "is_inf" | "is_pos_inf" | "is_neg_inf" => {
            let [mut x] = site.all()?;
            let infinity = if name == "is_neg_inf" { f64::NEG_INFINITY } else { f64::INFINITY };
            let infinity = site.number(Number::float(infinity), site.dtype(x))?;
            if name == "is_inf" {
                x = site.part("abs", &[], &[x])?;
            }
            site.emit("eq", &[], &[x, infinity])
        }
        "round_nearest_afz" => {
            let [x] = site.all()?;
            let whole = site.part("trunc", &[], &[x])?;
            // Exact: the two are within 1 of each other.
            let fraction = site.part("sub", &[], &[x, whole])?;
            let fraction = site.part("abs", &[], &[fraction])?;
            let half = site.number(Number::float(0.5), site.dtype(x))?;
            let up = site.part("ge", &[], &[fraction, half])?;
            let sign = site.part("sign", &[], &[x])?;
            let next = site.part("add", &[], &[whole, sign])?;
            site.emit("where", &[], &[up, next, whole])
        }
        "clamp" => clamp(site),
        "shift_left" => site.elementwise("shift_left", &[], site.operands),
        "shift_right_arithmetic" => shift_right_arithmetic(site),
        "shift_right_logical" => shift_right_logical(site),
        "reduce_precision" => reduce_precision(site),
        "bitcast_convert" => {
            let [x] = site.all()?;
            if site.dtype(x) == site.result()?.dtype { site.gives(x) } else { Ok(None) }
        }
        _ => Ok(None),
    }
}

/// Operations of two operands. On bools, sums and products are those of logic.
fn two(site: &mut NodeLowering, name: &str) -> Converted {
    let [x, y] = site.all()?;
    let logical = site.dtype(x) == DType::Bool;
    let op = match name {
        "add" | "maximum" | "or" if logical => "logical_or",
        "multiply" | "minimum" | "and" if logical => "logical_and",
        "xor" if logical => "ne",
        "add" => "add",
        "subtract" => "sub",
        "multiply" => "mul",
        "maximum" => "maximum",
        "minimum" => "minimum",
        "and" => "bitwise_and",
        "or" => "bitwise_or",
        "xor" => "bitwise_xor",
        _ => return Ok(None),
    };
    site.elementwise(op, &[], &[x, y])
}

/// -1, 0 or 1; NaN and zeros of both signs stay as they are.
fn sign(site: &mut NodeLowering) -> Converted {
    let [x] = site.all()?;
    if !site.dtype(x).is_float() {
        return site.elementwise("sign", &[], &[x]);
    }
    let sign = site.part("sign", &[], &[x])?;
    let magnitude = site.part("abs", &[], &[x])?;
    let zero = site.number(Number::float(0.0), site.dtype(x))?;
    // False for zeros and for NaN.
    let has_sign = site.part("gt", &[], &[magnitude, zero])?;
    site.emit("where", &[], &[has_sign, sign, x])
}

fn clamp(site: &mut NodeLowering) -> Converted {
    let [low, x, high] = site.all()?;
    if let (Some(min), Some(max)) = (site.uniform(low), site.uniform(high))
        && !min.is_nan()
        && !max.is_nan()
        && !min.is_above(max)
    {
        return site.elementwise("clamp", &[("min", min.into()), ("max", max.into())], &[x]);
    }
    let above = site.part_of("maximum", &[], &[x, low])?;
    site.elementwise("minimum", &[], &[above, high])
}

/// The highest bit moves into the places that get free, in types without a sign, too.
fn shift_right_arithmetic(site: &mut NodeLowering) -> Converted {
    let [x, y] = site.all()?;
    let own = site.dtype(x);
    let signed = match own {
        DType::U8 => DType::I8,
        DType::U16 => DType::I16,
        DType::U32 => DType::I32,
        DType::U64 => DType::I64,
        _ => return site.elementwise("shift_right", &[], &[x, y]),
    };
    let to = |dtype: DType| [("dtype", AttrValue::DType(dtype))];
    let x = site.part("cast", &to(signed), &[x])?;
    // A distance beyond the largest of the signed type becomes negative, which moves all bits.
    let y = site.part("cast", &to(signed), &[y])?;
    let shifted = site.part_of("shift_right", &[], &[x, y])?;
    site.emit("cast", &to(own), &[shifted])
}

/// Zeros move in from the left, also for signed integers.
fn shift_right_logical(site: &mut NodeLowering) -> Converted {
    let [x, y] = site.all()?;
    let dtype = site.dtype(x);
    let Some((least, _)) = dtype.int_range().filter(|_| dtype.is_int()) else { return Ok(None) };
    if least == 0 {
        return site.elementwise("shift_right", &[], &[x, y]);
    }
    let bits = 8 * dtype.bytes() as i64;
    let number = |site: &mut NodeLowering, value: i64| site.number(Number::Int(value), dtype);
    let (zero, ones, width) = (number(site, 0)?, number(site, -1)?, number(site, bits)?);
    let shifted = site.part_of("shift_right", &[], &[x, y])?;
    let rest = site.part_of("sub", &[], &[width, y])?;
    let copies = site.part("shift_left", &[], &[ones, rest])?;
    let kept = site.part("bitwise_not", &[], &[copies])?;
    let cleared = site.part("bitwise_and", &[], &[shifted, kept])?;
    let still = site.part_of("eq", &[], &[y, zero])?;
    let moved = site.part_of("where", &[], &[still, x, cleared])?;
    let negative = site.part_of("lt", &[], &[y, zero])?;
    let far = site.part_of("ge", &[], &[y, width])?;
    let gone = site.part("logical_or", &[], &[negative, far])?;
    site.emit("where", &[], &[gone, zero, moved])
}

/// A cast to a type with fewer bits and back, where there is that type.
fn reduce_precision(site: &mut NodeLowering) -> Converted {
    let [x] = site.all()?;
    let own = site.dtype(x);
    let word = site.form.attribute(&["format"]).and_then(Attribute::word);
    let bits = match word.and_then(|w| w.strip_prefix('e')?.split_once('m')) {
        Some((exponent, mantissa)) => exponent.parse().ok().zip(mantissa.parse().ok()),
        None => Some((site.int_or(&["exponent_bits"], 0), site.int_or(&["mantissa_bits"], 0))),
    };
    let narrow = match bits.ok_or_else(|| Refusal::new("has no format"))? {
        (11, 52) => DType::F64,
        (8, 23) => DType::F32,
        (8, 7) => DType::BF16,
        // Where the exponent has fewer bits than that of f32, XLA makes zeros of what would be subnormal, and a cast does not.
        _ => return Ok(None),
    };
    // The IR rounds doubles to narrow types by way of f32.
    if own == DType::F64 && !matches!(narrow, DType::F64 | DType::F32) {
        return Ok(None);
    }
    if own.widens_to(narrow) {
        return site.gives(x);
    }
    let rounded = site.cast(x, narrow)?;
    site.emit("cast", &[("dtype", AttrValue::DType(own))], &[rounded])
}
