//! Element types and how a real number is rounded to them.

use std::fmt;
use std::str::FromStr;

use half::{bf16, f16};
use serde::{Deserialize, Serialize};

use super::Number;
use super::number::TWO_63;

/// The element type of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DType {
    /// IEEE binary64.
    F64,
    /// IEEE binary32.
    F32,
    /// IEEE binary16.
    F16,
    /// The upper half of binary32.
    BF16,
    /// 8-bit float, 4 exponent bits, without infinities (`float8_e4m3fn` of PyTorch).
    F8E4M3,
    /// 8-bit float, 5 exponent bits, with infinities (`float8_e5m2` of PyTorch).
    F8E5M2,
    /// Signed, 64 bits.
    I64,
    /// Signed, 32 bits.
    I32,
    /// Signed, 16 bits.
    I16,
    /// Signed, 8 bits.
    I8,
    /// Numbers from 2^63 on have no value here: what would give one has none.
    U64,
    /// Unsigned, 32 bits.
    U32,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 8 bits.
    U8,
    /// Truth values.
    Bool,
}

impl DType {
    /// Every element type, widest first within its kind.
    pub const ALL: [DType; 15] = [
        DType::F64,
        DType::F32,
        DType::F16,
        DType::BF16,
        DType::F8E4M3,
        DType::F8E5M2,
        DType::I64,
        DType::I32,
        DType::I16,
        DType::I8,
        DType::U64,
        DType::U32,
        DType::U16,
        DType::U8,
        DType::Bool,
    ];

