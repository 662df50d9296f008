//! Element types and how a real number is rounded to them.

use std::fmt;
use std::str::FromStr;

use half::{bf16, f16};
use serde::{Deserialize, Serialize};

/// The element type of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DType {
    F64,
    F32,
    F16,
    BF16,
    /// 8-bit float, 4 exponent bits. Carried through graphs, never evaluated.
    F8E4M3,
    /// 8-bit float, 5 exponent bits. Carried through graphs, never evaluated.
    F8E5M2,
    I64,
    I32,
    I16,
    I8,
    U8,
    Bool,
}

impl DType {
    /// Every element type, widest first within its kind.
    pub const ALL: [DType; 12] = [
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
            DType::U8 => "u8",
            DType::Bool => "bool",
        }
    }

    /// Size of one element in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            DType::F64 | DType::I64 => 8,
            DType::F32 | DType::I32 => 4,
            DType::F16 | DType::BF16 | DType::I16 => 2,
            DType::F8E4M3 | DType::F8E5M2 | DType::I8 | DType::U8 | DType::Bool => 1,
        }
    }

    pub const fn is_float(self) -> bool {
        matches!(self, DType::F64 | DType::F32 | DType::F16 | DType::BF16 | DType::F8E4M3 | DType::F8E5M2)
    }

    pub const fn is_int(self) -> bool {
        matches!(self, DType::I64 | DType::I32 | DType::I16 | DType::I8 | DType::U8)
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
            )
    }

    /// What storing `value` in this type gives back: round to nearest even for floats,
    /// truncation towards zero and wrap-around for integers, `value != 0` for bool.
    pub fn round(self, value: f64) -> f64 {
        match self {
            DType::F64 => value,
            DType::F32 => f64::from(value as f32),
            DType::F16 => f64::from(f16::from_f64(value)),
            DType::BF16 => f64::from(bf16::from_f64(value)),
            DType::F8E4M3 | DType::F8E5M2 => value,
            DType::I64 => value.trunc(),
            DType::I32 => f64::from(value as i64 as i32),
            DType::I16 => f64::from(value as i64 as i16),
            DType::I8 => f64::from(value as i64 as i8),
            DType::U8 => f64::from(value as i64 as u8),
            DType::Bool => f64::from(u8::from(value != 0.0)),
        }
    }
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
        assert_eq!(DType::I8.round(130.7), -126.0);
        assert_eq!(DType::Bool.round(-3.0), 1.0);
        assert_eq!(DType::F16.round(1e6), f64::INFINITY);
    }
}
