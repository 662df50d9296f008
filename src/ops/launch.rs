//! The facet `launch` of an operator's entry: how libtorch folds dimensions before it launches a kernel.

/// What libtorch makes of a call: calls of which it makes the same run the same kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launch {
    /// Dimensions stay as they are.
    AsStated,
    /// Neighbouring dimensions are one if every operand runs through them in one go, in the order in which the largest operand lies
    /// in memory.
    Elementwise,
    /// The same in the order of the dimensions.
    ElementwiseInOrder,
    /// A product of matrices: the dimensions before the last of operand 0 are one where the other operand is a matrix.
    Product,
    /// The dimensions of operand 0 before those that a norm is over are rows.
    Rows,
    /// The positions that operand 1 holds are one list.
    Positions,
    /// A copy into dense memory.
    Copy,
    /// The same with each entry along the attribute `dim`, or dimension 1 where there is none, as often as this attribute says.
    RepeatedCopy(&'static str),
}
