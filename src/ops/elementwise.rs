//! Usual functions of one number.

use super::pointwise::{TRANSCENDENTAL, UNARY, floats, numbers, same};
use super::work::TRANSCENDENTAL_FLOPS;
use super::{
    Amplifies, Arithmetic, Ask, AttrKind, Bounds, Default, Draws, Elements, EvalError, Interval, Kernel, Launch,
    LayoutRule, Moved, Movement, OpDef, Ranges, Synthesis, Vanishes, Work, attr, support,
};
use crate::ir::{DType, Number};

/// A kernel of one operand: `$kernel` is a variant of [`Kernel`] for one element.
macro_rules! unary {
    ($kernel:ident, |$x:ident| $value:expr) => {
        Kernel::$kernel(|_, _, index, fetch| {
            let $x = fetch(0, index)?;
            Ok($value)
        })
    };
}

/// `f` of a float; integers stay as they are.
fn of_float(x: Number, f: fn(f64) -> f64) -> Number {
    match x {
        Number::Int(_) => x,
        Number::Float(v) => Number::float(f(v.0)),
    }
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

/// `x` to a power of 0 or more, wrapping around.
fn whole_power(x: i64, mut exponent: i64) -> i64 {
    let (mut power, mut square) = (1_i64, x);
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = power.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        exponent >>= 1;
    }
    power
}

/// `x` limited to `low..=high`. Zeros of both signs are equal and stay as they are; a bound that is NaN wins.
fn clamp(mut x: Number, low: Option<Number>, high: Option<Number>) -> Number {
    if let Some(low) = low
        && (low.is_above(x) || low.is_nan())
    {
        x = low;
    }
    if let Some(high) = high
        && (x.is_above(high) || high.is_nan())
    {
        x = high;
    }
    x
}

/// Bounds of functions that are 0 at 0 and stay within 1 of it.
const ODD: Bounds =
    Bounds { range: |r| if r.x()?.is_zero() { r.x() } else { Interval::around_0(1.0) }, magnitude: |_| 1.0 };

fn power_range(x: Interval, exponent: f64) -> Option<Interval> {
    if x.low > 0.0 || x.low == 0.0 && exponent >= 0.0 {
        let (p, q) = (x.low.powf(exponent), x.high.powf(exponent));
        return Interval::new(p.min(q), p.max(q));
    }
    if exponent < 1.0 || exponent.fract() != 0.0 {
        return None;
    }
    let top = x.magnitude().powf(exponent);
    if exponent % 2.0 == 0.0 { Interval::new(0.0, top) } else { Interval::around_0(top) }
}

/// A cast to a narrower integer type wraps; there nothing is known.
fn cast_range(r: &Ranges) -> Option<Interval> {
    let x = r.x()?;
    match r.call.dtype("dtype")? {
        DType::Bool => Interval::new(0.0, 1.0),
        to if to.is_float() || r.call.operands[0].dtype == DType::Bool => Some(x),
        DType::I64 if x.magnitude() < 9e15 => Some(x.hull(Interval::ZERO)),
        DType::I32 if x.magnitude() < 2e9 => Some(x.hull(Interval::ZERO)),
        _ => None,
    }
}

