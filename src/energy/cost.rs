//! Prices: energy, time and work of an execution.

use serde::Serialize;

/// Where a figure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Read off a meter, on the device and software of the profile.
    Measured,
    /// From the estimator, which always has an answer: see [`BasisShares`] for what it rests on.
    Estimated,
    /// A sum of measured and estimated figures.
    Mixed,
    /// An operator without a definition is in it. The value is the sum over all others: the whole takes at least that.
    Unknown,
}

/// A value with the interval it lies in: `low <= value <= high`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// The best guess.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// Infinite where the figure is unknown; JSON shows that as null.
    pub high: f64,
    /// Where it comes from.
    pub source: Source,
}

impl Figure {
    /// Nothing ran, which is known for certain.
    pub const ZERO: Figure = Figure { value: 0.0, low: 0.0, high: 0.0, source: Source::Measured };
    /// Nothing is known but that it is not negative.
    pub const UNKNOWN: Figure = Figure { value: 0.0, low: 0.0, high: f64::INFINITY, source: Source::Unknown };

    /// A figure whose interval is stretched to contain its value, should it not.
    pub fn new(value: f64, low: f64, high: f64, source: Source) -> Figure {
        Figure { value, low: low.min(value).max(0.0), high: high.max(value), source }
    }

    /// Whether anything is known.
    pub fn is_known(&self) -> bool {
        self.source != Source::Unknown
    }

    /// Whether this is less than `other` beyond doubt: the intervals do not meet.
    pub fn is_below(&self, other: &Figure) -> bool {
        self.high < other.low
    }

    /// The same a number of times.
    pub(super) fn times(&self, factor: f64) -> Figure {
        Figure { value: self.value * factor, low: self.low * factor, high: self.high * factor, source: self.source }
    }

    fn is_zero(&self) -> bool {
        self.high == 0.0
    }
}

impl std::ops::Add for Figure {
    type Output = Figure;

    /// Sums values and interval ends, as if all errors went the same way: [`Bill::total`](super::Bill::total) knows better.
    fn add(self, other: Figure) -> Figure {
        let source = match (self.source, other.source) {
            (Source::Unknown, _) | (_, Source::Unknown) => Source::Unknown,
            // What costs nothing does not change where the rest comes from.
            (_, source) if self.is_zero() => source,
            (source, _) if other.is_zero() => source,
            (a, b) if a == b => a,
            _ => Source::Mixed,
        };
        Figure { value: self.value + other.value, low: self.low + other.low, high: self.high + other.high, source }
    }
}

/// What one execution costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// Energy, in millijoules.
    pub energy_mj: Figure,
    /// Time on the GPU, in microseconds.
    pub time_us: Figure,
    /// Kernels started.
    pub launches: u32,
    /// Arithmetic operations.
    pub flops: f64,
    /// Bytes read and written.
    pub bytes: f64,
    /// The known energy by what it rests on.
    pub basis_mj: BasisShares,
}

/// Millijoules by what they rest on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct BasisShares {
    /// From entries of the same key.
    pub measured: f64,
    /// From entries of the same kernel at other sizes.
    pub interpolated: f64,
    /// From the model of the operator's class.
    pub class: f64,
    /// From physical bounds alone.
    pub bounds: f64,
}

impl BasisShares {
    /// All of `energy_mj` on one basis.
    pub fn of(basis: Basis, energy_mj: f64) -> BasisShares {
        let mut shares = BasisShares::default();
        *match basis {
            Basis::Measured => &mut shares.measured,
            Basis::Interpolated => &mut shares.interpolated,
            Basis::Class => &mut shares.class,
            Basis::Bounds => &mut shares.bounds,
        } = energy_mj;
        shares
    }

    /// Each share times `factor`.
    pub fn times(self, factor: f64) -> BasisShares {
        BasisShares {
            measured: self.measured * factor,
            interpolated: self.interpolated * factor,
            class: self.class * factor,
            bounds: self.bounds * factor,
        }
    }

