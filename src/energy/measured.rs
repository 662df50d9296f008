//! A measured figure with its interval.

use serde::{Deserialize, Serialize};

use super::cost::{Figure, Source};

/// A measured quantity and its interval; `[mean, low, high]` in files.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "[f64; 3]", into = "[f64; 3]")]
pub struct Measured {
    /// The mean.
    pub mean: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

impl From<[f64; 3]> for Measured {
    fn from([mean, low, high]: [f64; 3]) -> Self {
        Measured { mean, low, high }
    }
}

impl From<Measured> for [f64; 3] {
    fn from(m: Measured) -> Self {
        [m.mean, m.low, m.high]
    }
}

impl Measured {
    /// As a figure whose source is a measurement.
    pub fn figure(&self) -> Figure {
        Figure::new(self.mean, self.low, self.high, Source::Measured)
    }

    /// How far the interval reaches from the mean, as a fraction of it.
    pub fn half_width(&self) -> f64 {
        (self.high - self.mean).max(self.mean - self.low) / self.mean
    }

    /// The same with each of its three numbers changed alike.
    pub(crate) fn map(&self, f: impl Fn(f64) -> f64) -> Measured {
        Measured { mean: f(self.mean), low: f(self.low), high: f(self.high) }
    }

    /// The same reaching farther, by a fraction of the mean.
    pub(crate) fn wider(&self, by: f64) -> Measured {
        let more = self.mean * by;
        Measured { mean: self.mean, low: (self.low - more).max(0.0), high: self.high + more }
    }

    pub(super) fn is_sane(&self) -> bool {
        let ordered = self.low <= self.mean && self.mean <= self.high;
        ordered && self.low >= 0.0 && self.mean > 0.0 && self.high <= MOST
    }

    /// Whether a GPU can draw as many watts.
    pub(super) fn is_power(&self) -> bool {
        self.high <= MOST_WATTS
    }
}

/// No execution takes more than this many millijoules or microseconds: a gigajoule, eleven days.
pub(super) const MOST: f64 = 1e12;

/// No GPU draws more.
pub(super) const MOST_WATTS: f64 = 1e5;
