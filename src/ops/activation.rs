//! Activations and other elementwise formulas that are one kernel in PyTorch.

use super::pointwise::{TRANSCENDENTAL, floats};
use super::shapes::broadcast_index;
use super::{
    Amplifies, Arithmetic, AttrKind, Bounds, Call, Default, Elements, EvalError, Family, FetchReal, Kernel, Launch,
    LayoutRule, OpDef, OperandDef, TypeError, Types, Work, attr, one,
};
use crate::ir::{Number, Shape};

const TERMS: &[OperandDef] = &[one("x"), one("a"), one("b")];

/// `ln(1 + e^x)`.
fn softplus(x: f64) -> f64 {
    if x > 0.0 { x + (-x).exp().ln_1p() } else { x.exp().ln_1p() }
}

/// `max(x, 0)` up to 6; NaN stays NaN.
fn relu6(x: f64) -> f64 {
    if x.is_nan() { x } else { x.clamp(0.0, 6.0) }
}

/// The halves of dimension `dim`.
fn half(call: &Call) -> Result<(usize, usize), TypeError> {
    let (dim, size) = call.sized_dim()?;
    match size % 2 {
        0 => Ok((dim, size / 2)),
        _ => Err(call.error(format!("cannot halve dimension {dim} of {}", call.operands[0]))),
    }
}

fn glu(call: &Call, index: &[usize], fetch: &mut FetchReal) -> Result<f64, EvalError> {
    let dim = call.size("dim");
    let x = fetch(0, index)?;
    let mut gate = Shape::from_slice(index);
    gate[dim] += call.operands[0].shape[dim] / 2;
    Ok(x / (1.0 + (-fetch(0, &gate)?).exp()))
}

fn sum_types(call: &Call) -> Result<Types, TypeError> {
    call.refuse_bool()?;
    let dtype = call.same_dtype(0..3)?;
    if call.number("value", dtype.accumulator()).is_none() {
        return Err(call.error(format!("takes a whole factor for {dtype}")));
    }
    call.output(dtype, call.broadcast(0..3)?)
}

