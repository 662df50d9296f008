//! Functions of the elements that the op table has no entry for, as the formulas that PyTorch computes them by.
//!
//! In bf16 and f16, PyTorch computes in f32 and rounds once.

use super::super::lowering::{Converted, NodeLowering, Operand, Refusal};
use super::super::target::Target;
use super::formula::{Formula, Last};
use super::promote::{Promotion, result_dtype};
use crate::ir::{AttrValue, DType, Value};

/// Makes the nodes of a formula of the operands.
type ElementFormula = fn(&mut Formula, &[Value]) -> Last;

const DEGREE: f64 = std::f64::consts::PI / 180.0;

pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    let formula: ElementFormula = match target.name {
        "frac" => |f, x| {
            let whole = f.op("trunc", &[x[0]])?;
            f.last("sub", &[x[0], whole])
        },
        "sinc" => |f, x| {
            let angle = f.with("mul", x[0], std::f64::consts::PI)?;
            let (zero, sine) = (f.with("eq", angle, 0.0)?, f.op("sin", &[angle])?);
            let (one, quotient) = (f.literal(1.0)?, f.op("div", &[sine, angle])?);
            f.last("where", &[zero, one, quotient])
        },
        "deg2rad" => |f, x| f.last_with("mul", x[0], DEGREE),
        "rad2deg" => |f, x| f.last_with("mul", x[0], 1.0 / DEGREE),
        // What they say of integers is the same for all.
        "isfinite" | "isposinf" | "isneginf" if !site.dtype(site.tensor("self")?).is_float() => return Ok(None),
        "isfinite" => |f, x| {
            let both = bounded_number(f, x[0])?;
            f.last("logical_and", &both)
        },
        "special_ndtr" => |f, x| {
            let scaled = f.with("mul", x[0], std::f64::consts::FRAC_1_SQRT_2)?;
            let error = f.op("erf", &[scaled])?;
            let (one, half) = (f.literal(1.0)?, f.literal(0.5)?);
            let sum = f.op("add", &[one, error])?;
            f.last("mul", &[sum, half])
        },
        "isposinf" => |f, x| f.last_with("eq", x[0], f64::INFINITY),
        "isneginf" => |f, x| f.last_with("eq", x[0], f64::NEG_INFINITY),
        // Whole numbers are what they are.
        "nan_to_num" if !site.dtype(site.tensor("self")?).is_float() => {
            let x = site.tensor("self")?;
            return site.emit("clone", &[], &[x]);
        }
        "nan_to_num" => number_instead,
        "special_entr" => entropy,
        "softshrink" => soft_shrink,
        "hardshrink" => |f, x| {
            // PyTorch compares with what the element type keeps of it.
            let (size, bound) = (f.op("abs", &[x[0]])?, f.stored("lambd", 0.5)?);
            let (small, zero) = (f.with("le", size, bound)?, f.literal(0.0)?);
            f.last("where", &[small, zero, x[0]])
        },
        "threshold" => |f, x| {
            let (bound, value) = (f.number("threshold", 0.0)?, f.number("value", 0.0)?);
            let (below, value) = (f.with("le", x[0], bound)?, f.literal(value)?);
            f.last("where", &[below, value, x[0]])
        },
        "logit" if site.given("eps") => |f, x| {
            let eps = f.number("eps", 0.0)?;
            let low = f.at_least(x[0], eps)?;
            let inner = f.at_most(low, 1.0 - eps)?;
            let rest = f.from(1.0, inner)?;
            let odds = f.op("div", &[inner, rest])?;
            f.last("log", &[odds])
        },
        "logaddexp" => |f, x| {
            // What is no bounded number is infinite where it is equal to something.
            let both = bounded_number(f, x[0])?;
            let bounded = f.op("logical_and", &both)?;
            let infinite = f.op("logical_not", &[bounded])?;
            added_exponentials(f, x, infinite, "exp", None)
        },
        "logaddexp2" => |f, x| {
            let size = f.op("abs", &[x[0]])?;
            let infinite = f.with("eq", size, f64::INFINITY)?;
            added_exponentials(f, x, infinite, "exp2", Some(std::f64::consts::LOG2_E))
        },
        "xlogy" | "special_xlogy" => |f, x| times_logarithm(f, x, "log"),
        "special_xlog1py" => |f, x| times_logarithm(f, x, "log1p"),
        "prelu" | "_prelu_kernel" => leaky,
        "isclose" => close,
        _ => return Ok(None),
    };
    pointwise(site, formula)
}

