//! What a run answers.

/// What a run answers, as its exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Proven equivalent, or done.
    Yes,
    /// Not proven, or more waste than allowed.
    No,
}
