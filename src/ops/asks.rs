//! The facet `asks` of an operator's entry: what values of its operands make sense.

/// What an operator asks of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Positions below this.
    Below(usize),
    /// A table of which rows are picked.
    Table,
    /// Positive numbers: of others the result is NaN.
    Positive,
    /// A matrix of a product, behind this many batch dimensions.
    Weight { batch: usize },
}
