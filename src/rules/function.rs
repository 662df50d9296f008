//! What a function of the attribute language is: a name, its arguments, what it computes.

use super::evaluated::{Evaluated, Undecided};
use crate::eval::Constant;
use crate::ir::{AttrValue, TensorType};

/// A function of attribute values.
#[derive(Clone, Copy)]
pub struct Function {
    pub name: &'static str,
    /// What the reference calls the arguments.
    pub arguments: &'static [&'static str],
    pub doc: &'static str,
    pub(super) run: fn(&[AttrValue]) -> Option<AttrValue>,
}

/// A function of a tensor: of its type, or of its value where that is known.
#[derive(Clone, Copy)]
pub struct TensorFunction {
    pub name: &'static str,
    /// What the reference calls the arguments behind the tensor.
    pub arguments: &'static [&'static str],
    pub doc: &'static str,
    pub(super) run: fn(&TensorType, Option<&Constant>, &[AttrValue]) -> Evaluated,
}

macro_rules! identity_by_name {
    ($($ty:ty),*) => {$(
        impl std::fmt::Debug for $ty {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name)
            }
        }

        impl PartialEq for $ty {
            fn eq(&self, other: &Self) -> bool {
                self.name == other.name
            }
        }
    )*};
}

identity_by_name!(Function, TensorFunction);

impl Function {
    /// `None` where the function makes no sense for the arguments.
    pub fn eval(&self, arguments: &[AttrValue]) -> Option<AttrValue> {
        if arguments.len() == self.arguments.len() { (self.run)(arguments) } else { None }
    }
}

impl TensorFunction {
    pub fn eval(&self, ty: &TensorType, constant: Option<&Constant>, rest: &[AttrValue]) -> Evaluated {
        if rest.len() == self.arguments.len() { (self.run)(ty, constant, rest) } else { Err(Undecided::Invalid) }
    }
}
