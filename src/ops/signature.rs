//! Signatures of operators: operands and attributes.

use crate::ir::AttrValue;

/// An operand in an operator's signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperandDef {
    pub name: &'static str,
    pub arity: Arity,
}

/// How often an operand may be given. Optional operands stand behind the required ones, a list stands last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    One,
    Optional,
    Many,
}

pub const fn one(name: &'static str) -> OperandDef {
    OperandDef { name, arity: Arity::One }
}

pub const fn optional(name: &'static str) -> OperandDef {
    OperandDef { name, arity: Arity::Optional }
}

pub const fn many(name: &'static str) -> OperandDef {
    OperandDef { name, arity: Arity::Many }
}

/// What kind of value an attribute takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttrKind {
    Bool,
    Int,
    /// A float; an integer literal is taken as one.
    Float,
    /// An integer or a float: whichever the element type is that it stands for.
    Number,
    Str,
    DType,
    Ints,
    /// An index into the dimensions of the first operand. Stored non-negative.
    Dim,
    /// Indices into the dimensions of the first operand. Stored non-negative.
    Dims,
}

/// The value of an attribute that is not given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Default {
    /// The attribute has to be given.
    Required,
    /// Not given stays "none", a value of its own.
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(&'static str),
}

impl Default {
    /// The stored form; `None` if the attribute has to be given.
    pub fn value(self) -> Option<AttrValue> {
        match self {
            Default::Required => None,
            Default::None => Some(AttrValue::None),
            Default::Bool(v) => Some(AttrValue::Bool(v)),
            Default::Int(v) => Some(AttrValue::Int(v)),
            Default::Float(v) => Some(AttrValue::float(v)),
            Default::Str(v) => Some(AttrValue::str(v)),
        }
    }
}

/// An attribute in an operator's signature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttrDef {
    pub name: &'static str,
    pub kind: AttrKind,
    pub default: Default,
}

pub const fn attr(name: &'static str, kind: AttrKind, default: Default) -> AttrDef {
    AttrDef { name, kind, default }
}

impl AttrDef {
    /// Whether the attribute takes this value.
    pub fn accepts(&self, value: &AttrValue) -> bool {
        match (self.kind, value) {
            (_, AttrValue::None) => self.default == Default::None,
            (AttrKind::Bool, AttrValue::Bool(_))
            | (AttrKind::Int, AttrValue::Int(_))
            | (AttrKind::Float, AttrValue::Float(_))
            | (AttrKind::Number, AttrValue::Int(_) | AttrValue::Float(_))
            | (AttrKind::Str, AttrValue::Str(_))
            | (AttrKind::DType, AttrValue::DType(_))
            | (AttrKind::Ints, AttrValue::Ints(_)) => true,
            (AttrKind::Dim, AttrValue::Int(d)) => *d >= 0,
            (AttrKind::Dims, AttrValue::Ints(dims)) => dims.iter().all(|&d| d >= 0),
            _ => false,
        }
    }
}
