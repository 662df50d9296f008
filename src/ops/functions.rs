//! Less common functions of one or two numbers: rounding, trigonometry, powers, bits.

use super::aten_formulas::{NumberFirst, overloaded, power_call};
use super::pointwise::{BINARY, TRANSCENDENTAL, UNARY, floats, numbers, read, read_real, same};
use super::work::TRANSCENDENTAL_FLOPS;
use super::{
    Amplifies, Arithmetic, Bounds, Call, Elements, EvalError, Interval, Kernel, OpDef, Ranges, TypeError, Types, Work,
};
use crate::ir::{DType, Number};

/// Integers, and bools where `bools` says so.
fn integers(call: &Call, bools: bool) -> Result<Types, TypeError> {
    let fits = |dtype: DType| dtype.is_int() || bools && dtype == DType::Bool;
    match call.operands.iter().find(|t| !fits(t.dtype)) {
        Some(t) => Err(call.error(format!("takes integers, not {t}"))),
        None => same(call),
    }
}

const OF_TWO_NUMBERS: OpDef = OpDef { infer: numbers, ..BINARY };

/// Bits of a number that is not negative are a number that is not negative, and not above it.
fn bits_of_both(r: &Ranges) -> Option<Interval> {
    let most = |x: Option<Interval>| x.filter(|x| x.low >= 0.0).map(|x| x.high);
    let high = most(r.x()).into_iter().chain(most(r.y())).reduce(f64::min)?;
    Interval::new(0.0, high)
}

/// Rounded down, from the quotient of the ends that are furthest from 0.
fn shifted_down(r: &Ranges) -> Option<Interval> {
    let (x, places) = (r.x()?, r.y().filter(|y| y.low >= 0.0)?);
    let divisor = places.low.min(63.0).exp2();
    Interval::new((x.low.min(0.0) / divisor).floor(), (x.high.max(0.0) / divisor).floor())
}

/// The kernel of a function of one real number.
macro_rules! real {
    ($f:expr) => {
        Kernel::Real(|_, _, index, fetch| {
            let f: fn(f64) -> f64 = $f;
            fetch(0, index).map(f)
        })
    };
}

/// The kernel of a function of one number that is exact: integers stay as they are.
macro_rules! rounding {
    ($f:expr) => {
        Kernel::Element(|_, _, index, fetch| {
            Ok(match fetch(0, index)? {
                Number::Float(v) => Number::float($f(v.0)),
                whole => whole,
            })
        })
    };
}

/// The kernel of a function of two integers of a type.
macro_rules! whole {
    ($f:expr) => {
        Kernel::Element(|call, _, index, fetch| {
            let f: fn(DType, i64, i64) -> i64 = $f;
            match (read(call, 0, index, fetch)?, read(call, 1, index, fetch)?) {
                (Number::Int(x), Number::Int(y)) => Ok(Number::Int(f(call.operands[0].dtype, x, y))),
                _ => Err(EvalError::Unrepresentable),
            }
        })
    };
}

/// -1, 0 or 1; 0 for NaN, as PyTorch has it.
fn sign(x: Number) -> Number {
    let (above, below) = (x.is_above(Number::ZERO), Number::ZERO.is_above(x));
    let sign = i64::from(above) - i64::from(below);
    match x {
        Number::Int(_) => Number::Int(sign),
        Number::Float(_) => Number::float(sign as f64),
    }
}

/// What C's `fmod` leaves of `x / y`.
fn rest(x: Number, y: Number) -> Result<Number, EvalError> {
    match (x, y) {
        (Number::Int(_), Number::Int(0)) => Err(EvalError::DivisionByZero),
        (Number::Int(x), Number::Int(y)) => Ok(Number::Int(x.wrapping_rem(y))),
        _ => Ok(Number::float(x.to_f64() % y.to_f64())),
    }
}

/// `x` to the power of `y`, wrapping around. Of a negative power, only the whole part is kept.
fn whole_power(x: i64, y: i64) -> i64 {
    let odd = y & 1 == 1;
    match x {
        1 => 1,
        -1 => {
            if odd {
                -1
            } else {
                1
            }
        }
        _ if y < 0 => 0,
        _ => {
            let (mut power, mut square, mut left) = (1_i64, x, y);
            while left > 0 {
                if left & 1 == 1 {
                    power = power.wrapping_mul(square);
                }
                square = square.wrapping_mul(square);
                left >>= 1;
            }
            power
        }
    }
}

