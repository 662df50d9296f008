//! What a page shows on demand: both graphs operator by operator, and the proofs of regions.

use std::sync::Arc;

use super::{Explanation, Operator};

/// Both graphs, and one explanation for every region that repeats no other.
#[derive(Clone, Debug, PartialEq)]
pub struct Details {
    /// Operators of A in the order of the file.
    pub a: Vec<PlacedOperator>,
    /// Operators of the second graph, in order.
    pub b: Vec<PlacedOperator>,
    /// What is said of each region.
    pub explanations: Vec<Explanation>,
}

/// An operator with where it belongs.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedOperator {
    /// The operator.
    pub operator: Operator,
    /// Module path, such as `model.layers.0.mlp`; empty when unknown.
    pub module: Arc<str>,
    /// The region that it is in; none where nothing was proven.
    pub region: Option<usize>,
}
