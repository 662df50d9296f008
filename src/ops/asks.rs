//! The facet `asks` of an operator's entry: what values of its operands make sense.

/// What an operator asks of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Positions below this.
    Below(usize),
    /// In ascending order, where each of the parts ends that so many rows fall into.
    Ends(usize),
    /// In ascending order from 0 on, where each of the parts starts that so many rows fall into.
    Starts(usize),
    /// A table of which rows are picked.
    Table,
    /// Positive numbers: of others the result is NaN.
    Positive,
    /// A matrix of a product, behind this many batch dimensions.
    Weight { batch: usize },
}