fn bits(dtype: DType) -> i64 {
    8 * dtype.bytes() as i64
}

/// `x << y`; 0 where all bits leave, and for a negative `y`.
fn shifted_left(dtype: DType, x: i64, y: i64) -> i64 {
    if (0..bits(dtype)).contains(&y) { x << y } else { 0 }
}

/// `x >> y`, which keeps the sign; as far as possible where `y` is negative.
fn shifted_right(dtype: DType, x: i64, y: i64) -> i64 {
    let signed = dtype.int_range().is_some_and(|(low, _)| low < 0);
    let most = if signed { bits(dtype) - 1 } else { bits(dtype) };
    x >> if (0..most).contains(&y) { y } else { most }
}

/// The largest number that divides both, as PyTorch computes it: the smallest number of a type has no absolute value in it.
fn common_divisor(dtype: DType, x: i64, y: i64) -> i64 {
    let (mut x, mut y) = (dtype.wrap(x.wrapping_abs()), dtype.wrap(y.wrapping_abs()));
    while x != 0 {
        (x, y) = (y.wrapping_rem(x), x);
    }
    y
}

/// These table entries of the elementwise family.
pub(super) static OPS: &[OpDef] = &[
    OpDef {
        name: "ceil",
        doc: "Smallest integer not below `x`.",
        kernel: rounding!(f64::ceil),
        aten: aten!("ceil", self: X),
        replay: torch!(|r| r.x()?.f_ceil()?),
        ..UNARY
    },
    OpDef {
        name: "trunc",
        doc: "`x` without its fraction.",
        kernel: rounding!(f64::trunc),
        aten: aten!("trunc", self: X),
        replay: torch!(|r| r.x()?.f_trunc()?),
        ..UNARY
    },
    OpDef {
        name: "sign",
        doc: "-1, 0 or 1: the sign of `x`; 0 for NaN.",
        infer: same,
        kernel: Kernel::Element(|_, _, index, fetch| fetch(0, index).map(sign)),
        aten: aten!("sign", self: X),
        replay: torch!(|r| r.x()?.f_sign()?),
        ..UNARY
    },
    OpDef {
        name: "tan",
        aten: aten!("tan", self: X),
        replay: torch!(|r| r.x()?.f_tan()?),
        doc: "Tangent.",
        kernel: real!(f64::tan),
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "asin",
        doc: "Inverse sine.",
        kernel: real!(f64::asin),
        aten: aten!("asin", self: X),
        replay: torch!(|r| r.x()?.f_asin()?),
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "acos",
        doc: "Inverse cosine.",
        kernel: real!(f64::acos),
        aten: aten!("acos", self: X),
        replay: torch!(|r| r.x()?.f_acos()?),
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "atan",
        doc: "Inverse tangent.",
        kernel: real!(f64::atan),
        aten: aten!("atan", self: X),
        replay: torch!(|r| r.x()?.f_atan()?),
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "sinh",
        doc: "Hyperbolic sine.",
        kernel: real!(f64::sinh),
        elements: Elements::Placewise(Arithmetic::HyperbolicSine),
        aten: aten!("sinh", self: X),
        replay: torch!(|r| r.x()?.f_sinh()?),
        amplifies: Amplifies::Always,
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "cosh",
        doc: "Hyperbolic cosine.",
        kernel: real!(f64::cosh),
        elements: Elements::Placewise(Arithmetic::HyperbolicCosine),
        aten: aten!("cosh", self: X),
        replay: torch!(|r| r.x()?.f_cosh()?),
        amplifies: Amplifies::Always,
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "asinh",
        doc: "Inverse hyperbolic sine.",
        kernel: real!(libm::asinh),
        aten: aten!("asinh", self: X),
        replay: torch!(|r| r.x()?.f_asinh()?),
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "acosh",
        doc: "Inverse hyperbolic cosine.",
        kernel: real!(libm::acosh),
        aten: aten!("acosh", self: X),
        replay: torch!(|r| r.x()?.f_acosh()?),
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "atanh",
        doc: "Inverse hyperbolic tangent.",
        kernel: real!(libm::atanh),
        aten: aten!("atanh", self: X),
        replay: torch!(|r| r.x()?.f_atanh()?),
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "exp2",
        aten: aten!("exp2", self: X),
        replay: torch!(|r| r.x()?.f_exp2()?),
        doc: "`2^x`.",
        kernel: real!(f64::exp2),
        amplifies: Amplifies::Always,
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "log2",
        doc: "Logarithm to base 2.",
        kernel: real!(f64::log2),
        aten: aten!("log2", self: X),
        replay: torch!(|r| r.x()?.f_log2()?),
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "log10",
        doc: "Logarithm to base 10.",
        kernel: real!(f64::log10),
        aten: aten!("log10", self: X),
        replay: torch!(|r| r.x()?.f_log10()?),
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "erfc",
        doc: "`1 - erf(x)`.",
        kernel: real!(libm::erfc),
        aten: aten!("erfc", self: X),
        replay: torch!(|r| r.x()?.f_erfc()?),
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "erfinv",
        doc: "The inverse of the error function.",
        kernel: real!(super::special::erf_inverse),
        aten: aten!("erfinv", self: X),
        replay: torch!(|r| r.x()?.f_erfinv()?),
        amplifies: Amplifies::Always,
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "lgamma",
        doc: "The logarithm of the absolute value of the gamma function.",
        kernel: real!(libm::lgamma),
        aten: aten!("lgamma", self: X),
        replay: torch!(|r| r.x()?.f_lgamma()?),
        amplifies: Amplifies::Always,
        ..TRANSCENDENTAL
    },
    OpDef {
        name: "atan2",
        doc: "The angle of the point (`y`, `x`).",
        kernel: Kernel::Real(|call, _, index, fetch| {
            Ok(read_real(call, 0, index, fetch)?.atan2(read_real(call, 1, index, fetch)?))
        }),
        infer: floats,
        work: Work::per_output::<TRANSCENDENTAL_FLOPS>,
        aten: aten!("atan2", self: X, other: Y),
        replay: torch!(|r| r.x()?.f_atan2(r.y()?)?),
        ..OF_TWO_NUMBERS
    },
    OpDef {
        name: "hypot",
        doc: "The length of the vector (`x`, `y`); infinite if either is, beside NaN as well.",
        commutative: true,
        kernel: Kernel::Real(|call, _, index, fetch| {
            Ok(read_real(call, 0, index, fetch)?.hypot(read_real(call, 1, index, fetch)?))
        }),
        infer: floats,
        work: Work::per_output::<TRANSCENDENTAL_FLOPS>,
        aten: aten!("hypot", self: X, other: Y),
        replay: torch!(|r| r.x()?.f_hypot(r.y()?)?),
        ..OF_TWO_NUMBERS
    },
    OpDef {
        name: "power",
        doc: "`x` to the power of `y`, element by element. Of a negative power of an integer, the whole part is kept.",
        kernel: Kernel::Ordered(|call, _, index, fetch| {
            Ok(match (read(call, 0, index, fetch)?, read(call, 1, index, fetch)?) {
                (Number::Int(x), Number::Int(y)) => Number::Int(whole_power(x, y)),
                (x, y) => Number::float(x.to_f64().powf(y.to_f64())),
            })
        }),
        work: Work::per_output::<TRANSCENDENTAL_FLOPS>,
        aten: aten!(|c| power_call(c)),
        replay: torch!(|r| r.x()?.f_pow(r.y()?)?),
        amplifies: Amplifies::Always,
        ..OF_TWO_NUMBERS
    },
    OpDef {
        name: "fmod",
        doc: "What `trunc_div` leaves of `x`; it has the sign of `x`.",
        kernel: Kernel::Ordered(|call, _, index, fetch| {
            rest(read(call, 0, index, fetch)?, read(call, 1, index, fetch)?)
        }),
        aten: aten!(|c| overloaded(c, "fmod.Tensor", "fmod.Scalar", NumberFirst::AsTensor)),
        replay: torch!(|r| r.x()?.f_fmod_tensor(r.y()?)?),
        ..OF_TWO_NUMBERS
    },
    OpDef {
        name: "bitwise_not",
        doc: "Every bit the other way round; of bools, the opposite.",
        infer: |call| integers(call, true),
        kernel: Kernel::Element(|call, _, index, fetch| match (call.operands[0].dtype, fetch(0, index)?) {
            (DType::Bool, x) => Ok(Number::from(!x.is_true())),
            (dtype, Number::Int(x)) => Ok(Number::Int(dtype.wrap(!x))),
            _ => Err(EvalError::Unrepresentable),
        }),
        aten: aten!("bitwise_not", self: X),
        replay: torch!(|r| r.x()?.f_bitwise_not()?),
        ..UNARY
    },
    OpDef {
        name: "bitwise_and",
        doc: "The bits that both have.",
        commutative: true,
        infer: |call| integers(call, true),
        kernel: whole!(|_, x, y| x & y),
        bounds: Bounds { range: bits_of_both, ..Bounds::UNKNOWN },
        aten: aten!(|c| overloaded(c, "bitwise_and.Tensor", "bitwise_and.Scalar", NumberFirst::Swapped)),
        replay: torch!(|r| r.x()?.f_bitwise_and_tensor(r.y()?)?),
        ..OF_TWO_NUMBERS
    },
    OpDef {
        name: "bitwise_or",
        doc: "The bits that either has.",
        commutative: true,
        infer: |call| integers(call, true),
        kernel: whole!(|_, x, y| x | y),
        aten: aten!(|c| overloaded(c, "bitwise_or.Tensor", "bitwise_or.Scalar", NumberFirst::Swapped)),
        replay: torch!(|r| r.x()?.f_bitwise_or_tensor(r.y()?)?),
        ..OF_TWO_NUMBERS
    },
    OpDef {
        name: "bitwise_xor",
        doc: "The bits that one of them has.",
        commutative: true,
        infer: |call| integers(call, true),
        kernel: whole!(|_, x, y| x ^ y),
        aten: aten!(|c| overloaded(c, "bitwise_xor.Tensor", "bitwise_xor.Scalar", NumberFirst::Swapped)),
        replay: torch!(|r| r.x()?.f_bitwise_xor_tensor(r.y()?)?),
        ..OF_TWO_NUMBERS
    },
    OpDef {
        name: "shift_left",
        doc: "The bits of `x` moved `y` places up; 0 where `y` is negative or all bits leave.",
        infer: |call| integers(call, false),
        kernel: whole!(shifted_left),
        aten: aten!(|c| overloaded(
            c,
            "bitwise_left_shift.Tensor",
            "bitwise_left_shift.Tensor_Scalar",
            NumberFirst::As("bitwise_left_shift.Scalar_Tensor")
        )),
        replay: torch!(|r| r.x()?.f_bitwise_left_shift(r.y()?)?),
        ..OF_TWO_NUMBERS
    },
    OpDef {
        name: "shift_right",
        doc: "The bits of `x` moved `y` places down, the sign kept; by all places where `y` is negative.",
        infer: |call| integers(call, false),
        kernel: whole!(shifted_right),
        bounds: Bounds { range: shifted_down, ..Bounds::UNKNOWN },
        aten: aten!(|c| overloaded(
            c,
            "bitwise_right_shift.Tensor",
            "bitwise_right_shift.Tensor_Scalar",
            NumberFirst::As("bitwise_right_shift.Scalar_Tensor")
        )),
        replay: torch!(|r| r.x()?.f_bitwise_right_shift(r.y()?)?),
        ..OF_TWO_NUMBERS
    },
    OpDef {
        name: "gcd",
        doc: "The largest integer that divides both.",
        infer: |call| integers(call, false),
        kernel: whole!(common_divisor),
        aten: aten!("gcd", self: X, other: Y),
        replay: torch!(|r| r.x()?.f_gcd(r.y()?)?),
        ..OF_TWO_NUMBERS
    },
];
