//! An input that one or both graphs have.

use crate::ir::{Role, TensorType};

/// An input that one or both graphs have.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundInput {
    /// The name in A.
    pub name: String,
    /// What it is to the graph.
    pub role: Role,
    /// Element type and shape.
    pub ty: TensorType,
}
