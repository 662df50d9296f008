//! The expressions of a loop, at each step and as a whole.

use smallvec::SmallVec;

use super::super::arena::TermId;

pub(super) type Operands = SmallVec<[TermId; 4]>;

/// The value of one expression at every step.
#[derive(Clone, Copy)]
pub(super) enum AtSteps {
    /// The same at each.
    Same(TermId),
    /// The values one after the other along a dimension that this tensor has beside those of one value.
    Along(TermId, usize),
}

impl AtSteps {
    /// The tensor with the values.
    pub(super) fn term(self) -> TermId {
        match self {
            AtSteps::Same(term) | AtSteps::Along(term, _) => term,
        }
    }
}

/// An expression of a loop.
pub(super) struct Expression {
    /// Its values, one for each step.
    pub values: Operands,
    /// What it reads: all values of each operand, and as a whole.
    pub read: Vec<(Operands, AtSteps)>,
    pub whole: AtSteps,
}
