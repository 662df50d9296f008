//! Activation functions.

use super::arithmetic::unary;
use super::operator::{Operator, microsoft, standard};
use crate::frontend::builder::{Refusal, int};
use crate::frontend::onnx::lowering::{Lowered, NodeLowering, one};
use crate::ir::{AttrValue, DType, Value};

pub(super) const OPERATORS: &[Operator] = &[
    standard("Relu", &[1, 6, 13, 14], |s| unary(s, "relu")),
    standard("Sigmoid", &[1, 6, 13], |s| unary(s, "sigmoid")),
    standard("HardSwish", &[14, 22], |s| unary(s, "hardswish")),
    standard("Mish", &[18, 22], |s| unary(s, "mish")),
    standard("Softplus", &[1, 22], softplus),
    standard("Softsign", &[1, 22], |s| {
        let x = s.x(0)?;
        one(softsign(s, x)?)
    }),
    standard("Elu", &[1, 6, 22], elu),
    standard("Selu", &[1, 6, 22], selu),
    standard("Celu", &[12, 28], celu),
    standard("LeakyRelu", &[1, 6, 16], leaky_relu),
    standard("PRelu", &[1, 6, 7, 9, 16], prelu),
    standard("ThresholdedRelu", &[10, 22], thresholded_relu),
    standard("HardSigmoid", &[1, 6, 22], |s| {
        let x = s.x(0)?;
        let (alpha, beta) = (s.float("alpha", 0.2, s.dtype(x))?, s.float("beta", 0.5, s.dtype(x))?);
        one(hard_sigmoid(s, x, alpha, beta)?)
    }),
    standard("Gelu", &[20], gelu),
    standard("Swish", &[24], |s| {
        let x = s.x(0)?;
        let alpha = s.float("alpha", 1.0, s.dtype(x))?;
        one(swish(s, x, alpha)?)
    }),
    standard("SwiGLU", &[28], swiglu),
    standard("Shrink", &[9], shrink),
    standard("Softmax", &[1, 11, 13], |s| softmax(s, "softmax")),
    standard("LogSoftmax", &[1, 11, 13], |s| softmax(s, "log_softmax")),
    standard("Hardmax", &[1, 11, 13], hardmax),
    microsoft("Gelu", |s| unary(s, "gelu")),
    microsoft("QuickGelu", |s| {
        let x = s.x(0)?;
        let alpha = s.float("alpha", 1.702, s.dtype(x))?;
        one(swish(s, x, alpha)?)
    }),
    microsoft("BiasGelu", |s| gelu_of_sum(s, "none")),
    microsoft("FastGelu", |s| gelu_of_sum(s, "tanh")),
    microsoft("BiasSoftmax", bias_softmax),
];

fn softplus(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    s.done("softplus", &[("threshold", AttrValue::float(f64::INFINITY))], &[x])
}

pub(super) fn softsign(s: &mut NodeLowering, x: Value) -> Result<Value, Refusal> {
    let size = s.unary("abs", x)?;
    let below = s.with("add", size, 1.0)?;
    s.binary("div", x, below)
}

/// `x` times the sigmoid of `alpha x`.
pub(super) fn swish(s: &mut NodeLowering, x: Value, alpha: f64) -> Result<Value, Refusal> {
    if alpha == 1.0 {
        return s.unary("silu", x);
    }
    let scaled = s.with("mul", x, alpha)?;
    let gate = s.unary("sigmoid", scaled)?;
    s.binary("mul", x, gate)
}

fn swiglu(s: &mut NodeLowering) -> Lowered {
    let (gate, up) = (s.x(0)?, s.x(1)?);
    let alpha = s.float("alpha", 1.0, s.dtype(gate))?;
    let gate = swish(s, gate, alpha)?;
    s.done("mul", &[], &[gate, up])
}

pub(super) fn hard_sigmoid(s: &mut NodeLowering, x: Value, alpha: f64, beta: f64) -> Result<Value, Refusal> {
    let scaled = s.with("mul", x, alpha)?;
    let moved = s.with("add", scaled, beta)?;
    s.op("clamp", &[("min", AttrValue::float(0.0)), ("max", AttrValue::float(1.0))], &[moved])
}

fn elu(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let alpha = s.float("alpha", 1.0, s.dtype(x))?;
    s.done("elu", &[("alpha", AttrValue::float(alpha))], &[x])
}

fn selu(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let dtype = s.dtype(x);
    let (alpha, gamma) = (s.float("alpha", 1.673_263_2, dtype)?, s.float("gamma", 1.050_701, dtype)?);
    s.done("elu", &[("alpha", AttrValue::float(alpha)), ("scale", AttrValue::float(gamma))], &[x])
}

fn celu(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let alpha = s.float("alpha", 1.0, s.dtype(x))?;
    s.done("elu", &[("alpha", AttrValue::float(alpha)), ("input_scale", AttrValue::float(1.0 / alpha))], &[x])
}

