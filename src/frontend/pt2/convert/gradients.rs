//! Gradients of functions of the elements and of losses, as the formulas that PyTorch computes them by.
//!
//! In bf16 and f16, PyTorch computes in f32 and rounds once.

use super::super::lowering::{Converted, NodeLowering, Refusal};
use super::super::target::Target;
use super::formula::{Formula, Last};
use crate::ir::{AttrValue, DType, Value};

/// Makes the nodes of a gradient of the operands: that of the result first.
type Gradient = fn(&mut Formula, Value, Value) -> Last;

pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    if !target.overload.is_empty() {
        return Ok(None);
    }
    let gradient: Gradient = match target.name {
        "gelu_backward" => match site.str("approximate") {
            None | Some("none") => gelu,
            Some("tanh") => gelu_by_tanh,
            Some(_) => return Ok(None),
        },
        "silu_backward" => |f, g, x| {
            let (sigmoid, rest) = sigmoid_and_rest(f, x)?;
            let product = f.op("mul", &[x, rest])?;
            let slope = f.with("add", product, 1.0)?;
            let slope = f.op("mul", &[sigmoid, slope])?;
            f.last("mul", &[g, slope])
        },
        "mish_backward" => |f, g, x| {
            let softplus = f.op("softplus", &[x])?;
            let tanh = f.op("tanh", &[softplus])?;
            let (sigmoid, square) = (f.op("sigmoid", &[x])?, f.op("mul", &[tanh, tanh])?);
            let rest = f.from(1.0, square)?;
            let product = f.op("mul", &[x, sigmoid])?;
            let product = f.op("mul", &[product, rest])?;
            let slope = f.op("add", &[tanh, product])?;
            f.last("mul", &[g, slope])
        },
        "log_sigmoid_backward" => |f, g, x| {
            let opposite = f.op("neg", &[x])?;
            let slope = f.op("sigmoid", &[opposite])?;
            f.last("mul", &[g, slope])
        },
        "elu_backward" => elu,
        "leaky_relu_backward" => |f, g, x| {
            let slope = f.number("negative_slope", 0.01)?;
            let (above, below) = (f.with("gt", x, 0.0)?, f.with("mul", g, slope)?);
            f.last("where", &[above, g, below])
        },
        "hardtanh_backward" => |f, g, x| {
            let (low, high) = (f.number("min_val", -1.0)?, f.number("max_val", 1.0)?);
            let outside = [f.with("le", x, low)?, f.with("ge", x, high)?];
            let (outside, zero) = (f.op("logical_or", &outside)?, f.literal(0.0)?);
            f.last("where", &[outside, zero, g])
        },
        "hardsigmoid_backward" => |f, g, x| {
            let inside = [f.with("gt", x, -3.0)?, f.with("lt", x, 3.0)?];
            let (inside, zero) = (f.op("logical_and", &inside)?, f.literal(0.0)?);
            let slope = f.with("mul", g, 1.0 / 6.0)?;
            f.last("where", &[inside, slope, zero])
        },
        "hardshrink_backward" | "softshrink_backward" => |f, g, x| {
            let bound = f.number("lambd", 0.5)?;
            let inside = [f.with("ge", x, -bound)?, f.with("le", x, bound)?];
            let (inside, zero) = (f.op("logical_and", &inside)?, f.literal(0.0)?);
            f.last("where", &[inside, zero, g])
        },
        "softplus_backward" => |f, g, x| {
            let (beta, threshold) = (f.number("beta", 1.0)?, f.number("threshold", 20.0)?);
            let scaled = f.with("mul", x, beta)?;
            let (linear, exponential) = (f.with("gt", scaled, threshold)?, f.op("exp", &[scaled])?);
            let (product, more) = (f.op("mul", &[g, exponential])?, f.with("add", exponential, 1.0)?);
            let curved = f.op("div", &[product, more])?;
            f.last("where", &[linear, g, curved])
        },
        "mse_loss_backward" => |f, g, _| {
            let share = f.share()?;
            let difference = f.difference()?;
            let twice = f.with("mul", difference, 2.0 * share)?;
            f.last("mul", &[twice, g])
        },
        "smooth_l1_loss_backward" => |f, g, _| {
            let beta = f.number("beta", 1.0)?;
            limited(f, g, beta, if beta > 0.0 { 1.0 / beta } else { 0.0 }, 1.0)
        },
        "huber_loss_backward" => |f, g, _| {
            let delta = f.number("delta", 1.0)?;
            limited(f, g, delta, 1.0, delta)
        },
        "binary_cross_entropy_backward" => |f, g, x| {
            let share = f.share()?;
            let (difference, rest) = (f.difference()?, f.from(1.0, x)?);
            let variance = f.op("mul", &[rest, x])?;
            let variance = f.at_least(variance, 1e-12)?;
            let product = f.op("mul", &[g, difference])?;
            let gradient = f.op("div", &[product, variance])?;
            let gradient = f.weighed(gradient)?;
            f.last_with("mul", gradient, share)
        },
        _ => return Ok(None),
    };
    let result = ["grad_output", "grad_out"].into_iter().find(|name| site.given(name));
    let operand = ["self", "self_or_result"].into_iter().find(|name| site.given(name));
    let (Some(result), Some(operand)) = (result, operand) else { return Ok(None) };
    let (g, x, stated) = (site.tensor(result)?, site.tensor(operand)?, site.stated(0)?);
    let computed = match stated.dtype {
        DType::F16 | DType::BF16 if !site.given("target") => DType::F32,
        dtype @ (DType::F32 | DType::F64) => dtype,
        _ => return Ok(None),
    };
    if site.dtype(g) != stated.dtype || site.dtype(x) != stated.dtype {
        return Ok(None);
    }
    let (g, x) = (site.cast("wide", g, computed)?, site.cast("wide", x, computed)?);
    let mut f = Formula::new(site, computed);
    let (op, operands) = gradient(&mut f, g, x)?;
    // Kernels arrange the formula in their own ways.
    let value = f.op(op, &operands)?;
    if computed == stated.dtype {
        return site.emit("fused", &[], &[value]);
    }
    let value = site.implicit("fused", "fused", &[], &[value])?;
    site.emit("cast", &[("dtype", AttrValue::DType(stated.dtype))], &[value])
}

