//! What is known of a product of tensors.

use crate::ir::Value;

/// A product with all that it takes to make it again in another order. Its dimensions are those of the batches, those that only
/// the first operand has, and those that only the second one has.
#[derive(Clone)]
pub(super) struct Product {
    pub operands: [Value; 2],
    /// Of each operand, dimensions that go together.
    pub batch: [Vec<usize>; 2],
    pub contracted: [Vec<usize>; 2],
    pub free: [Vec<usize>; 2],
}
