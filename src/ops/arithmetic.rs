//! Arithmetic of two numbers.

use super::aten_formulas::{NumberFirst, overloaded};
use super::pointwise::{BINARY, floats, numbers, read};
use super::{Amplifies, Arithmetic, Bounds, Elements, EvalError, Interval, Kernel, OpDef, Ranges, Vanishes, support};
use crate::ir::Number;

/// A quotient of two numbers, rounded: by `ints` and by `floats`. Integers cannot be divided by 0.
fn quotient(x: Number, y: Number, ints: fn(i64, i64) -> i64, floats: fn(f64, f64) -> f64) -> Result<Number, EvalError> {
    match (x, y) {
        (Number::Int(_), Number::Int(0)) => Err(EvalError::DivisionByZero),
        (Number::Int(x), Number::Int(y)) => Ok(Number::Int(ints(x, y))),
        _ => Ok(Number::float(floats(x.to_f64(), y.to_f64()))),
    }
}

/// What truncation leaves of `x / y`, and whether Python, which rounds down, counts one less.
fn rest(x: f64, y: f64) -> (f64, bool) {
    let rest = x % y;
    (rest, rest != 0.0 && (rest < 0.0) != (y < 0.0))
}

/// As [`rest`], for integers.
fn whole_rest(x: i64, y: i64) -> (i64, bool) {
    let rest = x.wrapping_rem(y);
    (rest, rest != 0 && (rest < 0) != (y < 0))
}

/// Python's remainder: it has the sign of the divisor.
fn remainder(x: f64, y: f64) -> f64 {
    let (rest, borrows) = rest(x, y);
    if borrows { rest + y } else { rest }
}

fn whole_remainder(x: i64, y: i64) -> i64 {
    let (rest, borrows) = whole_rest(x, y);
    if borrows { rest + y } else { rest }
}

/// From 0 to what divides, if that is above 0. An integer that is left is smaller, whatever was divided.
fn remainder_range(r: &Ranges) -> Option<Interval> {
    let divisor = r.y().filter(|y| y.low > 0.0)?;
    match r.call.operands.iter().any(|ty| ty.dtype.is_float()) {
        true => r.x().and(Interval::new(0.0, divisor.high)),
        false => Interval::new(0.0, divisor.high - 1.0),
    }
}

/// Python's `//`: rounds down what the rest leaves, so that it is exact where a quotient would be rounded up first.
fn floor_div(x: f64, y: f64) -> f64 {
    if y == 0.0 {
        return x / y;
    }
    let (rest, borrows) = rest(x, y);
    match ((x - rest) / y - f64::from(u8::from(borrows))).round() {
        // PyTorch gives 0 the sign of the quotient, whatever is left of `x`.
        0.0 => 0.0_f64.copysign(x / y),
        whole => whole,
    }
}

fn whole_floor_div(x: i64, y: i64) -> i64 {
    x.wrapping_div(y).wrapping_sub(i64::from(whole_rest(x, y).1))
}

/// The kernel of a quotient of integers and one of floats.
macro_rules! quotient {
    ($ints:expr, $floats:expr) => {
        Kernel::Ordered(|c, _, index, fetch| {
            let (x, y) = (read(c, 0, index, fetch)?, read(c, 1, index, fetch)?);
            quotient(x, y, $ints, $floats)
        })
    };
}

