//! The facet `bounds` of an operator's entry: what bounds on the elements of the operands say about those of output 0.

use smallvec::SmallVec;

use super::{Call, Interval, OpDef};
use crate::ir::{AttrValue, TensorType};

/// How bounds on the operands bound the result.
#[derive(Clone, Copy)]
pub struct Bounds {
    /// An interval for every element. `None` where nothing is known, for one because an element may be NaN. It holds for the
    /// arithmetic of the evaluator up to its rounding, which is far below the distances that users of the bounds keep.
    pub range: fn(&Ranges) -> Option<Interval>,
    /// The largest absolute value before rounding, over the real numbers: a result that is NaN does not count.
    pub magnitude: fn(&Magnitudes) -> f64,
}

impl Bounds {
    pub const UNKNOWN: Bounds = Bounds { range: |_| None, magnitude: |_| f64::INFINITY };
    /// The elements of operand 0, or between them.
    pub const SAME: Bounds = Bounds { range: |r| r.x(), magnitude: |m| m.of(0) };
    /// No further from 0 than the elements of operand 0.
    pub const NO_LARGER: Bounds = Bounds { magnitude: |m| m.of(0), ..Bounds::UNKNOWN };
    /// From 0 to 1 where operand 0 is finite.
    pub const SHARE: Bounds = Bounds { range: |r| r.x().and(Interval::new(0.0, 1.0)), magnitude: |_| 1.0 };
    /// True or false, whatever the operands are.
    pub const TRUTH: Bounds = Bounds { range: |_| Interval::new(0.0, 1.0), ..Bounds::UNKNOWN };
}

/// A call, and the intervals in which the elements of its operands lie, as far as they are known.
pub struct Ranges<'a> {
    pub call: &'a Call<'a>,
    pub known: &'a [Option<Interval>],
}

impl Ranges<'_> {
    pub fn of(&self, operand: usize) -> Option<Interval> {
        self.known.get(operand).copied().flatten()
    }

    pub fn x(&self) -> Option<Interval> {
        self.of(0)
    }

    pub fn y(&self) -> Option<Interval> {
        self.of(1)
    }

    /// The elements of all operands.
    pub fn hull(&self) -> Option<Interval> {
        self.known.iter().copied().reduce(|a, b| Some(a?.hull(b?)))?
    }
}

/// A call, and the largest absolute values of its operands; 0 for one that is not given.
pub struct Magnitudes<'a> {
    pub call: &'a Call<'a>,
    pub operand: &'a dyn Fn(usize) -> f64,
}

impl Magnitudes<'_> {
    pub fn of(&self, operand: usize) -> f64 {
        (self.operand)(operand)
    }

    /// That of the operand with the largest.
    pub fn largest(&self) -> f64 {
        (0..self.call.operands.len()).map(|i| self.of(i)).fold(0.0, f64::max)
    }
}

/// What the elements of output 0 of an operator lie in, from the types and bounds of its operands.
pub fn range_of<'t>(
    op: &'static OpDef,
    attrs: &[AttrValue],
    operands: impl Iterator<Item = (&'t TensorType, Option<Interval>)>,
) -> Option<Interval> {
    let (types, known): (SmallVec<[&TensorType; 4]>, SmallVec<[Option<Interval>; 4]>) = operands.unzip();
    range(&Call { op, attrs, operands: &types }, &known)
}

/// What the elements of output 0 of a call lie in: see [`Bounds::range`].
pub fn range(call: &Call, operands: &[Option<Interval>]) -> Option<Interval> {
    let bounds = (call.op.bounds.range)(&Ranges { call, known: operands })?;
    // What leaves the range of an integer type comes back in at its other end. Each type holds less here than it
    // does, for the rounding of the bounds.
    let float = call.operands.first().is_none_or(|t| t.dtype.is_float());
    let range = if float { None } else { call.types().first().and_then(|t| t.dtype.int_range()) };
    let wraps = range.is_some_and(|(low, high)| bounds.low < low as f64 || bounds.high > high as f64 * 0.7);
    (!wraps || call.op.hands_on).then_some(bounds)
}
