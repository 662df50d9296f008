//! Kinds of causes.

use serde::Serialize;

/// What sets the two sides of a region apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CauseKind {
    /// The sides do the same.
    None,
    /// The same arithmetic in fewer kernels.
    FewerKernels,
    /// Fewer bytes read and written.
    LessTraffic,
    /// Fewer floating-point operations.
    LessArithmetic,
    /// An operator whose kernel is slow because of how an operand lies in memory.
    Layout,
    /// An operator whose kernel takes longer than like kernels for as much work.
    SlowerKernel,
    /// The same operators under other math flags.
    MathMode,
    /// The same work counts: another implementation of the same.
    OtherImplementation,
}
