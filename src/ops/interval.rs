//! Intervals of numbers.

/// All elements of a value lie between two finite numbers; none is NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

impl Interval {
    pub const ZERO: Interval = Interval { low: 0.0, high: 0.0 };

    /// `None` unless both bounds are finite.
    pub fn new(low: f64, high: f64) -> Option<Interval> {
        (low.is_finite() && high.is_finite() && low <= high).then_some(Interval { low, high })
    }

    pub fn around_0(radius: f64) -> Option<Interval> {
        Interval::new(-radius, radius)
    }

    /// The largest absolute value.
    pub fn magnitude(self) -> f64 {
        self.low.abs().max(self.high.abs())
    }

    /// Whether every element is 0.
    pub fn is_zero(self) -> bool {
        self.low == 0.0 && self.high == 0.0
    }

    /// Whether an element can be 0.
    pub fn has_0(self) -> bool {
        self.low <= 0.0 && self.high >= 0.0
    }

    /// The elements of both.
    pub fn hull(self, other: Interval) -> Interval {
        Interval { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    pub fn scaled(self, factor: f64) -> Option<Interval> {
        let (p, q) = (self.low * factor, self.high * factor);
        Interval::new(p.min(q), p.max(q))
    }

    /// `None` where an element can be 0.
    pub fn reciprocal(self) -> Option<Interval> {
        if self.has_0() { None } else { Interval::new(self.high.recip(), self.low.recip()) }
    }

    pub fn plus(self, other: Interval) -> Option<Interval> {
        Interval::new(self.low + other.low, self.high + other.high)
    }

    pub fn minus(self, other: Interval) -> Option<Interval> {
        Interval::new(self.low - other.high, self.high - other.low)
    }

    pub fn times(self, other: Interval) -> Option<Interval> {
        let all = [self.low * other.low, self.low * other.high, self.high * other.low, self.high * other.high];
        Interval::over(all.into_iter())
    }

    /// The products of elements with themselves, of which none is below 0.
    pub fn squared(self) -> Option<Interval> {
        let ends = [self.low * self.low, self.high * self.high];
        let low = if self.has_0() { 0.0 } else { ends[0].min(ends[1]) };
        Interval::new(low, ends[0].max(ends[1]))
    }

    /// A sum of `n` products.
    pub fn sum_of_products(self, other: Interval, n: f64) -> Option<Interval> {
        Interval::around_0(self.magnitude() * other.magnitude() * n)
    }

    /// The elements of a list.
    pub fn over(values: impl Iterator<Item = f64>) -> Option<Interval> {
        let mut all: Option<Interval> = None;
        for v in values {
            let one = Interval::new(v, v)?;
            all = Some(all.map_or(one, |i| i.hull(one)));
        }
        all
    }
}