/// These table entries of the elementwise family.
pub(super) static OPS: &[OpDef] = &[
    OpDef {
        name: "neg",
        elements: Elements::Placewise(Arithmetic::Neg),
        doc: "`-x`.",
        kernel: unary!(Element, |x| -x),
        aten: aten!("neg", self: X),
        replay: torch!(|r| r.x()?.f_neg()?),
        bounds: Bounds { range: |r| r.x()?.scaled(-1.0), magnitude: |m| m.of(0) },
        vanishes: Vanishes::With { operand: 0, bias: None },
        support: support::same,
        ..UNARY
    },
    OpDef {
        name: "abs",
        elements: Elements::Placewise(Arithmetic::Abs),
        doc: "`|x|`.",
        kernel: unary!(Element, |x| x.abs()),
        aten: aten!("abs", self: X),
        replay: torch!(|r| r.x()?.f_abs()?),
        bounds: Bounds { range: |r| Interval::new(0.0, r.x()?.magnitude()), magnitude: |m| m.of(0) },
        support: support::same,
        ..UNARY
    },
    OpDef {
        name: "exp",
        elements: Elements::Placewise(Arithmetic::Exp),
        doc: "`e^x`.",
        kernel: unary!(Real, |x| x.exp()),
        inverse: Some(f64::ln),
        aten: aten!("exp", self: X),
        replay: torch!(|r| r.x()?.f_exp()?),
        bounds: Bounds { range: |r| Interval::new(r.x()?.low.exp(), r.x()?.high.exp()), ..Bounds::UNKNOWN },
        amplifies: Amplifies::Always,
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "expm1",
        elements: Elements::Placewise(Arithmetic::ExpMinusOne),
        doc: "`e^x - 1`.",
        kernel: unary!(Real, |x| x.exp_m1()),
        aten: aten!("expm1", self: X),
        replay: torch!(|r| r.x()?.f_expm1()?),
        bounds: Bounds::INCREASING,
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "log",
        elements: Elements::Placewise(Arithmetic::Log),
        doc: "Natural logarithm.",
        kernel: unary!(Real, |x| x.ln()),
        aten: aten!("log", self: X),
        replay: torch!(|r| r.x()?.f_log()?),
        bounds: Bounds {
            range: |r| r.x().filter(|x| x.low > 0.0).and_then(|x| Interval::new(x.low.ln(), x.high.ln())),
            ..Bounds::UNKNOWN
        },
        asks: |_| vec![(0, Ask::Positive)],
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "log1p",
        elements: Elements::Placewise(Arithmetic::LogOnePlus),
        doc: "`ln(1 + x)`.",
        kernel: unary!(Real, |x| x.ln_1p()),
        aten: aten!("log1p", self: X),
        replay: torch!(|r| r.x()?.f_log1p()?),
        bounds: Bounds::INCREASING,
        ..TRANSCENDENTAL
    },
    // Not every library that PyTorch calls rounds it correctly.
    OpDef {
        name: "sqrt",
        elements: Elements::Placewise(Arithmetic::Sqrt),
        doc: "Square root.",
        kernel: unary!(Real, |x| x.sqrt()),
        aten: aten!("sqrt", self: X),
        replay: torch!(|r| r.x()?.f_sqrt()?),
        bounds: Bounds {
            range: |r| r.x().filter(|x| x.low >= 0.0).and_then(|x| Interval::new(x.low.sqrt(), x.high.sqrt())),
            magnitude: |m| m.of(0).max(1.0),
        },
        asks: |_| vec![(0, Ask::Positive)],
        support: support::same,
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "rsqrt",
        elements: Elements::Placewise(Arithmetic::InverseSqrt),
        doc: "`1 / sqrt(x)`.",
        kernel: unary!(Real, |x| 1.0 / x.sqrt()),
        aten: aten!("rsqrt", self: X),
        replay: torch!(|r| r.x()?.f_rsqrt()?),
        bounds: Bounds {
            range: |r| {
                r.x().filter(|x| x.low > 0.0).and_then(|x| Interval::new(x.high.sqrt().recip(), x.low.sqrt().recip()))
            },
            ..Bounds::UNKNOWN
        },
        asks: |_| vec![(0, Ask::Positive)],
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "reciprocal",
        elements: Elements::Placewise(Arithmetic::Reciprocal),
        doc: "`1 / x`.",
        infer: floats,
        kernel: unary!(Element, |x| of_float(x, |x| 1.0 / x)),
        aten: aten!("reciprocal", self: X),
        replay: torch!(|r| r.x()?.f_reciprocal()?),
        bounds: Bounds { range: |r| r.x()?.reciprocal(), ..Bounds::UNKNOWN },
        ..UNARY
    },
    OpDef {
        name: "sin",
        doc: "Sine.",
        kernel: unary!(Real, |x| x.sin()),
        elements: Elements::Placewise(Arithmetic::Sine),
        inverse: Some(f64::asin),
        aten: aten!("sin", self: X),
        replay: torch!(|r| r.x()?.f_sin()?),
        bounds: ODD,
        support: support::same,
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "cos",
        doc: "Cosine.",
        kernel: unary!(Real, |x| x.cos()),
        elements: Elements::Placewise(Arithmetic::Cosine),
        inverse: Some(f64::acos),
        aten: aten!("cos", self: X),
        replay: torch!(|r| r.x()?.f_cos()?),
        bounds: Bounds { range: |r| r.x().and(Interval::around_0(1.0)), magnitude: |_| 1.0 },
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "tanh",
        doc: "Hyperbolic tangent.",
        kernel: unary!(Real, |x| x.tanh()),
        elements: Elements::Placewise(Arithmetic::HyperbolicTangent),
        aten: aten!("tanh", self: X),
        replay: torch!(|r| r.x()?.f_tanh()?),
        bounds: Bounds { magnitude: |_| 1.0, ..Bounds::INCREASING },
        support: support::same,
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "erf",
        doc: "Error function.",
        kernel: unary!(Real, |x| libm::erf(x)),
        aten: aten!("erf", self: X),
        replay: torch!(|r| r.x()?.f_erf()?),
        bounds: Bounds { magnitude: |_| 1.0, ..Bounds::INCREASING },
        support: support::same,
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "sigmoid",
        elements: Elements::Placewise(Arithmetic::Sigmoid),
        doc: "`1 / (1 + e^-x)`.",
        kernel: unary!(Real, |x| sigmoid(x)),
        aten: aten!("sigmoid", self: X),
        replay: torch!(|r| r.x()?.f_sigmoid()?),
        bounds: Bounds { magnitude: |_| 1.0, ..Bounds::INCREASING },
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "relu",
        elements: Elements::Placewise(Arithmetic::Relu),
        doc: "`max(x, 0)`; -0.0 stays as it is.",
        kernel: unary!(Element, |x| clamp(x, Some(Number::ZERO), None)),
        aten: aten!("relu", self: X),
        replay: torch!(|r| r.x()?.f_relu()?),
        bounds: Bounds { range: |r| Interval::new(r.x()?.low.max(0.0), r.x()?.high.max(0.0)), magnitude: |m| m.of(0) },
        hands_on: true,
        support: support::same,
        ..UNARY
    },
    OpDef {
        name: "silu",
        elements: Elements::Placewise(Arithmetic::Silu),
        doc: "`x * sigmoid(x)`.",
        kernel: unary!(Real, |x| x * sigmoid(x)),
        aten: aten!("silu", self: X),
        replay: torch!(|r| r.x()?.f_silu()?),
        bounds: Bounds { range: |r| Interval::around_0(r.x()?.magnitude()), magnitude: |m| m.of(0) },
        support: support::same,
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "floor",
        doc: "Largest integer not above `x`.",
        kernel: unary!(Element, |x| of_float(x, f64::floor)),
        aten: aten!("floor", self: X),
        replay: torch!(|r| r.x()?.f_floor()?),
        bounds: Bounds::NO_LARGER,
        ..UNARY
    },
    OpDef {
        name: "round",
        doc: "Nearest integer to `x`; of two, the even one.",
        kernel: unary!(Element, |x| of_float(x, f64::round_ties_even)),
        aten: aten!("round", self: X),
        replay: torch!(|r| r.x()?.f_round()?),
        bounds: Bounds::NO_LARGER,
        ..UNARY
    },
    OpDef {
        name: "logical_not",
        elements: Elements::Placewise(Arithmetic::Not),
        doc: "`x == 0`, as bool.",
        infer: |c| c.output(DType::Bool, c.operands[0].shape.clone()),
        kernel: unary!(Element, |x| Number::from(!x.is_true())),
        aten: aten!("logical_not", self: X),
        replay: torch!(|r| r.x()?.f_logical_not()?),
        bounds: Bounds::TRUTH,
        synthesis: Synthesis::Negate,
        ..UNARY
    },
    OpDef {
        name: "gelu",
        doc: "Gaussian error linear unit; `approximate` is \"none\" (erf) or \"tanh\".",
        attrs: &[attr("approximate", AttrKind::Str, Default::Str("none"))],
        infer: |c| match c.str("approximate") {
            "none" | "tanh" => floats(c),
            other => Err(c.error(format!("knows no approximation {other:?}"))),
        },
        kernel: Kernel::Real(|c, _, index, fetch| Ok(gelu(fetch(0, index)?, c.str("approximate") == "tanh"))),
        work: Work::per_output::<TRANSCENDENTAL_FLOPS>,
        aten: aten!("gelu", self: X; approximate),
        replay: torch!(|r| r.x()?.f_gelu(r.c.str("approximate"))?),
        bounds: Bounds { range: |r| Interval::around_0(r.x()?.magnitude()), magnitude: |m| m.of(0) },
        support: support::same,
        ..UNARY
    },
    OpDef {
        name: "pow",
        elements: Elements::Placewise(Arithmetic::Power),
        doc: "`x` to a constant power.",
        attrs: &[attr("exponent", AttrKind::Number, Default::Required)],
        infer: |c| {
            // PyTorch would promote integers that meet a fraction; in the IR a `cast` says so.
            let exponent = c.number("exponent", c.operands[0].dtype.accumulator());
            if exponent.is_none_or(|e| Number::ZERO.is_above(e) && !c.operands[0].dtype.is_float()) {
                return Err(c.error(format!("takes a whole exponent of 0 or more for {}", c.operands[0])));
            }
            numbers(c)
        },
        kernel: Kernel::Ordered(|c, _, index, fetch| {
            let (x, exponent) = (fetch(0, index)?, c.float("exponent"));
            Ok(match (x, c.number("exponent", DType::I64)) {
                (Number::Int(x), Some(Number::Int(exponent))) => Number::Int(whole_power(x, exponent)),
                _ => Number::float(power(x.to_f64(), exponent)),
            })
        }),
        aten: aten!("pow.Tensor_Scalar", self: X, exponent),
        replay: torch!(|r| super::scalars::pow(r.x()?, r.scalar("exponent", r.dtype(0)?))?),
        bounds: Bounds { range: |r| power_range(r.x()?, r.call.float("exponent")), ..Bounds::UNKNOWN },
        amplifies: Amplifies::Always,
        vanishes: Vanishes::With { operand: 0, bias: None },
        support: |s| if s.call.float("exponent") > 0.0 { support::same(s) } else { None },
        ..UNARY
    },
    OpDef {
        name: "clamp",
        elements: Elements::Placewise(Arithmetic::Clamp),
        doc: "`x` limited to `min..=max`; either bound may be none.",
        attrs: &[attr("min", AttrKind::Number, Default::None), attr("max", AttrKind::Number, Default::None)],
        infer: |c| {
            if !c.given("min") && !c.given("max") {
                return Err(c.error("needs `min` or `max`"));
            }
            let x = c.operands[0];
            if ["min", "max"].iter().any(|n| c.given(n) && c.number(n, x.dtype).is_none()) {
                return Err(c.error(format!("takes bounds that are values of {}, for {x}", x.dtype)));
            }
            numbers(c)
        },
        kernel: Kernel::Element(|c, _, index, fetch| {
            // PyTorch rounds the bounds to the element type first.
            let dtype = c.operands[0].dtype;
            let bound = |name| c.number(name, dtype).and_then(|bound| dtype.store(bound));
            Ok(clamp(fetch(0, index)?, bound("min"), bound("max")))
        }),
        aten: aten!("clamp", self: X, min, max),
        replay: torch!(|r| {
            let dtype = r.dtype(0)?;
            let bound = |name| r.c.given(name).then(|| r.scalar(name, dtype));
            super::scalars::clamp(r.x()?, bound("min"), bound("max"))?
        }),
        bounds: Bounds {
            range: |r| {
                let x = r.x();
                let end = |name, own: fn(Interval) -> f64| {
                    if r.call.given(name) { Some(r.call.float(name)) } else { x.map(own) }
                };
                let (low, high) = (end("min", |x| x.low)?, end("max", |x| x.high)?);
                Interval::new(low.min(high), high.max(low))
            },
            magnitude: |m| {
                let end = |name| if m.call.given(name) { m.call.float(name).abs() } else { f64::INFINITY };
                m.of(0).min(end("min").max(end("max")))
            },
        },
        hands_on: true,
        ..UNARY
    },
    OpDef {
        name: "cast",
        elements: Elements::Placewise(Arithmetic::Cast),
        doc: "The same values in another element type.",
        attrs: &[attr("dtype", AttrKind::DType, Default::Required)],
        infer: |c| {
            let dtype = c.dtype("dtype").ok_or_else(|| c.error("needs the attribute `dtype`"))?;
            c.output(dtype, c.operands[0].shape.clone())
        },
        kernel: Kernel::Element(|c, _, index, fetch| {
            let x = fetch(0, index)?;
            // A cast to a float type is rounding, which is the business of whoever asks; to integers and bool
            // it changes the value over the real numbers too.
            match c.dtype("dtype").filter(|d| !d.is_float()) {
                Some(dtype) => dtype.store(x).ok_or(EvalError::Unrepresentable),
                None => Ok(x),
            }
        }),
        work: |c, outputs| match c.types().first() {
            Some(t) if t.dtype == c.operands[0].dtype => Work::NONE,
            _ => Work::per_output::<1>(c, outputs),
        },
        aten: aten!("to.dtype", self: X, dtype),
        replay: torch!(|r| r.x()?.f_to_dtype(r.kind()?, false, false)?),
        bounds: Bounds { range: |r| cast_range(r), magnitude: |m| m.of(0) },
        hands_on: true,
        amplifies: Amplifies::Always,
        synthesis: Synthesis::Cast,
        vanishes: Vanishes::With { operand: 0, bias: None },
        support: support::same,
        ..UNARY
    },
    OpDef {
        name: "dropout",
        // Training-mode dropout is no alias and keeps no order.
        launch: Launch::ElementwiseInOrder,
        elements: Elements::Moved(Moved::All, Movement::Stay),
        digits: |r| Some(r.same()),
        doc: "Random zeroing. The identity unless `train`; has no reference semantics in training.",
        attrs: &[attr("p", AttrKind::Float, Default::Required), attr("train", AttrKind::Bool, Default::Bool(false))],
        infer: |c| match c.float("p") {
            0.0..=1.0 => same(c),
            p => Err(c.error(format!("takes a probability, not {p}"))),
        },
        kernel: Kernel::Element(|c, _, index, fetch| {
            if c.bool("train") { Err(EvalError::NoSemantics("dropout in training".into())) } else { fetch(0, index) }
        }),
        layout: LayoutRule::View(|c, _, layout| (!c.bool("train")).then(|| layout.clone())),
        work: |c, outputs| if c.bool("train") { Work::per_output::<1>(c, outputs) } else { Work::NONE },
        draws: Draws::Where("train"),
        aten: aten!("dropout", input: X, p, train),
        replay: torch!(|r| r.x()?.f_dropout(r.c.float("p"), r.c.bool("train"))?),
        bounds: Bounds { range: |r| r.x().filter(|_| !r.call.bool("train")), magnitude: |m| m.of(0) },
        vanishes: Vanishes::With { operand: 0, bias: None },
        support: |s| if s.call.bool("train") { None } else { support::same(s) },
        ..UNARY
    },
];
