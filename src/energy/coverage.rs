//! How wide intervals are.

/// The share of figures that an interval is made to contain.
pub(crate) const COVERAGE: f64 = 0.9;

/// Standard deviations from the middle of a normal distribution to the ends of the interval that holds [`COVERAGE`] of it.
pub(super) const COVERAGE_SD: f64 = 1.645;
