//! What evaluating an attribute expression gives.

use crate::ir::AttrValue;

/// Why an expression has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undecided {
    /// It needs the value of a tensor that is not known.
    Unknown,
    /// It makes no sense here.
    Invalid,
}

/// The value of an expression.
pub(crate) type Evaluated = Result<AttrValue, Undecided>;

/// Position `index`, which may count from the end, in a list of `len` entries.
pub(crate) fn position(index: i64, len: usize) -> Option<usize> {
    let len = i64::try_from(len).ok()?;
    let index = if index < 0 { index.checked_add(len)? } else { index };
    (0..len).contains(&index).then_some(index as usize)
}
