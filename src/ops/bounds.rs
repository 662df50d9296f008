//! The facet `bounds` of an operator's entry: what bounds on the elements of the operands say about those of the result.

use smallvec::SmallVec;

use super::{Arithmetic, Call, Interval, Movement, OpDef};
use crate::ir::{AttrValue, Number, TensorType};

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
    /// Between what the ends of operand 0 give: of an increasing function of one number.
    pub const INCREASING: Bounds = Bounds { range: |r| increasing(r), ..Bounds::UNKNOWN };
    /// Places along `dim` of operand 0, whatever its elements are.
    pub const PLACE: Bounds = Bounds { range: |r| place(r.call), ..Bounds::UNKNOWN };
    /// True or false, whatever the operands are.
    pub const TRUTH: Bounds = Bounds { range: |_| Interval::new(0.0, 1.0), ..Bounds::UNKNOWN };
}

fn place(call: &Call) -> Option<Interval> {
    let dim = call.dim("dim", 0).ok()?;
    let size = *call.operands.first()?.shape.get(dim)?;
    Interval::new(0.0, size as f64 - 1.0)
}

fn increasing(r: &Ranges) -> Option<Interval> {
    let x = r.x()?;
    let index = vec![0; r.call.operands.first()?.rank()];
    let of = |end: f64| {
        let mut fetch = |_: usize, _: &[usize]| Ok(Number::float(end));
        Some(r.call.op.kernel.compute(r.call, 0, &index, &mut fetch).ok()?.first()?.to_f64())
    };
    Interval::new(of(x.low)?, of(x.high)?)
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

/// Whether the bounds of an operator hold for one of its outputs. Those of an operator that gives values and their places are of the
/// values.
pub fn bounds_hold(op: &OpDef, slot: u32) -> bool {
    slot == 0 || op.movement() == Some(Movement::Split)
}

/// What the elements of an output of an operator lie in, from the types and bounds of its operands, and whether all of these are one
/// value.
pub fn range_of<'t>(
    op: &'static OpDef,
    attrs: &[AttrValue],
    slot: u32,
    operands: impl Iterator<Item = (&'t TensorType, Option<Interval>)>,
    is_one_value: bool,
) -> Option<Interval> {
    let is_place = op.places == Some(slot);
    if !bounds_hold(op, slot) && !is_place {
        return None;
    }
    let (types, known): (SmallVec<[&TensorType; 4]>, SmallVec<[Option<Interval>; 4]>) = operands.unzip();
    if let ([ty, _], [x, _], Arithmetic::Mul, true) = (&types[..], &known[..], op.arithmetic(), is_one_value)
        && ty.dtype.is_float()
    {
        return x.and_then(Interval::squared);
    }
    let call = Call { op, attrs, operands: &types };
    if is_place { place(&call) } else { range(&call, &known) }
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

/// What is known of the elements of a value, whatever real numbers it is computed from. Each says more than the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sign {
    /// They may be infinite, or NaN.
    #[default]
    Unknown,
    /// They are real numbers.
    Real,
    /// They are real numbers not below 0.
    NotNegative,
    /// They are real numbers above 0.
    Positive,
}

impl Sign {
    /// Elements for which the bounds of operators are asked: far enough from 0 for their poles and turns to lie in between, near
    /// enough for exponentials to be finite.
    fn sample(self) -> Option<Interval> {
        const FAR: f64 = 100.0;
        match self {
            Sign::Unknown => None,
            Sign::Real => Interval::new(-FAR, FAR),
            Sign::NotNegative => Interval::new(0.0, FAR),
            Sign::Positive => Interval::new(1e-30, FAR),
        }
    }

    /// What an interval says: of its bounds no more than their signs.
    pub fn of(interval: Option<Interval>) -> Sign {
        match interval {
            None => Sign::Unknown,
            Some(i) if i.low > 0.0 => Sign::Positive,
            Some(i) if i.low == 0.0 => Sign::NotNegative,
            Some(_) => Sign::Real,
        }
    }
}

/// What is known of the elements of output 0 of an operator, from the types of its operands and what is known of those.
pub fn sign_of<'t>(
    op: &'static OpDef,
    attrs: &[AttrValue],
    operands: impl Iterator<Item = (&'t TensorType, Sign)>,
) -> Sign {
    Sign::of(range_of(op, attrs, 0, operands.map(|(ty, sign)| (ty, sign.sample())), false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{DType, Shape};
    use crate::ops::{Family, all, find};

    #[test]
    fn places_are_not_bounded_by_the_values_that_they_are_of() {
        let ty = TensorType::new(DType::F32, Shape::from_slice(&[4])).unwrap();
        let zero = Interval::new(0.0, 0.0);
        let sort = find("sort").unwrap();
        let attrs = sort.attrs(&[("dim", AttrValue::Int(0))]).unwrap();
        let of = |slot| range_of(sort, &attrs, slot, std::iter::once((&ty, zero)), true);
        assert_eq!((of(0), of(1)), (zero, Interval::new(0.0, 3.0)));
    }

    /// Operands that a sign allows, far from 0 and near to it, and beyond what bounds are asked for.
    fn allowed(sign: Sign) -> Vec<f64> {
        let above = [1e-12, 0.3, 1.0, 2.0, 57.0, 300.0];
        match sign {
            Sign::Unknown => vec![f64::NAN],
            Sign::Positive => above.to_vec(),
            Sign::NotNegative => above.into_iter().chain([0.0]).collect(),
            Sign::Real => above.iter().flat_map(|&v| [v, -v]).chain([0.0]).collect(),
        }
    }

    #[test]
    fn operators_keep_to_their_signs() {
        let ty = TensorType::new(DType::F64, Shape::new()).unwrap();
        let mut known = 0;
        for op in all().filter(|op| op.family == Family::Elementwise && op.operands.len() <= 3) {
            let Some(attrs) = op.attrs.iter().map(|attr| attr.default.value()).collect::<Option<Vec<_>>>() else {
                continue;
            };
            let types = vec![&ty; op.operands.len()];
            let call = Call { op, attrs: &attrs, operands: &types };
            if call.infer().is_err() {
                continue;
            }
            let signs = [Sign::Real, Sign::NotNegative, Sign::Positive];
            for combination in 0..signs.len().pow(types.len() as u32) {
                let signs: Vec<Sign> =
                    (0..types.len() as u32).map(|n| signs[combination / 3_usize.pow(n) % 3]).collect();
                let claimed = sign_of(op, &attrs, types.iter().copied().zip(signs.iter().copied()));
                if claimed == Sign::Unknown {
                    continue;
                }
                known += 1;
                let lists: Vec<Vec<f64>> = signs.iter().map(|&sign| allowed(sign)).collect();
                for pick in 0..lists.iter().map(Vec::len).product::<usize>() {
                    let mut rest = pick;
                    let values: Vec<f64> = lists
                        .iter()
                        .map(|list| {
                            let value = list[rest % list.len()];
                            rest /= list.len();
                            value
                        })
                        .collect();
                    let mut fetch = |operand: usize, _: &[usize]| Ok(Number::float(values[operand]));
                    let Ok(result) = op.kernel.compute(&call, 0, &[], &mut fetch) else { continue };
                    let value = result[0].to_f64();
                    let holds = match claimed {
                        Sign::Unknown | Sign::Real => value.is_finite(),
                        // What is near 0 rounds to it.
                        Sign::NotNegative | Sign::Positive => value.is_finite() && value >= 0.0,
                    };
                    assert!(holds, "{} of {values:?} is {value}, not {claimed:?}", op.name);
                }
            }
        }
        assert!(known > 100, "{known}");
    }

    #[test]
    fn bounds_on_integers_hold_for_all_integers_between_them() {
        let ty = TensorType::new(DType::I64, Shape::new()).unwrap();
        let intervals = [(-9, 9), (0, 9), (0, 5), (3, 3), (1, 4), (-7, -2)];
        let mut known = 0;
        for op in all().filter(|op| op.family == Family::Elementwise && op.operands.len() == 2) {
            let Some(attrs) = op.attrs.iter().map(|attr| attr.default.value()).collect::<Option<Vec<_>>>() else {
                continue;
            };
            let call = Call { op, attrs: &attrs, operands: &[&ty, &ty] };
            if !call.infer().is_ok_and(|types| types.iter().all(|ty| ty.dtype.is_int())) {
                continue;
            }
            for (x, y) in intervals.iter().flat_map(|x| intervals.iter().map(move |y| (*x, *y))) {
                let operands = [x, y].map(|(low, high)| (&ty, Interval::new(f64::from(low), f64::from(high))));
                let Some(range) = range_of(op, &attrs, 0, operands.into_iter(), false) else { continue };
                known += 1;
                for (a, b) in (x.0..=x.1).flat_map(|a| (y.0..=y.1).map(move |b| (a, b))) {
                    let mut fetch = |operand: usize, _: &[usize]| Ok(Number::Int([a, b][operand].into()));
                    let Ok(values) = op.kernel.compute(&call, 0, &[], &mut fetch) else { continue };
                    let value = values[0].to_f64();
                    assert!(
                        range.low <= value && value <= range.high,
                        "{} of {a} and {b}: {value}, {range:?}",
                        op.name
                    );
                }
            }
        }
        assert!(known > 100, "{known}");
    }
}