/// These table entries of the elementwise family.
pub(super) static OPS: &[OpDef] = &[
    OpDef {
        name: "add",
        elements: Elements::Placewise(Arithmetic::Add),
        doc: "`x + y`.",
        commutative: true,
        kernel: binary!(Element, |x, y| x + y),
        aten: aten!("add.Tensor", self: Either(0), other: Either(1)),
        replay: torch!(|r| r.x()?.f_add(r.y()?)?),
        bounds: Bounds { range: |r| r.x()?.plus(r.y()?), magnitude: |m| m.of(0) + m.of(1) },
        vanishes: Vanishes::WithBoth,
        support: |s| s.either(0, 1),
        ..BINARY
    },
    OpDef {
        name: "sub",
        elements: Elements::Placewise(Arithmetic::Sub),
        doc: "`x - y`.",
        infer: numbers,
        kernel: binary!(Element, |x, y| x - y),
        aten: aten!("sub.Tensor", self: Either(0), other: Either(1)),
        replay: torch!(|r| r.x()?.f_sub(r.y()?)?),
        bounds: Bounds { range: |r| r.x()?.minus(r.y()?), magnitude: |m| m.of(0) + m.of(1) },
        support: |s| s.either(0, 1),
        ..BINARY
    },
    OpDef {
        name: "mul",
        elements: Elements::Placewise(Arithmetic::Mul),
        doc: "`x * y`.",
        commutative: true,
        kernel: binary!(Element, |x, y| x * y),
        aten: aten!("mul.Tensor", self: Either(0), other: Either(1)),
        replay: torch!(|r| r.x()?.f_mul(r.y()?)?),
        bounds: Bounds { range: |r| r.x()?.times(r.y()?), magnitude: |m| m.of(0) * m.of(1) },
        amplifies: Amplifies::Squared,
        vanishes: Vanishes::WithAny,
        support: support::of_product,
        ..BINARY
    },
    OpDef {
        name: "div",
        elements: Elements::Placewise(Arithmetic::Div),
        doc: "`x / y`.",
        infer: floats,
        kernel: binary!(Element, |x, y| Number::float(x.to_f64() / y.to_f64())),
        aten: aten!("div.Tensor", self: Either(0), other: Either(1)),
        replay: torch!(|r| r.x()?.f_div(r.y()?)?),
        bounds: Bounds {
            range: |r| {
                let (x, y) = (r.x()?, r.y()?);
                if y.has_0() {
                    return None;
                }
                x.times(Interval::new(1.0 / y.high, 1.0 / y.low)?)
            },
            ..Bounds::UNKNOWN
        },
        vanishes: Vanishes::With { operand: 0, bias: None },
        support: |s| if s.operand(1)?.interval?.has_0() { None } else { s.broadcast(0) },
        ..BINARY
    },
    OpDef {
        name: "floor_div",
        doc: "`x / y` rounded down.",
        infer: numbers,
        kernel: quotient!(whole_floor_div, floor_div),
        aten: aten!("floor_divide", self: Either(0), other: Either(1)),
        replay: torch!(|r| r.x()?.f_floor_divide(r.y()?)?),
        ..BINARY
    },
    OpDef {
        name: "trunc_div",
        doc: "`x / y` rounded towards 0.",
        infer: numbers,
        kernel: quotient!(i64::wrapping_div, |x, y| (x / y).trunc()),
        aten: aten!("div.Tensor_mode", self: Either(0), other: Either(1); rounding_mode: Str("trunc")),
        replay: torch!(|r| r.x()?.f_div_tensor_mode(r.y()?, "trunc")?),
        ..BINARY
    },
    OpDef {
        name: "remainder",
        doc: "What `floor_div` leaves of `x`; it has the sign of `y`.",
        infer: numbers,
        kernel: quotient!(whole_remainder, remainder),
        bounds: Bounds { range: remainder_range, ..Bounds::UNKNOWN },
        aten: aten!(|c| overloaded(
            c,
            "remainder.Tensor",
            "remainder.Scalar",
            NumberFirst::As("remainder.Scalar_Tensor")
        )),
        replay: torch!(|r| r.x()?.f_remainder_tensor(r.y()?)?),
        ..BINARY
    },
    OpDef {
        name: "maximum",
        elements: Elements::Placewise(Arithmetic::Max),
        doc: "The larger one; NaN if either is. Of zeros of both signs it is open which.",
        kernel: binary!(Ordered, |x, y| x.max(y)),
        aten: aten!(|c| super::aten_formulas::larger_or_smaller(c, "maximum", "min")),
        replay: torch!(|r| r.x()?.f_maximum(r.y()?)?),
        bounds: Bounds { range: |r| Some(r.x()?.hull(r.y()?)), magnitude: |m| m.largest() },
        hands_on: true,
        support: |s| s.either(0, 1),
        ..BINARY
    },
    OpDef {
        name: "minimum",
        elements: Elements::Placewise(Arithmetic::Min),
        doc: "The smaller one; NaN if either is. Of zeros of both signs it is open which.",
        kernel: binary!(Ordered, |x, y| x.min(y)),
        aten: aten!(|c| super::aten_formulas::larger_or_smaller(c, "minimum", "max")),
        replay: torch!(|r| r.x()?.f_minimum(r.y()?)?),
        bounds: Bounds { range: |r| Some(r.x()?.hull(r.y()?)), magnitude: |m| m.largest() },
        hands_on: true,
        support: |s| s.either(0, 1),
        ..BINARY
    },
];