/// Sums and differences of floats with a factor `alpha`, which one kernel computes.
pub(super) fn sum_with_factor(site: &mut NodeLowering, target: Target) -> Converted {
    let alpha = site.maybe_scalar("alpha")?.map_or(1.0, |s| s.value().to_f64());
    let (sign, is_reversed, formula): (f64, bool, ElementFormula) = match target.name {
        _ if alpha.abs() == 1.0 => return Ok(None),
        "add" => (1.0, false, |f, x| with_factor(f, "add", x)),
        "sub" | "subtract" => (-1.0, false, |f, x| with_factor(f, "sub", x)),
        "rsub" => (-1.0, true, |f, x| with_factor(f, "sub", &[x[1], x[0]])),
        _ => return Ok(None),
    };
    let operands = [site.operand("self")?, site.operand("other")?];
    let dtype = result_dtype(site, &operands, Promotion::Float)?;
    let [Operand::Tensor(x), Operand::Tensor(y)] = operands else { return pointwise(site, formula) };
    if !dtype.is_float() || site.stated(0)?.dtype != dtype {
        return Ok(None);
    }
    let (x, y) = (site.cast("self", x, dtype)?, site.cast("other", y, dtype)?);
    let operands = if is_reversed { [y, x] } else { [x, y] };
    site.emit("add_scaled", &[("alpha", AttrValue::float(sign * alpha))], &operands)
}

/// `x ± alpha y`, of which one is a number.
fn with_factor(f: &mut Formula, op: &'static str, operands: &[Value]) -> Last {
    let [x, y] = *operands else { return Err(Refusal::new("takes two tensors")) };
    let alpha = f.number("alpha", 1.0)?;
    let product = f.with("mul", y, alpha)?;
    f.last(op, &[x, product])
}

/// From `self` to `end` by a weight.
pub(super) fn lerp(site: &mut NodeLowering) -> Converted {
    let (x, y) = (site.tensor("self")?, site.tensor("end")?);
    let dtype = site.dtype(x);
    if !dtype.is_float() || site.dtype(y) != dtype {
        return Ok(None);
    }
    match site.operand("weight")? {
        Operand::Tensor(weight) if site.dtype(weight) == dtype => site.emit("lerp", &[], &[x, y, weight]),
        Operand::Tensor(_) => Ok(None),
        // A number is never rounded to a narrow type.
        Operand::Scalar(number) if matches!(dtype, DType::F16 | DType::BF16) => {
            let (x, y) = (site.cast("wide", x, DType::F32)?, site.cast("wide", y, DType::F32)?);
            let weight = site.literal("weight", number, DType::F32)?;
            let between = site.implicit("between", "lerp", &[], &[x, y, weight])?;
            site.emit("cast", &[("dtype", AttrValue::DType(dtype))], &[between])
        }
        Operand::Scalar(number) => {
            let weight = site.literal("weight", number, dtype)?;
            site.emit("lerp", &[], &[x, y, weight])
        }
    }
}