/// These table entries of the elementwise family.
pub(super) static OPS: &[OpDef] = &[
    OpDef {
        name: "softplus",
        elements: Elements::Placewise(Arithmetic::Softplus),
        doc: "`ln(1 + e^(beta x)) / beta`; `x` itself where `beta x` is above `threshold`.",
        attrs: &[
            attr("beta", AttrKind::Float, Default::Float(1.0)),
            attr("threshold", AttrKind::Float, Default::Float(20.0)),
        ],
        infer: |call| match (call.float("beta"), call.float("threshold")) {
            // At 0 it is `ln 2 / beta`: of a smaller one, that would be no f16.
            (beta, threshold) if beta.is_finite() && beta.abs() >= 1e-4 && !threshold.is_nan() => floats(call),
            (beta, threshold) => {
                Err(call.error(format!("takes a factor of at least 1e-4 and a threshold, not {beta} and {threshold}")))
            }
        },
        kernel: Kernel::Real(|call, _, index, fetch| {
            let (x, beta) = (fetch(0, index)?, call.float("beta"));
            let scaled = x * beta;
            Ok(if scaled > call.float("threshold") { x } else { softplus(scaled) / beta })
        }),
        aten: aten!("softplus", self: X, beta, threshold),
        replay: torch!(|r| r.softplus()?),
        // Where it turns into a line early, it falls there.
        bounds: Bounds {
            range: |r| if r.call.float("threshold") >= 20.0 { (Bounds::INCREASING.range)(r) } else { None },
            ..Bounds::UNKNOWN
        },
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "elu",
        elements: Elements::Placewise(Arithmetic::Elu),
        doc: "`scale x` for positive `x`, `alpha scale (e^(input_scale x) - 1)` for others.",
        attrs: &[
            attr("alpha", AttrKind::Float, Default::Float(1.0)),
            attr("scale", AttrKind::Float, Default::Float(1.0)),
            attr("input_scale", AttrKind::Float, Default::Float(1.0)),
        ],
        kernel: Kernel::Real(|call, _, index, fetch| {
            let (x, scale) = (fetch(0, index)?, call.float("scale"));
            let below = || (x * call.float("input_scale")).exp_m1() * call.float("alpha") * scale;
            Ok(if x < 0.0 { below() } else { x * scale })
        }),
        aten: aten!("elu", self: X, alpha, scale, input_scale),
        replay: torch!(|r| r.elu()?),
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "leaky_relu",
        elements: Elements::Placewise(Arithmetic::LeakyRelu),
        doc: "`x` where it is positive, `negative_slope x` elsewhere.",
        attrs: &[attr("negative_slope", AttrKind::Float, Default::Float(0.01))],
        kernel: Kernel::Real(|call, _, index, fetch| {
            let x = fetch(0, index)?;
            Ok(if x > 0.0 { x } else { x * call.float("negative_slope") })
        }),
        work: Work::per_output::<3>,
        aten: aten!("leaky_relu", self: X, negative_slope),
        replay: torch!(|r| r.leaky_relu()?),
        bounds: Bounds {
            range: |r| if r.call.float("negative_slope") >= 0.0 { (Bounds::INCREASING.range)(r) } else { None },
            ..Bounds::UNKNOWN
        },
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "hardsigmoid",
        elements: Elements::Placewise(Arithmetic::HardSigmoid),
        doc: "`relu6(x + 3) / 6`.",
        kernel: Kernel::Real(|_, _, index, fetch| Ok(relu6(fetch(0, index)? + 3.0) / 6.0)),
        work: Work::per_output::<3>,
        aten: aten!("hardsigmoid", self: X),
        replay: torch!(|r| r.x()?.f_hardsigmoid()?),
        bounds: Bounds::INCREASING,
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "hardswish",
        elements: Elements::Placewise(Arithmetic::HardSwish),
        doc: "`x relu6(x + 3) / 6`.",
        kernel: Kernel::Real(|_, _, index, fetch| {
            let x = fetch(0, index)?;
            Ok(x * relu6(x + 3.0) / 6.0)
        }),
        work: Work::per_output::<3>,
        aten: aten!("hardswish", self: X),
        replay: torch!(|r| r.x()?.f_hardswish()?),
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "mish",
        doc: "`x tanh(ln(1 + e^x))`.",
        kernel: Kernel::Real(|_, _, index, fetch| {
            let x = fetch(0, index)?;
            Ok(x * softplus(x).tanh())
        }),
        aten: aten!("mish", self: X),
        replay: torch!(|r| r.x()?.f_mish()?),
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "log_sigmoid",
        elements: Elements::Placewise(Arithmetic::LogSigmoid),
        doc: "Natural logarithm of the sigmoid.",
        // From 0, as PyTorch subtracts: what is left of large numbers is 0, and not its opposite.
        kernel: Kernel::Real(|_, _, index, fetch| Ok(0.0 - softplus(-fetch(0, index)?))),
        aten: aten!("log_sigmoid", self: X),
        replay: torch!(|r| r.x()?.f_log_sigmoid()?),
        bounds: Bounds::INCREASING,
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "glu",
        launch: Launch::AsStated,
        elements: Elements::Unknown,
        family: Family::Norm,
        doc: "The first half of dimension `dim` times the sigmoid of the second one.",
        attrs: &[attr("dim", AttrKind::Dim, Default::Required)],
        infer: |call| {
            call.want_float()?;
            let (dim, half) = half(call)?;
            let mut shape = call.operands[0].shape.clone();
            shape[dim] = half;
            call.output(call.operands[0].dtype, shape)
        },
        kernel: Kernel::Real(|call, _, index, fetch| glu(call, index, fetch)),
        layout: LayoutRule::Contiguous,
        aten: aten!("glu", self: X, dim),
        replay: torch!(|r| r.x()?.f_glu(r.c.int("dim"))?),
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "addcmul",
        interchangeable: Some((1, 2)),
        elements: Elements::Placewise(Arithmetic::AddProduct),
        doc: "`x + value a b`.",
        operands: TERMS,
        attrs: &[attr("value", AttrKind::Number, Default::Int(1))],
        infer: sum_types,
        kernel: Kernel::Ordered(|call, _, index, fetch| {
            let mut read = |i: usize| fetch(i, &broadcast_index(&call.operands[i].shape, index));
            let (x, a, b) = (read(0)?, read(1)?, read(2)?);
            let value = call.number("value", call.operands[0].dtype.accumulator());
            Ok(x + value.unwrap_or(Number::Int(1)) * a * b)
        }),
        work: Work::per_output::<3>,
        aten: aten!("addcmul", self: X, tensor1: Y, tensor2: Z; value),
        replay: torch!(|r| r.with_product()?),
        amplifies: Amplifies::Always,
        bounds: Bounds {
            range: |r| r.x()?.plus(r.of(1)?.times(r.of(2)?)?.scaled(r.call.float("value"))?),
            ..Bounds::UNKNOWN
        },
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "add_scaled",
        elements: Elements::Placewise(Arithmetic::AddScaled),
        doc: "`x + alpha y`, rounded once.",
        operands: &[one("x"), one("y")],
        attrs: &[attr("alpha", AttrKind::Float, Default::Required)],
        infer: |call| {
            call.want_float()?;
            call.output(call.same_dtype(0..2)?, call.broadcast(0..2)?)
        },
        kernel: Kernel::Real(|call, _, index, fetch| {
            let mut read = |i: usize| fetch(i, &broadcast_index(&call.operands[i].shape, index));
            let (x, y) = (read(0)?, read(1)?);
            Ok(x + call.float("alpha") * y)
        }),
        work: Work::per_output::<2>,
        aten: aten!("add.Tensor", self: X, other: Y; alpha),
        replay: torch!(|r| r.with_multiple()?),
        amplifies: Amplifies::Always,
        bounds: Bounds { range: |r| r.x()?.plus(r.y()?.scaled(r.call.float("alpha"))?), ..Bounds::UNKNOWN },
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "lerp",
        elements: Elements::Placewise(Arithmetic::Between),
        doc: "From `x` to `y` by the weight `w`: `x + w (y - x)`, computed from the nearer end.",
        operands: &[one("x"), one("y"), one("w")],
        infer: |call| {
            call.want_float()?;
            call.output(call.same_dtype(0..3)?, call.broadcast(0..3)?)
        },
        kernel: Kernel::Real(|call, _, index, fetch| {
            let mut read = |i: usize| fetch(i, &broadcast_index(&call.operands[i].shape, index));
            let (x, y, w) = (read(0)?, read(1)?, read(2)?);
            Ok(if w.abs() < 0.5 { x + w * (y - x) } else { y - (y - x) * (1.0 - w) })
        }),
        work: Work::per_output::<3>,
        aten: aten!(|c| super::aten_formulas::between(c)),
        replay: torch!(|r| r.x()?.f_lerp_tensor(r.y()?, r.operand(2)?)?),
        amplifies: Amplifies::Always,
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "addcdiv",
        elements: Elements::Placewise(Arithmetic::AddQuotient),
        doc: "`x + value a / b`.",
        operands: TERMS,
        attrs: &[attr("value", AttrKind::Float, Default::Float(1.0))],
        infer: |call| {
            call.want_float()?;
            call.output(call.same_dtype(0..3)?, call.broadcast(0..3)?)
        },
        kernel: Kernel::Real(|call, _, index, fetch| {
            let mut read = |i: usize| fetch(i, &broadcast_index(&call.operands[i].shape, index));
            let (x, a, b) = (read(0)?, read(1)?, read(2)?);
            Ok(x + call.float("value") * a / b)
        }),
        work: Work::per_output::<3>,
        aten: aten!("addcdiv", self: X, tensor1: Y, tensor2: Z; value),
        replay: torch!(|r| r.with_quotient()?),
        amplifies: Amplifies::Always,
        ..TRANSCENDENTAL
    },
];
