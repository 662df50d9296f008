//! Steps of proofs as files hold them. Terms, values and rules are written once and referred to by number.

use serde::{Deserialize, Serialize};

use super::super::kernel;
use crate::ir::{AttrValue, DType, TensorType};
use crate::rules::Tier;

/// Steps, and what they speak of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// The rules that the steps use.
    pub rules: Vec<RuleName>,
    /// Attribute values.
    pub values: Vec<Value>,
    pub heads: Vec<Head>,
    /// Each a head and operands; operands are earlier terms.
    pub terms: Vec<Vec<u32>>,
    pub steps: Vec<Step>,
}

/// One direction of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleName {
    pub name: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reversed: bool,
    /// Which instance of a rule over several operators, in the order of the rule file.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub instance: u32,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// Element type and shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Type(pub DType, pub Vec<u64>);

/// An attribute value. Floats are text, so that `-inf` and `nan` can be written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Value {
    None,
    Bool(bool),
    Int(i64),
    Float(String),
    Str(String),
    DType(DType),
    Ints(Vec<i64>),
}

/// One of the two graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    A,
    B,
}

/// The root of a term.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Head {
    /// Input of this number.
    Input(u32),
    /// A literal or a random draw of a graph: node and slot.
    Leaf(Side, u32, u32),
    /// An operator of the table. `attrs` are numbers of values.
    Op {
        op: String,
        #[serde(default, skip_serializing_if = "is_zero")]
        slot: u32,
        attrs: Vec<u32>,
    },
    /// An operator outside the table, with names and values of its attributes and the type of its result.
    Custom {
        op: String,
        #[serde(default, skip_serializing_if = "is_zero")]
        slot: u32,
        attrs: Vec<(String, u32)>,
        result: Type,
    },
}

/// How equal elements are whose formulas are the same.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ElementTier {
    Exact,
    Real,
    Rounding,
}

impl ElementTier {
    pub fn of(tier: Tier) -> ElementTier {
        match tier {
            Tier::Exact => ElementTier::Exact,
            Tier::Real => ElementTier::Real,
            Tier::Rounding | Tier::Approx(_) => ElementTier::Rounding,
        }
    }

    pub fn read(self) -> Tier {
        match self {
            ElementTier::Exact => Tier::Exact,
            ElementTier::Real => Tier::Real,
            ElementTier::Rounding => Tier::Rounding,
        }
    }
}

/// One step: two terms are equal, and why. All numbers are those of terms, rules and values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// The two sides of a rule under bindings, in the order in which the rule first names its variables.
    Rule {
        rule: u32,
        before: u32,
        after: u32,
        tensors: Vec<Option<u32>>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        lists: Vec<Option<Vec<u32>>>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attrs: Vec<Option<u32>>,
    },
    /// One output of a `split` is a `slice`.
    SplitSlice { before: u32, after: u32 },
    /// Places are taken of the operands of an operator in place of its result.
    PushedDown { before: u32, after: u32 },
    /// Two constants are apart by rounding.
    Near { before: u32, after: u32 },
    /// All elements are the same formulas over elements of other terms.
    Elements { before: u32, after: u32, leaves: Vec<u32>, tier: ElementTier },
}

impl From<&TensorType> for Type {
    fn from(ty: &TensorType) -> Self {
        Type(ty.dtype, ty.shape.iter().map(|&d| d as u64).collect())
    }
}

impl Type {
    /// The type, if it is one that the program handles.
    pub fn read(&self) -> Option<TensorType> {
        let shape = self.1.iter().map(|&d| usize::try_from(d).ok()).collect::<Option<crate::ir::Shape>>()?;
        TensorType::new(self.0, shape).ok()
    }
}

impl From<&AttrValue> for Value {
    fn from(value: &AttrValue) -> Self {
        match value {
            AttrValue::None => Value::None,
            AttrValue::Bool(v) => Value::Bool(*v),
            AttrValue::Int(v) => Value::Int(*v),
            AttrValue::Float(_) => Value::Float(value.to_string()),
            AttrValue::Str(v) => Value::Str(v.to_string()),
            AttrValue::DType(v) => Value::DType(*v),
            AttrValue::Ints(v) => Value::Ints(v.to_vec()),
        }
    }
}

impl Value {
    /// The value, if its text is one.
    pub fn read(&self) -> Option<AttrValue> {
        Some(match self {
            Value::None => AttrValue::None,
            Value::Bool(v) => AttrValue::Bool(*v),
            Value::Int(v) => AttrValue::Int(*v),
            Value::Float(v) => AttrValue::float(v.parse().ok()?),
            Value::Str(v) => AttrValue::str(v),
            Value::DType(v) => AttrValue::DType(*v),
            Value::Ints(v) => AttrValue::Ints(v.iter().copied().collect()),
        })
    }
}

impl From<kernel::Side> for Side {
    fn from(side: kernel::Side) -> Self {
        match side {
            kernel::Side::A => Side::A,
            kernel::Side::B => Side::B,
        }
    }
}