/// A formula of the operands, in their common type or in f32.
fn pointwise(site: &mut NodeLowering, formula: ElementFormula) -> Converted {
    let mut operands: Vec<Operand> = Vec::new();
    for name in ["self", "other", "weight"] {
        if site.given(name) {
            operands.push(site.operand(name)?);
        }
    }
    let dtype = result_dtype(site, &operands, Promotion::Float)?;
    let stated = site.stated(0)?;
    let compares = stated.dtype == DType::Bool;
    let narrow = matches!(dtype, DType::F16 | DType::BF16);
    let computed = if narrow && !compares { DType::F32 } else { dtype };
    if !(narrow || matches!(computed, DType::F32 | DType::F64)) || !(stated.dtype == dtype || compares) {
        return Ok(None);
    }
    let values = operands.into_iter().map(|o| match o {
        // A number is never rounded to the narrow type.
        Operand::Scalar(scalar) => site.literal("operand", scalar, computed),
        Operand::Tensor(value) => {
            let value = site.cast("operand", value, dtype)?;
            site.cast("wide", value, computed)
        }
    });
    let values = values.collect::<Result<Vec<_>, Refusal>>()?;
    let mut f = Formula::new(site, computed);
    let (op, operands) = formula(&mut f, &values)?;
    f.finished(op, &operands, stated.dtype)
}

/// Other numbers where there is none, or an infinite one.
fn number_instead(f: &mut Formula, x: &[Value]) -> Last {
    // The largest number of the type that the operator is called in.
    let called = f.site.tensor("self")?;
    let largest = f.site.dtype(called).max_finite().unwrap_or(f64::MAX);
    let mut last = None;
    for (test, place, name, default) in [
        ("ne", f64::NAN, "nan", 0.0),
        ("eq", f64::NEG_INFINITY, "neginf", -largest),
        ("eq", f64::INFINITY, "posinf", largest),
    ] {
        let found = if place.is_nan() { f.op(test, &[x[0], x[0]])? } else { f.with(test, x[0], place)? };
        let other = f.number(name, default)?;
        let other = f.literal(other)?;
        let before = last.take().map_or(Ok(x[0]), |(op, operands): (&str, Vec<Value>)| f.op(op, &operands))?;
        last = Some(("where", vec![found, other, before]));
    }
    last.ok_or_else(|| Refusal::new("has no result"))
}

/// `-x ln x`, 0 for 0, and minus infinity below.
fn entropy(f: &mut Formula, x: &[Value]) -> Last {
    let undefined = f.op("ne", &[x[0], x[0]])?;
    let (above, zero) = (f.with("gt", x[0], 0.0)?, f.with("eq", x[0], 0.0)?);
    let (opposite, logarithm) = (f.op("neg", &[x[0]])?, f.op("log", &[x[0]])?);
    let inside = f.op("mul", &[opposite, logarithm])?;
    let inside = f.op("fused", &[inside])?;
    let (nothing, low) = (f.literal(0.0)?, f.literal(f64::NEG_INFINITY)?);
    let outside = f.op("where", &[zero, nothing, low])?;
    let number = f.op("where", &[above, inside, outside])?;
    f.last("where", &[undefined, x[0], number])
}

/// `x` less `lambd` above `lambd`, plus `lambd` below its opposite, 0 in between.
fn soft_shrink(f: &mut Formula, x: &[Value]) -> Last {
    let bound = f.number("lambd", 0.5)?;
    let (size, sign) = (f.op("abs", &[x[0]])?, f.op("sign", &[x[0]])?);
    let (large, step) = (f.with("gt", size, f64::from(bound as f32))?, f.with("mul", sign, bound)?);
    let (shrunk, zero) = (f.op("sub", &[x[0], step])?, f.with("mul", x[0], 0.0)?);
    f.last("where", &[large, shrunk, zero])
}

/// Whether there is a number, and whether it is none of the infinities.
fn bounded_number(f: &mut Formula, x: Value) -> Result<[Value; 2], Refusal> {
    let size = f.op("abs", &[x])?;
    let (bounded, number) = (f.with("ne", size, f64::INFINITY)?, f.op("eq", &[x, x])?);
    Ok([number, bounded])
}

