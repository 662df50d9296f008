//! Operators that compute each output element from the elements at the same place.
//!
//! Operands of one call share an element type: front ends make promotion explicit with `cast`.

use super::shapes::{broadcast_index, holds};
use super::{
    AttrKind, Call, Default, EvalError, Family, Fetch, Kernel, LayoutRule, OpDef, OperandDef, TypeError, Types, Unit,
    Work, attr, one,
};
use crate::ir::{DType, TensorType};

const X: &[OperandDef] = &[one("x")];
const XY: &[OperandDef] = &[one("x"), one("y")];

fn read(call: &Call, operand: usize, index: &[usize], fetch: &mut Fetch) -> Result<f64, EvalError> {
    fetch(operand, &broadcast_index(&call.operands[operand].shape, index))
}

fn same(call: &Call) -> Result<Types, TypeError> {
    let dtype = call.same_dtype(0..call.operands.len())?;
    call.output(dtype, call.broadcast(0..call.operands.len())?)
}

fn same_float(call: &Call) -> Result<Types, TypeError> {
    call.want_float()?;
    same(call)
}

fn same_number(call: &Call) -> Result<Types, TypeError> {
    call.refuse_bool()?;
    same(call)
}

fn comparison(call: &Call) -> Result<Types, TypeError> {
    call.same_dtype(0..2)?;
    call.output(DType::Bool, call.broadcast(0..2)?)
}

fn one_per_element(call: &Call, outputs: &[TensorType]) -> Work {
    Work::streaming(call, outputs, elements(outputs), Unit::Vector)
}

/// Transcendental functions take about this many operations per element on a GPU: an estimate that
/// only ranks them behind memory traffic.
fn eight_per_element(call: &Call, outputs: &[TensorType]) -> Work {
    Work::streaming(call, outputs, 8.0 * elements(outputs), Unit::Vector)
}

fn elements(outputs: &[TensorType]) -> f64 {
    outputs.iter().map(|t| t.numel() as f64).sum()
}

macro_rules! unary {
    ($name:literal, $doc:literal, $infer:expr, $work:expr, |$x:ident| $value:expr) => {
        OpDef {
            name: $name,
            doc: $doc,
            family: Family::Elementwise,
            operands: X,
            attrs: &[],
            commutative: false,
            infer: $infer,
            kernel: Kernel::Element(|_, _, index, fetch| {
                let $x = fetch(0, index)?;
                Ok($value)
            }),
            layout: LayoutRule::Elementwise,
            work: $work,
        }
    };
}

macro_rules! binary {
    ($name:literal, $doc:literal, $commutative:literal, $infer:expr, |$x:ident, $y:ident| $value:expr) => {
        OpDef {
            name: $name,
            doc: $doc,
            family: Family::Elementwise,
            operands: XY,
            attrs: &[],
            commutative: $commutative,
            infer: $infer,
            kernel: Kernel::Element(|call, _, index, fetch| {
                let $x = read(call, 0, index, fetch)?;
                let $y = read(call, 1, index, fetch)?;
                Ok($value)
            }),
            layout: LayoutRule::Elementwise,
            work: one_per_element,
        }
    };
}

