//! What is known of an element before its operator is evaluated.

use crate::ir::{Number, Shape};

/// What is known of an element before its operator is evaluated.
pub(super) enum Shortcut {
    None,
    Value(Number),
    /// An element of an operand.
    Same(usize, Shape),
}