fn leaky_relu(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let alpha = s.float("alpha", 0.01, s.dtype(x))?;
    s.done("leaky_relu", &[("negative_slope", AttrValue::float(alpha))], &[x])
}

fn prelu(s: &mut NodeLowering) -> Lowered {
    let (x, slope) = (s.x(0)?, s.x(1)?);
    let zero = s.number(0.0, x)?;
    let below = s.binary("lt", x, zero)?;
    let scaled = s.binary("mul", x, slope)?;
    s.done("where", &[], &[below, scaled, x])
}

fn thresholded_relu(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let alpha = s.float("alpha", 1.0, s.dtype(x))?;
    let above = s.with("gt", x, alpha)?;
    let zero = s.number(0.0, x)?;
    s.done("where", &[], &[above, x, zero])
}

fn gelu(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let approximate = AttrValue::str(s.text("approximate", "none")?);
    s.done("gelu", &[("approximate", approximate)], &[x])
}

/// GELU of an input and, if it is given, a bias.
fn gelu_of_sum(s: &mut NodeLowering, approximate: &str) -> Lowered {
    let mut x = s.x(0)?;
    if let Some(bias) = s.maybe(1)? {
        x = s.binary("add", x, bias)?;
    }
    s.done("gelu", &[("approximate", AttrValue::str(approximate))], &[x])
}

/// Numbers nearer to 0 than `lambd` become 0, others come `bias` nearer.
fn shrink(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    let dtype = s.dtype(x);
    let (bias, lambd) = (s.float("bias", 0.0, dtype)?, s.float("lambd", 0.5, dtype)?);
    let (below, above) = (s.with("lt", x, -lambd)?, s.with("gt", x, lambd)?);
    let (raised, lowered) = (s.with("add", x, bias)?, s.with("sub", x, bias)?);
    let zero = s.number(0.0, x)?;
    let upper = s.op("where", &[], &[above, lowered, zero])?;
    s.done("where", &[], &[below, raised, upper])
}

/// Before version 13, all dimensions from `axis` on are one.
fn softmax(s: &mut NodeLowering, op: &str) -> Lowered {
    let x = s.x(0)?;
    if s.version >= 13 {
        let dim = s.int("axis", -1)?;
        let dim = s.dim(x, dim)?;
        return s.done(op, &[("dim", int(dim))], &[x]);
    }
    flattened(s, x, |s, rows| s.op(op, &[("dim", int(1))], &[rows]))
}

/// A function of rows, over a tensor whose dimensions before `axis` are the rows.
fn flattened(
    s: &mut NodeLowering,
    x: Value,
    of_rows: impl Fn(&mut NodeLowering, Value) -> Result<Value, Refusal>,
) -> Lowered {
    let axis = s.int("axis", 1)?;
    let axis = s.dim(x, axis)? as usize;
    let shape = s.shape(x);
    let all: Vec<i64> = shape.iter().map(|&d| d as i64).collect();
    // What is behind the axis may be one dimension already, up to sizes of 1.
    let behind: i64 = all[axis..].iter().product();
    let rows = s.reshape(x, &[all[..axis].iter().product(), behind])?;
    let result = of_rows(s, rows)?;
    one(s.reshape(result, &all)?)
}

/// 1 at the first of the largest elements, 0 elsewhere.
fn hardmax(s: &mut NodeLowering) -> Lowered {
    let x = s.x(0)?;
    if s.version < 13 {
        return flattened(s, x, |s, rows| first_largest(s, rows, 1));
    }
    let dim = s.int("axis", -1)?;
    let dim = s.dim(x, dim)?;
    one(first_largest(s, x, dim)?)
}

fn first_largest(s: &mut NodeLowering, x: Value, dim: i64) -> Result<Value, Refusal> {
    let place = s.op("argmax", &[("dim", int(dim)), ("keepdim", AttrValue::Bool(true))], &[x])?;
    let rank = s.rank(x) as i64;
    let count = s.size(x, dim as usize);
    let places = s.positions(count)?;
    let sizes: Vec<i64> = (0..rank).map(|d| if d == dim { count } else { 1 }).collect();
    let places = s.reshape(places, &sizes)?;
    let hit = s.binary("eq", places, place)?;
    let dtype = s.dtype(x);
    s.cast(hit, dtype)
}

/// Softmax of a sum with a bias, which repeats along the dimensions in front or along inner ones.
fn bias_softmax(s: &mut NodeLowering) -> Lowered {
    let (x, bias) = (s.x(0)?, s.x(1)?);
    let axis = s.int("axis", 1)?;
    let axis = s.dim(x, axis)? as usize;
    let sum = s.binary("add", x, bias)?;
    let all: Vec<i64> = s.shape(x).iter().map(|&d| d as i64).collect();
    if s.shape(sum) != s.shape(x) || s.dtype(x) == DType::I64 {
        return Ok(None);
    }
    let rows = s.reshape(sum, &[all[..axis].iter().product(), all[axis..].iter().product()])?;
    let result = s.op("softmax", &[("dim", int(1))], &[rows])?;
    one(s.reshape(result, &all)?)
}
