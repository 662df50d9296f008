//! What the variables of a rule could be.

use crate::ir::{AttrValue, TensorType};

/// What the variables of a rule could be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choice {
    /// By number of the tensor variable.
    pub tensors: Vec<Option<TensorType>>,
    /// By number of the list variable.
    pub lists: Vec<Option<Vec<TensorType>>>,
    /// By number of the attribute variable.
    pub attrs: Vec<Option<AttrValue>>,
}

impl Choice {
    /// The types of all operands.
    pub fn types(&self) -> impl Iterator<Item = &TensorType> {
        self.tensors.iter().flatten().chain(self.lists.iter().flatten().flatten())
    }

    pub(super) fn types_mut(&mut self) -> impl Iterator<Item = &mut TensorType> {
        self.tensors.iter_mut().flatten().chain(self.lists.iter_mut().flatten().flatten())
    }
}