fn truth(value: bool) -> f64 {
    f64::from(u8::from(value))
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// GELU as PyTorch defines it: `x Φ(x)`, or the tanh approximation of Hendrycks and Gimpel (arXiv 1606.08415).
fn gelu(x: f64, tanh: bool) -> f64 {
    if tanh {
        let c = (2.0 / std::f64::consts::PI).sqrt();
        0.5 * x * (1.0 + (c * (x + 0.044715 * x * x * x)).tanh())
    } else {
        0.5 * x * (1.0 + libm::erf(x * std::f64::consts::FRAC_1_SQRT_2))
    }
}

/// PyTorch takes square roots for exponents of 1/2 and -1/2, which differ from powers at minus infinity.
fn power(x: f64, exponent: f64) -> f64 {
    if exponent == 0.5 {
        x.sqrt()
    } else if exponent == -0.5 {
        1.0 / x.sqrt()
    } else {
        x.powf(exponent)
    }
}

/// NaN wins, as in PyTorch.
fn maximum(x: f64, y: f64) -> f64 {
    if x.is_nan() || x > y { x } else { y }
}

fn minimum(x: f64, y: f64) -> f64 {
    if x.is_nan() || x < y { x } else { y }
}

/// A quotient that is rounded by `round`. Integers cannot be divided by 0.
fn quotient(c: &Call, x: f64, y: f64, round: fn(f64, f64) -> f64) -> Result<f64, EvalError> {
    if y == 0.0 && !c.operands[0].dtype.is_float() { Err(EvalError::DivisionByZero) } else { Ok(round(x, y)) }
}

/// What truncation leaves of `x / y`, and whether Python, which rounds down, counts one less.
fn rest(x: f64, y: f64) -> (f64, bool) {
    let rest = x % y;
    (rest, rest != 0.0 && (rest < 0.0) != (y < 0.0))
}

/// Python's remainder: it has the sign of the divisor.
fn remainder(x: f64, y: f64) -> f64 {
    let (rest, borrows) = rest(x, y);
    if borrows { rest + y } else { rest }
}

/// Python's `//`: rounds down what the rest leaves, so that it is exact where a quotient would be rounded up first.
fn floor_div(x: f64, y: f64) -> f64 {
    if y == 0.0 {
        return x / y;
    }
    let (rest, borrows) = rest(x, y);
    ((x - rest) / y - truth(borrows)).round()
}

macro_rules! quotient {
    ($name:literal, $doc:literal, $round:expr) => {
        OpDef {
            name: $name,
            doc: $doc,
            family: Family::Elementwise,
            operands: XY,
            attrs: &[],
            commutative: false,
            infer: same_number,
            kernel: Kernel::Element(|c, _, index, fetch| {
                let (x, y) = (read(c, 0, index, fetch)?, read(c, 1, index, fetch)?);
                quotient(c, x, y, $round)
            }),
            layout: LayoutRule::Elementwise,
            work: one_per_element,
        }
    };
}

/// The table entries of this family.
pub const OPS: &[OpDef] = &[
    unary!("neg", "`-x`.", same_number, one_per_element, |x| -x),
    unary!("abs", "`|x|`.", same_number, one_per_element, |x| x.abs()),
    unary!("exp", "`e^x`.", same_float, eight_per_element, |x| x.exp()),
    unary!("expm1", "`e^x - 1`.", same_float, eight_per_element, |x| x.exp_m1()),
    unary!("log", "Natural logarithm.", same_float, eight_per_element, |x| x.ln()),
    unary!("log1p", "`ln(1 + x)`.", same_float, eight_per_element, |x| x.ln_1p()),
    unary!("sqrt", "Square root.", same_float, eight_per_element, |x| x.sqrt()),
    unary!("rsqrt", "`1 / sqrt(x)`.", same_float, eight_per_element, |x| 1.0 / x.sqrt()),
    unary!("reciprocal", "`1 / x`.", same_float, one_per_element, |x| 1.0 / x),
    unary!("sin", "Sine.", same_float, eight_per_element, |x| x.sin()),
    unary!("cos", "Cosine.", same_float, eight_per_element, |x| x.cos()),
    unary!("tanh", "Hyperbolic tangent.", same_float, eight_per_element, |x| x.tanh()),
    unary!("erf", "Error function.", same_float, eight_per_element, |x| libm::erf(x)),
    unary!("sigmoid", "`1 / (1 + e^-x)`.", same_float, eight_per_element, |x| sigmoid(x)),
    unary!("relu", "`max(x, 0)`.", same_number, one_per_element, |x| maximum(x, 0.0)),
    unary!("silu", "`x * sigmoid(x)`.", same_float, eight_per_element, |x| x * sigmoid(x)),
    unary!("floor", "Largest integer not above `x`.", same_number, one_per_element, |x| x.floor()),
    unary!("round", "Nearest integer to `x`; of two, the even one.", same_number, one_per_element, |x| x
        .round_ties_even()),
    unary!(
        "logical_not",
        "`x == 0`, as bool.",
        |c| c.output(DType::Bool, c.operands[0].shape.clone()),
        one_per_element,
        |x| truth(x == 0.0)
    ),
    OpDef {
        name: "gelu",
        doc: "Gaussian error linear unit; `approximate` is \"none\" (erf) or \"tanh\".",
        family: Family::Elementwise,
        operands: X,
        attrs: &[attr("approximate", AttrKind::Str, Default::Str("none"))],
        commutative: false,
        infer: |c| match c.str("approximate") {
            "none" | "tanh" => same_float(c),
            other => Err(c.error(format!("knows no approximation {other:?}"))),
        },
        kernel: Kernel::Element(|c, _, index, fetch| Ok(gelu(fetch(0, index)?, c.str("approximate") == "tanh"))),
        layout: LayoutRule::Elementwise,
        work: eight_per_element,
    },
    OpDef {
        name: "pow",
        doc: "`x` to a constant power.",
        family: Family::Elementwise,
        operands: X,
        attrs: &[attr("exponent", AttrKind::Float, Default::Required)],
        commutative: false,
        infer: |c| {
            // PyTorch would promote integers that meet a fraction; in the IR a `cast` says so.
            let exponent = c.float("exponent");
            if !c.operands[0].dtype.is_float() && (exponent < 0.0 || exponent.fract() != 0.0) {
                return Err(c.error(format!("takes a whole exponent of 0 or more for {}", c.operands[0])));
            }
            same_number(c)
        },
        kernel: Kernel::Element(|c, _, index, fetch| Ok(power(fetch(0, index)?, c.float("exponent")))),
        layout: LayoutRule::Elementwise,
        work: one_per_element,
    },
    OpDef {
        name: "clamp",
        doc: "`x` limited to `min..=max`; either bound may be none.",
        family: Family::Elementwise,
        operands: X,
        attrs: &[attr("min", AttrKind::Float, Default::None), attr("max", AttrKind::Float, Default::None)],
        commutative: false,
        infer: |c| {
            if !c.given("min") && !c.given("max") {
                return Err(c.error("needs `min` or `max`"));
            }
            let x = c.operands[0];
            if ["min", "max"].iter().any(|n| c.given(n) && !holds(x.dtype, c.float(n))) {
                return Err(c.error(format!("takes bounds that are values of {}, for {x}", x.dtype)));
            }
            same_number(c)
        },
        kernel: Kernel::Element(|c, _, index, fetch| {
            let mut x = fetch(0, index)?;
            if c.given("min") {
                x = maximum(x, c.float("min"));
            }
            if c.given("max") {
                x = minimum(x, c.float("max"));
            }
            Ok(x)
        }),
        layout: LayoutRule::Elementwise,
        work: one_per_element,
    },
    OpDef {
        name: "cast",
        doc: "The same values in another element type.",
        family: Family::Elementwise,
        operands: X,
        attrs: &[attr("dtype", AttrKind::DType, Default::Required)],
        commutative: false,
        infer: |c| {
            let dtype = c.dtype("dtype").ok_or_else(|| c.error("needs the attribute `dtype`"))?;
            c.output(dtype, c.operands[0].shape.clone())
        },
        kernel: Kernel::Element(|c, _, index, fetch| {
            let x = fetch(0, index)?;
            // Between floats a cast is rounding, which is the evaluator's business; to integers and bool
            // it changes the value over the real numbers too.
            Ok(c.dtype("dtype").filter(|d| !d.is_float()).map_or(x, |d| d.round(x)))
        }),
        layout: LayoutRule::Elementwise,
        work: |c, outputs| match c.types().first() {
            Some(t) if t.dtype == c.operands[0].dtype => Work::NONE,
            _ => one_per_element(c, outputs),
        },
    },
    OpDef {
        name: "dropout",
        doc: "Random zeroing. The identity unless `train`; has no reference semantics in training.",
        family: Family::Elementwise,
        operands: X,
        attrs: &[attr("p", AttrKind::Float, Default::Required), attr("train", AttrKind::Bool, Default::Bool(false))],
        commutative: false,
        infer: |c| match c.float("p") {
            0.0..=1.0 => same(c),
            p => Err(c.error(format!("takes a probability, not {p}"))),
        },
        kernel: Kernel::Element(|c, _, index, fetch| {
            if c.bool("train") { Err(EvalError::NoSemantics("dropout in training".into())) } else { fetch(0, index) }
        }),
        layout: LayoutRule::View(|c, _, layout| (!c.bool("train")).then(|| layout.clone())),
        work: |c, outputs| if c.bool("train") { one_per_element(c, outputs) } else { Work::NONE },
    },
    binary!("add", "`x + y`.", true, same, |x, y| x + y),
    binary!("sub", "`x - y`.", false, same_number, |x, y| x - y),
    binary!("mul", "`x * y`.", true, same, |x, y| x * y),
    binary!("div", "`x / y`.", false, same_float, |x, y| x / y),
    quotient!("floor_div", "`x / y` rounded down.", floor_div),
    quotient!("trunc_div", "`x / y` rounded towards 0.", |x, y| (x / y).trunc()),
    quotient!("remainder", "What `floor_div` leaves of `x`; it has the sign of `y`.", remainder),
    binary!("maximum", "The larger one; NaN if either is.", true, same, |x, y| maximum(x, y)),
    binary!("minimum", "The smaller one; NaN if either is.", true, same, |x, y| minimum(x, y)),
    binary!("eq", "`x == y`, as bool.", true, comparison, |x, y| truth(x == y)),
    binary!("ne", "`x != y`, as bool.", true, comparison, |x, y| truth(x != y)),
    binary!("lt", "`x < y`, as bool.", false, comparison, |x, y| truth(x < y)),
    binary!("le", "`x <= y`, as bool.", false, comparison, |x, y| truth(x <= y)),
    binary!("gt", "`x > y`, as bool.", false, comparison, |x, y| truth(x > y)),
    binary!("ge", "`x >= y`, as bool.", false, comparison, |x, y| truth(x >= y)),
    binary!("logical_and", "Both are not 0, as bool.", true, comparison, |x, y| truth(x != 0.0 && y != 0.0)),
    binary!("logical_or", "Either is not 0, as bool.", true, comparison, |x, y| truth(x != 0.0 || y != 0.0)),
    OpDef {
        name: "where",
        doc: "`x` where the condition holds, `y` elsewhere.",
        family: Family::Elementwise,
        operands: &[one("condition"), one("x"), one("y")],
        attrs: &[],
        commutative: false,
        infer: |c| {
            if c.operands[0].dtype != DType::Bool {
                return Err(c.error(format!("takes a bool condition, not {}", c.operands[0])));
            }
            c.output(c.same_dtype(1..3)?, c.broadcast(0..3)?)
        },
        kernel: Kernel::Element(|c, _, index, fetch| {
            let chosen = if read(c, 0, index, fetch)? != 0.0 { 1 } else { 2 };
            read(c, chosen, index, fetch)
        }),
        layout: LayoutRule::Elementwise,
        work: one_per_element,
    },
];
