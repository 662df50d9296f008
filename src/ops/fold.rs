//! The facet `fold` of an operator's entry: what it gives for constants.

/// What short form the value of a call over constants has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// The one that follows from where the elements come from; see [`Elements`](super::Elements).
    FromElements,
    /// All elements are the same, whatever the operands are.
    Filled,
    /// Element number `i` is `start + i step`: these are attributes.
    Range,
    /// Differences of neighbours along the attribute `dim`, `n` times over.
    Differences,
}
