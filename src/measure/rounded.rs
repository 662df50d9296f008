//! The digits that figures are written with.

/// Six significant digits: finer than the meter, and the same wherever it is reckoned.
pub(super) fn rounded(x: f64) -> f64 {
    format!("{x:.5e}").parse().unwrap_or(x)
}
