//! What names stand for.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::ast::Use;
use crate::ir::Value;

/// What a name stands for.
#[derive(Clone, Debug)]
pub(super) enum ScopeValue {
    Tensor(Value),
    Foreign(Rc<Foreign>),
}

/// A value whose type the IR lacks, such as one with complex elements: what computes it, as text, and the tensors it is
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
