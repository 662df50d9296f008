//! What is compared, and what is known of it.

use super::super::bind::{Binding, HeldWeights};
use crate::ir::{Graph, NodeId};

/// What is compared, and what is known of it.
pub(crate) struct Question<'a> {
    pub graphs: [&'a Graph; 2],
    pub binding: &'a Binding,
    /// Chooses the inputs.
    pub seed: u64,
    /// Elements computed per side at most.
    pub effort: usize,
    /// Operators of either side that are in no proven region, in topological order.
    pub unproven: [&'a [NodeId]; 2],
}

impl Question<'_> {
    /// What weights hold, if they may hold nothing else.
    pub(super) fn held(&self) -> Option<&HeldWeights> {
        self.binding.held.as_ref()
    }
}
