//! Which format proof files have.

/// Name and version of the format.
pub(crate) const FORMAT: &str = "magneton-ir/proof/2";
