//! What names stand for.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::ast::Use;
use super::convert::complex::Parts;
use crate::ir::Value;

/// What a name stands for.
#[derive(Clone, Debug)]
pub(super) enum ScopeValue {
    Tensor(Value),
    /// The parts of complex numbers.
    Complex([Value; 2]),
    Foreign(Rc<Foreign>),
}

impl ScopeValue {
    /// The tensors that stand for it; `None` if its type is none of the IR.
    pub(super) fn tensors(&self) -> Option<&[Value]> {
        match self {
            ScopeValue::Tensor(value) => Some(std::slice::from_ref(value)),
            ScopeValue::Complex(parts) => Some(parts),
            ScopeValue::Foreign(_) => None,
        }
    }
}

impl From<Parts> for ScopeValue {
    fn from(parts: Parts) -> Self {
        match parts {
            Parts::Real(value) => ScopeValue::Tensor(value),
            Parts::Complex(parts) => ScopeValue::Complex(parts),
        }
    }
}

/// A value whose type the IR lacks, such as one with quantised elements: what computes it, as text, and the tensors it is
/// computed from. Two of them are the same value if both agree.
#[derive(Debug)]
pub(super) struct Foreign {
    pub text: String,
    pub leaves: Vec<Value>,
}

/// The names of one block, and those of the blocks around it.
#[derive(Default)]
pub(super) struct Scope<'p, 's> {
    names: FxHashMap<Use<'s>, ScopeValue>,
    around: Option<&'p Scope<'p, 's>>,
}

impl<'p, 's> Scope<'p, 's> {
    pub(super) fn inside(around: &'p Scope<'p, 's>) -> Self {
        Scope { names: FxHashMap::default(), around: Some(around) }
    }

    pub(super) fn get(&self, name: Use<'s>) -> Option<&ScopeValue> {
        let mut scope = self;
        loop {
            match (scope.names.get(&name), scope.around) {
                (Some(bound), _) => return Some(bound),
                (None, Some(around)) => scope = around,
                (None, None) => return None,
            }
        }
    }

    /// Lets a name stand for a value; false if it stands for one already.
    pub(super) fn bind(&mut self, name: Use<'s>, bound: ScopeValue) -> bool {
        self.names.insert(name, bound).is_none()
    }
}
