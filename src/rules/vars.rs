//! The variables of a rule, and what they stand for.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::ir::AttrValue;

/// Number of a tensor variable.
pub(super) type TensorVar = usize;

/// Number of a list variable.
pub(super) type ListVar = usize;

/// Number of an attribute variable.
pub(super) type AttrVar = usize;

/// Names of the variables of a rule, by number. Names that start with `$` are attribute variables that
/// stand for a written-out value or expression.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vars {
    pub tensors: Vec<Arc<str>>,
    pub lists: Vec<Arc<str>>,
    pub attrs: Vec<Arc<str>>,
}

/// What the variables of a rule stand for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bindings<Id> {
    pub tensors: SmallVec<[Option<Id>; 4]>,
    pub lists: SmallVec<[Option<Vec<Id>>; 1]>,
    pub attrs: SmallVec<[Option<AttrValue>; 4]>,
}

impl<Id> Default for Bindings<Id> {
    fn default() -> Self {
        Bindings { tensors: SmallVec::new(), lists: SmallVec::new(), attrs: SmallVec::new() }
    }
}

impl<Id: Copy> Bindings<Id> {
    /// None of `vars` is bound.
    pub fn empty(vars: &Vars) -> Self {
        Bindings {
            tensors: SmallVec::from_elem(None, vars.tensors.len()),
            lists: SmallVec::from_elem(None, vars.lists.len()),
            attrs: SmallVec::from_elem(None, vars.attrs.len()),
        }
    }

    /// The same bindings with every tensor renamed.
    pub fn map<Other>(&self, mut f: impl FnMut(Id) -> Other) -> Bindings<Other> {
        Bindings {
            tensors: self.tensors.iter().map(|t| t.map(&mut f)).collect(),
            lists: self.lists.iter().map(|l| l.as_ref().map(|l| l.iter().map(|&t| f(t)).collect())).collect(),
            attrs: self.attrs.clone(),
        }
    }
}
