//! The file format. Terms, values and rules are written once and referred to by number.

use serde::{Deserialize, Serialize};

use super::error::CertificateError;
use crate::ir::{AttrValue, DType, TensorType};
use crate::rules::Tier;

/// Name and version of the format.
pub const FORMAT: &str = "magneton-ir/proof/1";

/// A proof as a file holds it. Nothing in it is trusted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// Always [`FORMAT`].
    pub format: String,
    /// The version of the program that wrote it.
    pub tool: String,
    pub rules: Rules,
    pub claim: Claim,
    pub binding: Binding,
    /// Attribute values.
    pub values: Vec<Value>,
    pub heads: Vec<Head>,
    /// Each a head and operands; operands are earlier terms.
    pub terms: Vec<Vec<u32>>,
    pub steps: Vec<Step>,
    /// Pairs of values that the steps make equal, where regions end: node and slot in A, node and slot in B.
    pub cuts: Vec<[u32; 4]>,
}

/// The rules that the steps use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// Of the whole rule set, in hexadecimal.
    pub fingerprint: String,
    pub used: Vec<RuleName>,
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

/// What the file says that it proves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    pub verdict: Verdict,
    /// As reports write it; only for `equivalent`.
    pub tier: Option<String>,
}

impl Claim {
    pub fn equivalent(tier: Tier) -> Claim {
        Claim { verdict: Verdict::Equivalent, tier: Some(tier.to_string()) }
    }

    pub fn different() -> Claim {
        Claim { verdict: Verdict::Different, tier: None }
    }

    pub fn unknown() -> Claim {
        Claim { verdict: Verdict::Unknown, tier: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Equivalent,
    Different,
    Unknown,
}

/// Which inputs are the same tensor: inputs of one number are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Binding {
    pub types: Vec<Type>,
    /// Name and number of every input of A, in order.
    pub a: Vec<(String, u32)>,
    pub b: Vec<(String, u32)>,
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
}

impl Certificate {
    /// The text of a file.
    pub fn to_json(&self) -> String {
        // The types above have no maps with keys other than text, so writing cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// Text that is no proof file, or one of another version.
    pub fn from_json(text: &str) -> Result<Certificate, CertificateError> {
        /// What files of every version have.
        #[derive(Deserialize)]
        struct Version {
            format: String,
        }
        let version: Version = serde_json::from_str(text).map_err(|e| CertificateError::NoProof(e.to_string()))?;
        if version.format != FORMAT {
            return Err(CertificateError::Version(version.format));
        }
        serde_json::from_str(text).map_err(|e| CertificateError::NoProof(e.to_string()))
    }
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