impl Formula<'_, '_, '_> {
    /// What each element counts in a loss: 1 in a sum, its share in a mean.
    fn share(&mut self) -> Result<f64, Refusal> {
        let x = self.tensor("self")?;
        let count = self.site.ty(x).numel().max(1);
        Ok(if self.site.int_or("reduction", 1)? == 1 { 1.0 / count as f64 } else { 1.0 })
    }
}

fn sigmoid_and_rest(f: &mut Formula, x: Value) -> Result<(Value, Value), Refusal> {
    let sigmoid = f.op("sigmoid", &[x])?;
    let rest = f.from(1.0, sigmoid)?;
    Ok((sigmoid, rest))
}

/// `g (Φ(x) + x φ(x))` with the normal distribution and its density.
fn gelu(f: &mut Formula, g: Value, x: Value) -> Last {
    let scaled = f.with("mul", x, std::f64::consts::FRAC_1_SQRT_2)?;
    let error = f.op("erf", &[scaled])?;
    let more = f.with("add", error, 1.0)?;
    let below = f.with("mul", more, 0.5)?;
    let square = f.op("mul", &[x, x])?;
    let exponent = f.with("mul", square, -0.5)?;
    let exponential = f.op("exp", &[exponent])?;
    let density =
        f.with("mul", exponential, 0.5 * std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2)?;
    let product = f.op("mul", &[x, density])?;
    let slope = f.op("add", &[below, product])?;
    f.last("mul", &[g, slope])
}

/// The derivative of `x / 2 (1 + tanh(b (x + a x³)))`.
fn gelu_by_tanh(f: &mut Formula, g: Value, x: Value) -> Last {
    const CUBIC: f64 = 0.044715;
    let scale = std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::SQRT_2 * 0.5;
    let square = f.op("mul", &[x, x])?;
    let cube = f.op("mul", &[square, x])?;
    let cubic = f.with("mul", cube, CUBIC)?;
    let sum = f.op("add", &[x, cubic])?;
    let inner = f.with("mul", sum, scale)?;
    let tanh = f.op("tanh", &[inner])?;
    let more = f.with("add", tanh, 1.0)?;
    let left = f.with("mul", more, 0.5)?;
    let of_square = f.op("mul", &[tanh, tanh])?;
    let rest = f.from(1.0, of_square)?;
    let slope = f.with("mul", square, 3.0 * CUBIC)?;
    let slope = f.with("add", slope, 1.0)?;
    let slope = f.with("mul", slope, scale)?;
    let half = f.with("mul", x, 0.5)?;
    let right = f.op("mul", &[half, rest])?;
    let right = f.op("mul", &[right, slope])?;
    let whole = f.op("add", &[left, right])?;
    f.last("mul", &[g, whole])
}

fn elu(f: &mut Formula, g: Value, x: Value) -> Last {
    let (alpha, scale) = (f.number("alpha", 1.0)?, f.number("scale", 1.0)?);
    let inner = f.number("input_scale", 1.0)?;
    let below = f.with("le", x, 0.0)?;
    let slope = if f.site.bool_or("is_result", false)? {
        let shifted = f.with("add", x, alpha * scale)?;
        f.with("mul", shifted, inner)?
    } else {
        let scaled = f.with("mul", x, inner)?;
        let exponential = f.op("exp", &[scaled])?;
        f.with("mul", exponential, inner * alpha * scale)?
    };
    let (curved, linear) = (f.op("mul", &[g, slope])?, f.with("mul", g, scale)?);
    f.last("where", &[below, curved, linear])
}

/// The gradient of a loss that is a square up to `bound`, where it has this `slope`, and a line of slope `beyond` outside.
fn limited(f: &mut Formula, g: Value, bound: f64, slope: f64, beyond: f64) -> Last {
    let share = f.share()?;
    let difference = f.difference()?;
    let (low, high) = (f.with("le", difference, -bound)?, f.with("ge", difference, bound)?);
    let inside = f.with("mul", difference, slope * share)?;
    let (least, most) = (f.literal(-beyond * share)?, f.literal(beyond * share)?);
    let upper = f.op("where", &[high, most, inside])?;
    let factor = f.op("where", &[low, least, upper])?;
    f.last("mul", &[factor, g])
}
