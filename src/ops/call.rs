//! An operator applied to operands, and what can be wrong with that.

use smallvec::SmallVec;

use super::{AttrKind, Family, OpDef};
use crate::ir::{AttrValue, Attrs, DType, Number, TensorType};

/// An operator applied to operands of known types.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub op: &'static OpDef,
    pub attrs: &'a [AttrValue],
    pub operands: &'a [&'a TensorType],
}

/// Why an operator does not accept its operands or attributes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{op} {reason}")]
pub struct TypeError {
    pub op: &'static str,
    pub reason: String,
}

impl TypeError {
    pub fn new(op: &'static str, reason: impl Into<String>) -> Self {
        TypeError { op, reason: reason.into() }
    }
}

/// Why an element could not be computed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    #[error("`{0}` has no reference semantics")]
    NoSemantics(String),
    #[error("an index is outside of its dimension")]
    IndexOutOfRange,
    #[error("an integer is divided by 0")]
    DivisionByZero,
    #[error("a float has no counterpart in an integer type")]
    Unrepresentable,
    #[error("the order of equal elements is open")]
    OpenOrder,
    #[error("the evaluation budget is used up")]
    Budget,
}

impl<'a> Call<'a> {
    /// Output types, after checking operand count and attribute kinds.
    pub fn infer(&self) -> Result<Types, TypeError> {
        let (least, most) = self.op.operand_count();
        if self.operands.len() < least || self.operands.len() > most {
            return Err(self.error(format!(
                "takes {} operands, {} are given",
                wording(least, most),
                self.operands.len()
            )));
        }
        if self.attrs.len() != self.op.attrs.len() {
            return Err(self.error("has the wrong number of attributes"));
        }
        for (def, value) in self.op.attrs.iter().zip(self.attrs) {
            if !def.accepts(value) {
                return Err(self.error(format!("takes no {value} as `{}`", def.name)));
            }
        }
        (self.op.infer)(self)
    }

    pub fn error(&self, reason: impl Into<String>) -> TypeError {
        TypeError::new(self.op.name, reason)
    }

    fn attr(&self, name: &str) -> &'a AttrValue {
        // Attribute names are literals in the op's own entry; `infer` has checked the count, and a test
        // looks up every name that an entry uses.
        self.op.attr_index(name).map_or(&AttrValue::None, |i| &self.attrs[i])
    }

    /// Attribute `name` as an integer, 0 where it is none.
    pub fn int(&self, name: &str) -> i64 {
        self.attr(name).as_int().unwrap_or(0)
    }

    /// Attribute `name` as a dimension or size that [`Call::infer`] has found to be non-negative.
    pub fn size(&self, name: &str) -> usize {
        usize::try_from(self.int(name)).unwrap_or(0)
    }

    /// Attribute `name` as a number of type `dtype`; `None` where it is no number, or none that the type has.
    pub fn number(&self, name: &str, dtype: DType) -> Option<Number> {
        dtype.number(self.attr(name).as_number()?)
    }

    pub fn float(&self, name: &str) -> f64 {
        self.attr(name).as_float().unwrap_or(f64::NAN)
    }

    pub fn bool(&self, name: &str) -> bool {
        self.attr(name).as_bool().unwrap_or(false)
    }

    pub fn str(&self, name: &str) -> &'a str {
        self.attr(name).as_str().unwrap_or("")
    }

    pub fn ints(&self, name: &str) -> &'a [i64] {
        self.attr(name).as_ints().unwrap_or(&[])
    }

    pub fn dtype(&self, name: &str) -> Option<DType> {
        self.attr(name).as_dtype()
    }

    /// Whether an optional attribute is given.
    pub fn given(&self, name: &str) -> bool {
        *self.attr(name) != AttrValue::None
    }

    /// The size of dimension `dim` of an operand, 1 where it has no such dimension.
    pub fn extent(&self, operand: usize, dim: usize) -> usize {
        self.operands[operand].shape.get(dim).copied().unwrap_or(1)
    }

    /// Output types of a call that has been inferred before; empty if it is ill-typed.
    pub fn types(&self) -> Types {
        (self.op.infer)(self).unwrap_or_default()
    }
}

/// Gives the same call the same attributes however they were written: numbers become of the kind that the operator's element
/// type has, and dimensions that are reduced at once stand in ascending order.
pub fn canonical_attrs(op: &OpDef, attrs: &mut Attrs, operands: &[&TensorType]) {
    if op.family == Family::Reduce {
        for (_, value) in op.attrs.iter().zip(attrs.iter_mut()).filter(|(def, _)| def.kind == AttrKind::Dims) {
            if let AttrValue::Ints(dims) = value {
                dims.sort_unstable();
            }
        }
    }
    let own = op.attr_index("dtype").and_then(|i| attrs.get(i)?.as_dtype());
    let Some(dtype) = own.or_else(|| operands.first().map(|t| t.dtype)) else { return };
    for (def, value) in op.attrs.iter().zip(attrs) {
        if let (AttrKind::Number, Some(number)) = (def.kind, value.as_number())
            && let Some(number) = dtype.accumulator().number(number)
        {
            *value = number.into();
        }
    }
}

fn wording(least: usize, most: usize) -> String {
    match most {
        usize::MAX => format!("at least {least}"),
        _ if least == most => least.to_string(),
        _ => format!("{least} to {most}"),
    }
}

/// Output types, one per slot.
pub type Types = SmallVec<[TensorType; 1]>;