    /// The spelling used in `.mir` files, rules and reports.
    pub const fn name(self) -> &'static str {
        match self {
            DType::F64 => "f64",
            DType::F32 => "f32",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::F8E4M3 => "f8e4m3",
            DType::F8E5M2 => "f8e5m2",
            DType::I64 => "i64",
            DType::I32 => "i32",
            DType::I16 => "i16",
            DType::I8 => "i8",
            DType::U64 => "u64",
            DType::U32 => "u32",
            DType::U16 => "u16",
            DType::U8 => "u8",
            DType::Bool => "bool",
        }
    }

    /// Size of one element in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            DType::F64 | DType::I64 | DType::U64 => 8,
            DType::F32 | DType::I32 | DType::U32 => 4,
            DType::F16 | DType::BF16 | DType::I16 | DType::U16 => 2,
            DType::F8E4M3 | DType::F8E5M2 | DType::I8 | DType::U8 | DType::Bool => 1,
        }
    }

    /// Whether elements are real numbers.
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F64 | DType::F32 | DType::F16 | DType::BF16 | DType::F8E4M3 | DType::F8E5M2)
    }

    /// Whether elements are whole numbers; truth values are none.
    pub const fn is_int(self) -> bool {
        matches!(self, DType::I64 | DType::I32 | DType::I16 | DType::I8) || self.is_unsigned()
    }

    /// Whether this is an integer type without negative numbers.
    pub const fn is_unsigned(self) -> bool {
        matches!(self, DType::U64 | DType::U32 | DType::U16 | DType::U8)
    }

    /// The type in which PyTorch adds up elements of this type: 64 bits for integers and bools.
    pub fn accumulator(self) -> DType {
        if self.is_float() { self } else { DType::I64 }
    }

    /// Largest finite value, for float types.
    pub fn max_finite(self) -> Option<f64> {
        match self {
            DType::F64 => Some(f64::MAX),
            DType::F32 => Some(f64::from(f32::MAX)),
            DType::F16 => Some(f64::from(f16::MAX)),
            DType::BF16 => Some(f64::from(bf16::MAX)),
            DType::F8E4M3 => Some(448.0),
            DType::F8E5M2 => Some(57344.0),
            _ => None,
        }
    }

    /// Distance between 1.0 and the next larger value, for float types.
    pub fn epsilon(self) -> Option<f64> {
        match self {
            DType::F64 => Some(f64::EPSILON),
            DType::F32 => Some(f64::from(f32::EPSILON)),
            DType::F16 => Some(f64::from(f16::EPSILON)),
            DType::BF16 => Some(f64::from(bf16::EPSILON)),
            DType::F8E4M3 => Some(0.125),
            DType::F8E5M2 => Some(0.25),
            _ => None,
        }
    }

    /// Whether every value of `self` is exactly a value of `wider`.
    pub fn widens_to(self, wider: DType) -> bool {
        use DType::*;
        self == wider
            || self == Bool
            || matches!(
                (self, wider),
                (F32 | F16 | BF16 | F8E4M3 | F8E5M2, F64)
                    | (F16 | BF16 | F8E4M3 | F8E5M2, F32)
                    | (F8E4M3 | F8E5M2, F16 | BF16)
                    | (U8 | I8, I16 | I32 | I64)
                    | (I16, I32 | I64)
                    | (I32, I64)
                    | (U8 | I8, F16 | BF16 | F32 | F64)
                    | (I16, F32 | F64)
                    | (I32, F64)
                    | (U8, U16 | U32 | U64)
                    | (U16, U32 | U64 | I32 | I64 | F32 | F64)
                    | (U32, U64 | I64 | F64)
            )
    }

    /// The largest absolute value: for integer types that of their least number.
    pub fn magnitude(self) -> f64 {
        match self {
            DType::I64 => 2.0_f64.powi(63),
            DType::I32 => 2.0_f64.powi(31),
            DType::I16 => 2.0_f64.powi(15),
            DType::I8 => 2.0_f64.powi(7),
            DType::U64 => 2.0_f64.powi(64),
            DType::U32 => f64::from(u32::MAX),
            DType::U16 => f64::from(u16::MAX),
            DType::U8 => 255.0,
            DType::Bool => 1.0,
            _ => self.max_finite().unwrap_or(f64::MAX),
        }
    }

    /// Whether no finite value of `self` is beyond the range of `to`. The ranges of f32 and bf16 count as one: they have
    /// the same exponents.
    pub fn within_range_of(self, to: DType) -> bool {
        use DType::*;
        match (self, to) {
            (F32, BF16) => true,
            // Integer types are not closed under change of sign: what counts is each end.
            (_, I64 | I32 | I16 | I8 | U64 | U32 | U16 | U8 | Bool) => self.widens_to(to),
            _ => self.magnitude() <= to.magnitude(),
        }
    }

    /// Whether a finite number is within the range of this type: stored in it, it stays finite and does not wrap.
    pub fn contains(self, value: f64) -> bool {
        match self {
            DType::I64 => (-self.magnitude()..self.magnitude()).contains(&value),
            DType::I32 | DType::I16 | DType::I8 => {
                (-self.magnitude()..=self.magnitude() - 1.0).contains(&value.trunc())
            }
            DType::U64 => (0.0..TWO_63).contains(&value.trunc()),
            DType::U32 | DType::U16 | DType::U8 => (0.0..=self.magnitude()).contains(&value.trunc()),
            DType::Bool => value == 0.0 || value == 1.0,
            _ => self.round(value).is_finite(),
        }
    }

    /// `value` rounded to this float type, to nearest even: beyond the range infinity, or NaN where the type has no
    /// infinity. PyTorch rounds to f32 on the way to the narrow types. Integer types leave `value` as it is.
    pub fn round(self, value: f64) -> f64 {
        match self {
            DType::F32 => f64::from(value as f32),
            DType::F16 => f64::from(f16::from_f32(value as f32)),
            DType::BF16 => f64::from(bf16::from_f32(value as f32)),
            DType::F8E4M3 => {
                round_f8(value as f32, Format { mantissa: 3, min_exponent: -6, max: 448.0, beyond: f64::NAN })
            }
            DType::F8E5M2 => {
                round_f8(value as f32, Format { mantissa: 2, min_exponent: -14, max: 57344.0, beyond: f64::INFINITY })
            }
            _ => value,
        }
    }

    /// What a tensor of this type gives back for `value`: floats are rounded, integers keep their low bits, bools are
    /// whether it is not 0. `None` for a float without a counterpart in an integer type: C++ leaves open what that
    /// becomes. (PyTorch goes by way of i64 to u8.)
    pub fn store(self, value: Number) -> Option<Number> {
        Some(match (self, value) {
            (DType::Bool, _) => Number::from(value.is_true()),
            (d, Number::Float(v)) if d.is_float() => Number::float(d.round(v.0)),
            // One rounding for f32, not two.
            (DType::F32, Number::Int(v)) => Number::float(f64::from(v as f32)),
            (DType::F64, Number::Int(v)) => Number::float(v as f64),
            (d, Number::Int(v)) if d.is_float() => Number::float(d.round(f64::from(v as f32))),
            (DType::U64, Number::Int(v)) if v < 0 => return None,
            (d, Number::Int(v)) => Number::Int(d.wrap(v)),
            (d, Number::Float(v)) => {
                let whole = v.0.trunc();
                let within = (-TWO_63..TWO_63).contains(&whole);
                let int = within.then_some(whole as i64)?;
                if (d.wrap(int) != int && d != DType::U8) || (d == DType::U64 && int < 0) {
                    return None;
                }
                Number::Int(d.wrap(int))
            }
        })
    }

    /// The low bits of `value` that this integer type keeps.
    pub fn wrap(self, value: i64) -> i64 {
        match self {
            DType::I32 => i64::from(value as i32),
            DType::I16 => i64::from(value as i16),
            DType::I8 => i64::from(value as i8),
            DType::U32 => i64::from(value as u32),
            DType::U16 => i64::from(value as u16),
            DType::U8 => i64::from(value as u8),
            DType::Bool => i64::from(value != 0),
            _ => value,
        }
    }

    /// `value`, which stands for an element of this type somewhere, as the kind of number that the type has. Whole
    /// floats become integers for integer types, integers become floats for float types; `None` where that would change
    /// the value, or where the type has no such value.
    pub fn number(self, value: Number) -> Option<Number> {
        match value {
            Number::Int(v) if self.is_float() => Some(Number::float(v as f64)),
            Number::Float(_) if self.is_float() => Some(value),
            _ => value.to_i64().filter(|&v| self.wrap(v) == v && (v >= 0 || self != DType::U64)).map(Number::Int),
        }
    }

    /// What a tensor of this type gives back for a number that is made of doubles, such as a sample.
    pub fn element(self, value: f64) -> Number {
        self.store(Number::float(value)).unwrap_or(Number::ZERO)
    }

    /// Smallest and largest value that this tool knows, for integer types and bool.
    pub fn int_range(self) -> Option<(i64, i64)> {
        match self {
            DType::I64 => Some((i64::MIN, i64::MAX)),
            DType::I32 => Some((i64::from(i32::MIN), i64::from(i32::MAX))),
            DType::I16 => Some((i64::from(i16::MIN), i64::from(i16::MAX))),
            DType::I8 => Some((i64::from(i8::MIN), i64::from(i8::MAX))),
            DType::U64 => Some((0, i64::MAX)),
            DType::U32 => Some((0, i64::from(u32::MAX))),
            DType::U16 => Some((0, i64::from(u16::MAX))),
            DType::U8 => Some((0, 255)),
            DType::Bool => Some((0, 1)),
            _ => None,
        }
    }
}