    /// Whether all of it was measured, nothing of it, or part.
    pub(super) fn source(&self) -> Source {
        match (self.measured > 0.0, self.interpolated + self.class + self.bounds > 0.0) {
            (_, false) => Source::Measured,
            (false, true) => Source::Estimated,
            (true, true) => Source::Mixed,
        }
    }
}

impl std::ops::Add for BasisShares {
    type Output = BasisShares;

    fn add(self, other: BasisShares) -> BasisShares {
        BasisShares {
            measured: self.measured + other.measured,
            interpolated: self.interpolated + other.interpolated,
            class: self.class + other.class,
            bounds: self.bounds + other.bounds,
        }
    }
}

impl Cost {
    /// A view, an input, a node that stands for no operator: nothing runs.
    pub const FREE: Cost = Cost {
        energy_mj: Figure::ZERO,
        time_us: Figure::ZERO,
        launches: 0,
        flops: 0.0,
        bytes: 0.0,
        basis_mj: BasisShares { measured: 0.0, interpolated: 0.0, class: 0.0, bounds: 0.0 },
    };
    /// An operator that nothing is known about.
    pub const UNKNOWN: Cost = Cost { energy_mj: Figure::UNKNOWN, time_us: Figure::UNKNOWN, launches: 1, ..Cost::FREE };
}

impl std::ops::Add for Cost {
    type Output = Cost;

    fn add(self, other: Cost) -> Cost {
        Cost {
            energy_mj: self.energy_mj + other.energy_mj,
            time_us: self.time_us + other.time_us,
            launches: self.launches.saturating_add(other.launches),
            flops: self.flops + other.flops,
            bytes: self.bytes + other.bytes,
            basis_mj: self.basis_mj + other.basis_mj,
        }
    }
}

impl std::ops::AddAssign for Cost {
    fn add_assign(&mut self, other: Cost) {
        *self = *self + other;
    }
}

impl std::iter::Sum for Cost {
    fn sum<I: Iterator<Item = Cost>>(all: I) -> Cost {
        all.fold(Cost::FREE, std::ops::Add::add)
    }
}

/// Where a figure that was not measured comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The same kernel was measured, at this size or another, with this result.
    Measured,
    /// Between entries of the same kernel.
    Interpolated,
    /// From the model of the kernel's class and its nearest members.
    Class,
    /// From what the device can do at most: no kernel of the class was measured.
    Bounds,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(value: f64, source: Source) -> Figure {
        Figure::new(value, value * 0.9, value * 1.1, source)
    }

    #[test]
    fn sums_mix_sources() {
        let (m, e) = (figure(1.0, Source::Measured), figure(2.0, Source::Estimated));
        assert_eq!((m + m).source, Source::Measured);
        assert_eq!((m + e).source, Source::Mixed);
        assert_eq!((e + Figure::ZERO).source, Source::Estimated);
        assert_eq!((Figure::ZERO + m).source, Source::Measured);
        let unknown = m + e + Figure::UNKNOWN;
        assert_eq!((unknown.source, unknown.value, unknown.high), (Source::Unknown, 3.0, f64::INFINITY));
    }

    #[test]
    fn overlapping_intervals_decide_nothing() {
        let (a, b) = (figure(1.0, Source::Measured), figure(1.15, Source::Measured));
        assert!(!a.is_below(&b) && !b.is_below(&a));
        assert!(a.is_below(&figure(1.3, Source::Measured)));
        assert!(!Figure::UNKNOWN.is_below(&a) && !a.is_below(&Figure::UNKNOWN));
    }

    #[test]
    fn an_interval_contains_its_value() {
        let odd = Figure::new(1.0, 2.0, 0.5, Source::Estimated);
        assert!(odd.low <= odd.value && odd.value <= odd.high);
    }
}