/// `ln(e^x + e^y)`, or by another base; the larger one is taken out. Two equal infinities stay what they are: `infinite` says whether `x` is
/// one. PyTorch asks for that in one way for `logaddexp` and in another one for `logaddexp2`.
fn added_exponentials(f: &mut Formula, x: &[Value], infinite: Value, exponential: &str, factor: Option<f64>) -> Last {
    let [x, y] = *x else { return Err(Refusal::new("takes two tensors")) };
    let order = f.op("ge", &[x, y])?;
    let (larger, smaller) = (f.op("where", &[order, x, y])?, f.op("where", &[order, y, x])?);
    let equal = f.op("eq", &[x, y])?;
    let stays = f.op("logical_and", &[infinite, equal])?;
    let difference = f.op("sub", &[smaller, larger])?;
    let power = f.op(exponential, &[difference])?;
    let mut rest = f.op("log1p", &[power])?;
    if let Some(factor) = factor {
        rest = f.with("mul", rest, factor)?;
    }
    let sum = f.op("add", &[larger, rest])?;
    f.last("where", &[stays, x, sum])
}

/// `x` times a logarithm of `y`, where 0 times anything but NaN is 0.
fn times_logarithm(f: &mut Formula, x: &[Value], logarithm: &str) -> Last {
    let [x, y] = *x else { return Err(Refusal::new("takes two tensors")) };
    let (zero, undefined) = (f.with("eq", x, 0.0)?, f.op("ne", &[y, y])?);
    let logarithm = f.op(logarithm, &[y])?;
    let product = f.op("mul", &[x, logarithm])?;
    let product = f.op("fused", &[product])?;
    let (nothing, nan) = (f.literal(0.0)?, f.literal(f64::NAN)?);
    let product = f.op("where", &[zero, nothing, product])?;
    f.last("where", &[undefined, nan, product])
}

/// A factor for numbers below 0, one for all or one for each channel.
fn leaky(f: &mut Formula, x: &[Value]) -> Last {
    let [x, weight] = *x else { return Err(Refusal::new("takes a tensor and a weight")) };
    let (rank, count) = (f.site.rank(x), f.site.ty(weight).numel());
    let mut shape = vec![1; rank];
    if let Some(channels) = shape.get_mut(usize::from(rank > 1)) {
        *channels = count;
    }
    let weight = if f.site.rank(weight) == rank { weight } else { f.reshape(weight, &shape)? };
    let (above, scaled) = (f.with("gt", x, 0.0)?, f.op("mul", &[weight, x])?);
    f.last("where", &[above, x, scaled])
}

/// Whether `|x - y|` is at most `atol + rtol |y|`, or both are the same infinity.
fn close(f: &mut Formula, x: &[Value]) -> Last {
    let [x, y] = *x else { return Err(Refusal::new("takes two tensors")) };
    let (relative, absolute) = (f.number("rtol", 1e-5)?, f.number("atol", 1e-8)?);
    // As they are: large integers that are no floats are equal only to themselves.
    let given = [f.tensor("self")?, f.tensor("other")?];
    let of_one_type = f.site.dtype(given[0]) == f.site.dtype(given[1]);
    let equal = f.op("eq", &if of_one_type { given } else { [x, y] })?;
    let scaled = f.with("mul", y, relative)?;
    let scaled = f.op("abs", &[scaled])?;
    let allowed = f.with("add", scaled, absolute)?;
    let difference = f.op("sub", &[x, y])?;
    let distance = f.op("abs", &[difference])?;
    let (bounded, number) = (f.with("ne", distance, f64::INFINITY)?, f.op("eq", &[distance, distance])?);
    let finite = f.op("logical_and", &[number, bounded])?;
    let near = f.op("le", &[distance, allowed])?;
    let near = f.op("logical_and", &[finite, near])?;
    if !f.site.bool_or("equal_nan", false)? {
        return f.last("logical_or", &[equal, near]);
    }
    let near = f.op("logical_or", &[equal, near])?;
    let (a, b) = (f.op("ne", &[x, x])?, f.op("ne", &[y, y])?);
    let both = f.op("logical_and", &[a, b])?;
    f.last("logical_or", &[near, both])
}
