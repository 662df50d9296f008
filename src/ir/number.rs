//! Exact numbers: elements of tensors, literals, attributes.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Add, Mul, Neg, Sub};

use serde::{Serialize, Serializer};

/// A double that is compared bit by bit: -0.0 is not 0.0. All NaN are one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Float(pub f64);

impl Float {
    fn bits(self) -> u64 {
        if self.0.is_nan() { f64::NAN.to_bits() } else { self.0.to_bits() }
    }
}

impl PartialEq for Float {
    fn eq(&self, other: &Self) -> bool {
        self.bits() == other.bits()
    }
}

impl Eq for Float {}

impl Hash for Float {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bits().hash(state);
    }
}

impl Ord for Float {
    fn cmp(&self, other: &Self) -> Ordering {
        if self == other { Ordering::Equal } else { self.0.total_cmp(&other.0) }
    }
}

impl PartialOrd for Float {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<f64> for Float {
    fn from(value: f64) -> Self {
        Float(value)
    }
}

impl fmt::Display for Float {
    /// A decimal point or an exponent is always there, so that a float never reads back as an integer.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            v if v.is_nan() => f.write_str("nan"),
            f64::INFINITY => f.write_str("inf"),
            f64::NEG_INFINITY => f.write_str("-inf"),
            v => write!(f, "{v:?}"),
        }
    }
}

/// An exact number. Integers and bools (0 and 1) of every width are [`Int`](Number::Int), floats of every width are
/// [`Float`](Number::Float). Two are equal if they are the same bits of the same kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Number {
    /// A whole number or a truth value.
    Int(i64),
    /// A real number, infinities and NaN included.
    Float(Float),
}

impl Number {
    /// Zero, as a whole number.
    pub const ZERO: Number = Number::Int(0);

    /// A real number.
    pub const fn float(value: f64) -> Self {
        Number::Float(Float(value))
    }

    /// The nearest double.
    pub fn to_f64(self) -> f64 {
        match self {
            Number::Int(v) => v as f64,
            Number::Float(v) => v.0,
        }
    }

    /// The number as an integer, if it is a whole one that fits.
    pub fn to_i64(self) -> Option<i64> {
        match self {
            Number::Int(v) => Some(v),
            // 2^63 itself is the first that does not fit.
            Number::Float(Float(v)) if v.fract() == 0.0 && (-TWO_63..TWO_63).contains(&v) => Some(v as i64),
            Number::Float(_) => None,
        }
    }

    /// Whether it counts as true: everything but zeros, NaN too.
    pub fn is_true(self) -> bool {
        match self {
            Number::Int(v) => v != 0,
            Number::Float(v) => v.0 != 0.0,
        }
    }

    /// Whether it is NaN.
    pub fn is_nan(self) -> bool {
        matches!(self, Number::Float(v) if v.0.is_nan())
    }

    /// Whether it is neither NaN nor infinite.
    pub fn is_finite(self) -> bool {
        match self {
            Number::Int(_) => true,
            Number::Float(v) => v.0.is_finite(),
        }
    }

    /// How two numbers of one kind compare: zeros of both signs are equal, NaN compares to nothing.
    pub fn compare(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Number::Int(x), Number::Int(y)) => Some(x.cmp(&y)),
            _ => self.to_f64().partial_cmp(&other.to_f64()),
        }
    }

    /// Whether it is larger; false where either is NaN.
    pub fn is_above(self, other: Self) -> bool {
        self.compare(other) == Some(Ordering::Greater)
    }

    /// The absolute value; that of the smallest integer is itself.
    pub fn abs(self) -> Self {
        match self {
            Number::Int(v) => Number::Int(v.wrapping_abs()),
            Number::Float(v) => Number::float(v.0.abs()),
        }
    }

    /// The larger number; NaN if either is one, as in PyTorch.
    pub fn max(self, other: Self) -> Self {
        if self.is_nan() || self.is_above(other) { self } else { other }
    }

    /// The smaller number; NaN if either is one, as in PyTorch.
    pub fn min(self, other: Self) -> Self {
        if self.is_nan() || other.is_above(self) { self } else { other }
    }

    fn combine(self, other: Self, ints: fn(i64, i64) -> i64, floats: fn(f64, f64) -> f64) -> Self {
        match (self, other) {
            (Number::Int(x), Number::Int(y)) => Number::Int(ints(x, y)),
            _ => Number::float(floats(self.to_f64(), other.to_f64())),
        }
    }
}

/// The first double beyond the range of `i64`.
pub(super) const TWO_63: f64 = 9_223_372_036_854_775_808.0;

/// Integers wrap around in 64 bits; a narrower type keeps the low bits of the result.
impl Add for Number {
    type Output = Number;

    fn add(self, other: Number) -> Number {
        self.combine(other, i64::wrapping_add, |x, y| x + y)
    }
}

impl Sub for Number {
    type Output = Number;

    fn sub(self, other: Number) -> Number {
        self.combine(other, i64::wrapping_sub, |x, y| x - y)
    }
}

impl Mul for Number {
    type Output = Number;

    fn mul(self, other: Number) -> Number {
        self.combine(other, i64::wrapping_mul, |x, y| x * y)
    }
}

impl Neg for Number {
    type Output = Number;

    fn neg(self) -> Number {
        match self {
            Number::Int(v) => Number::Int(v.wrapping_neg()),
            Number::Float(v) => Number::float(-v.0),
        }
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        Number::float(value)
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Number::Int(value)
    }
}

impl From<bool> for Number {
    fn from(value: bool) -> Self {
        Number::Int(i64::from(value))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Int(v) => v.fmt(f),
            Number::Float(v) => v.fmt(f),
        }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Number::Int(v) => serializer.serialize_i64(*v),
            Number::Float(v) => serializer.serialize_f64(v.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_means_the_same_bits() {
        assert_ne!(Number::float(0.0), Number::float(-0.0));
        assert_eq!(Number::float(f64::NAN), Number::float(-f64::NAN));
        assert_ne!(Number::Int(1), Number::float(1.0));
        assert_ne!(Number::Int((1 << 53) + 1), Number::Int(1 << 53));
    }

    #[test]
    fn integers_wrap_around() {
        assert_eq!(Number::Int(i64::MAX) + Number::Int(1), Number::Int(i64::MIN));
        assert_eq!(Number::Int(i64::MIN).abs(), Number::Int(i64::MIN));
        assert_eq!(-Number::Int(i64::MIN), Number::Int(i64::MIN));
        assert_eq!(Number::Int(1 << 62) * Number::Int(4), Number::Int(0));
    }

    #[test]
    fn only_whole_floats_in_range_are_integers() {
        assert_eq!(Number::float(-TWO_63).to_i64(), Some(i64::MIN));
        assert_eq!(Number::float(TWO_63).to_i64(), None);
        assert_eq!(Number::float(0.5).to_i64(), None);
        assert_eq!(Number::float(f64::NAN).to_i64(), None);
    }
}
