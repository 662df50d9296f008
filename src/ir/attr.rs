//! Attribute values: the compile-time arguments of an operator.

use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

use super::{DType, Float, Number, Shape};

/// A list of integers in an attribute: dims, sizes, permutations.
pub type Ints = SmallVec<[i64; 4]>;

/// The value of one attribute.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AttrValue {
    /// An optional attribute that is not given.
    None,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A real number, infinities and NaN included.
    Float(Float),
    /// A text, such as the name of a mode.
    Str(Arc<str>),
    /// An element type.
    DType(DType),
    /// Whole numbers, such as dimensions.
    Ints(Ints),
}

/// The attributes of one operator, in the order in which its definition lists them.
pub type Attrs = SmallVec<[AttrValue; 2]>;

impl AttrValue {
    /// A real number.
    pub fn float(value: f64) -> Self {
        AttrValue::Float(Float(value))
    }

    /// A text.
    pub fn str(value: &str) -> Self {
        AttrValue::Str(value.into())
    }

    /// The sizes of a shape.
    pub fn shape(shape: &[usize]) -> Self {
        AttrValue::Ints(shape.iter().map(|&d| d as i64).collect())
    }

    /// The whole number, if it is one.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            AttrValue::Int(v) => Some(*v),
            _ => None,
        }
    }

    /// A float, or an integer taken as one.
    pub fn as_float(&self) -> Option<f64> {
        match self {
            AttrValue::Float(v) => Some(v.0),
            AttrValue::Int(v) => Some(*v as f64),
            _ => None,
        }
    }

    /// The number, whole or real.
    pub fn as_number(&self) -> Option<Number> {
        match self {
            AttrValue::Float(v) => Some(Number::Float(*v)),
            AttrValue::Int(v) => Some(Number::Int(*v)),
            _ => None,
        }
    }

    /// Whether this is the same value: an integer and a float if they are the same number, two floats if they are the same
    /// bits.
    pub fn is_same(&self, other: &AttrValue) -> bool {
        match (self, other) {
            // -0.0 is no integer.
            (AttrValue::Int(int), AttrValue::Float(float)) | (AttrValue::Float(float), AttrValue::Int(int)) => {
                Number::Float(*float).to_i64() == Some(*int) && *float != Float(-0.0)
            }
            _ => self == other,
        }
    }

    /// The truth value, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            AttrValue::Bool(v) => Some(*v),
            _ => None,
        }
    }

    /// The element type, if it is one.
    pub fn as_dtype(&self) -> Option<DType> {
        match self {
            AttrValue::DType(v) => Some(*v),
            _ => None,
        }
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            AttrValue::Str(v) => Some(v),
            _ => None,
        }
    }

    /// The whole numbers, if it is a list of them.
    pub fn as_ints(&self) -> Option<&[i64]> {
        match self {
            AttrValue::Ints(v) => Some(v),
            _ => None,
        }
    }

    /// A list of non-negative integers as sizes.
    pub fn as_shape(&self) -> Option<Shape> {
        self.as_ints()?.iter().map(|&d| usize::try_from(d).ok()).collect()
    }
}

impl From<Number> for AttrValue {
    fn from(value: Number) -> Self {
        match value {
            Number::Int(v) => AttrValue::Int(v),
            Number::Float(v) => AttrValue::Float(v),
        }
    }
}

impl fmt::Display for AttrValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttrValue::None => f.write_str("none"),
            AttrValue::Bool(v) => write!(f, "{v}"),
            AttrValue::Int(v) => write!(f, "{v}"),
            AttrValue::Float(v) => write!(f, "{v}"),
            AttrValue::Str(v) => write!(f, "{v:?}"),
            AttrValue::DType(v) => write!(f, "{v}"),
            AttrValue::Ints(v) => {
                f.write_str("[")?;
                for (i, d) in v.iter().enumerate() {
                    write!(f, "{}{d}", if i == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
        }
    }
}