/// A float type that no crate here rounds to.
struct Format {
    /// Bits of the mantissa, the leading one left out.
    mantissa: i32,
    /// Exponent of the smallest normal number.
    min_exponent: i32,
    /// Largest finite value.
    max: f64,
    /// What positive values become that round to more than `max`.
    beyond: f64,
}

fn round_f8(value: f32, format: Format) -> f64 {
    let value = f64::from(value);
    if value == 0.0 || value.is_nan() {
        return value;
    }
    // Every f32 other than 0 is a normal f64, so its exponent stands in its bits.
    let exponent = ((value.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(format.min_exponent);
    let step = 2.0_f64.powi(exponent - format.mantissa);
    let rounded = (value / step).round_ties_even() * step;
    if rounded.abs() <= format.max { rounded } else { format.beyond.copysign(value) }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word that names no element type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an element type")]
pub struct UnknownDType(pub String);

impl FromStr for DType {
    type Err = UnknownDType;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        DType::ALL.into_iter().find(|d| d.name() == s).ok_or_else(|| UnknownDType(s.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back() {
        for dtype in DType::ALL {
            assert_eq!(dtype.name().parse(), Ok(dtype));
        }
    }

    #[test]
    fn rounding_follows_the_type() {
        assert_eq!(DType::F32.round(0.1), f64::from(0.1_f32));
        assert_eq!(DType::BF16.round(1.0 + 1.0 / 512.0), 1.0);
        assert_eq!(DType::F16.round(1e6), f64::INFINITY);
    }

    #[test]
    fn integers_keep_their_low_bits_and_floats_must_fit() {
        let int = |dtype: DType, v: i64| dtype.store(Number::Int(v));
        let float = |dtype: DType, v: f64| dtype.store(Number::float(v));
        assert_eq!(int(DType::I8, 130), Some(Number::Int(-126)));
        assert_eq!(int(DType::I64, (1 << 53) + 1), Some(Number::Int((1 << 53) + 1)));
        assert_eq!(int(DType::F32, (1 << 24) + 1), Some(Number::float(f64::from(1 << 24))));
        assert_eq!(float(DType::I8, -3.9), Some(Number::Int(-3)));
        assert_eq!(float(DType::I8, 130.7), None);
        assert_eq!(float(DType::U8, -1.0), Some(Number::Int(255)));
        assert_eq!(int(DType::U16, -1), Some(Number::Int(65535)));
        assert_eq!(int(DType::U32, 1 << 32), Some(Number::ZERO));
        assert_eq!((int(DType::U64, -1), float(DType::U64, -1.0), float(DType::U16, -1.0)), (None, None, None));
        assert_eq!(float(DType::I64, 9.3e18), None);
        assert_eq!(float(DType::I64, f64::NAN), None);
        assert_eq!(float(DType::Bool, f64::NAN), Some(Number::Int(1)));
        assert_eq!(float(DType::F32, -0.0), Some(Number::float(-0.0)));
    }

    #[test]
    fn ranges_are_those_of_the_types() {
        for (from, to, within) in [
            (DType::F32, DType::BF16, true),
            (DType::F64, DType::F32, false),
            (DType::F32, DType::F16, false),
            (DType::F16, DType::F8E5M2, false),
            (DType::F8E5M2, DType::F16, true),
            (DType::I8, DType::F8E4M3, true),
            (DType::I64, DType::F16, false),
            (DType::U8, DType::I8, false),
            (DType::I8, DType::I32, true),
            (DType::F8E4M3, DType::I8, false),
        ] {
            assert_eq!(from.within_range_of(to), within, "{from} to {to}");
        }
        assert!(DType::F16.contains(65_519.0) && !DType::F16.contains(65_520.0));
        assert!(DType::I8.contains(-128.9) && !DType::I8.contains(128.0) && !DType::U8.contains(-1.0));
    }

    /// What `torch.tensor(x).to(torch.float8_…)` of PyTorch 2.11 gives.
    #[test]
    fn eight_bit_floats_round_as_in_pytorch() {
        for (value, e4m3, e5m2) in [
            (0.1, 0.1015625, 0.09375),
            (-1.1875, -1.25, -1.25),
            (464.0, 448.0, 448.0),
            (465.0, f64::NAN, 448.0),
            (1e-3, 0.001953125, 0.0009765625),
            (9e-4, 0.0, 0.0008544921875),
            (61439.0, f64::NAN, 57344.0),
            (61440.0, f64::NAN, f64::INFINITY),
            (f64::NEG_INFINITY, f64::NAN, f64::NEG_INFINITY),
        ] {
            let same = |x: f64, y: f64| x == y || x.is_nan() && y.is_nan() || (x - y).abs() < 1e-9;
            let found = [DType::F8E4M3.round(value), DType::F8E5M2.round(value)];
            assert!(same(found[0], e4m3) && same(found[1], e5m2), "{value}: {found:?}");
        }
    }
}
