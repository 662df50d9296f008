//! Integers that are one of a few: what a comparison with a number says of them.

use num_rational::BigRational;
use num_traits::One;
use smallvec::SmallVec;

use super::form::{Atom, Form, FormId};
use super::formulas::Formulas;
use super::scope::Applied;
use crate::ir::DType;
use crate::ops::{Comparison, Interval, range};

/// The largest number that an integer may be of which the places are told apart.
pub(super) const LARGEST_PLACE: i64 = 63;

impl Formulas<'_> {
    /// Between which integers an operator's result lies, from what is known of its operands.
    pub(super) fn range_of(&self, applied: &Applied, operands: &[(DType, FormId)]) -> Option<(i64, i64)> {
        let is_whole = |dtype: DType| !dtype.is_float() && dtype != DType::Bool;
        let call = applied.call();
        if !is_whole(applied.result.dtype) || operands.len() != call.operands.len() || applied.slot != 0 {
            return None;
        }
        let known = operands.iter().map(|&(dtype, id)| match dtype {
            DType::Bool => Interval::new(0.0, 1.0),
            _ if is_whole(dtype) => self.store.range(id).and_then(|(low, high)| Interval::new(low as f64, high as f64)),
            _ => None,
        });
        let known: SmallVec<[Option<Interval>; 4]> = known.collect();
        let Interval { low, high } = range(&call, &known)?;
        // Wider ones are no few places, and may be rounded.
        let few = low.abs().max(high.abs()) <= LARGEST_PLACE as f64;
        few.then(|| (low.ceil() as i64, high.floor() as i64))
    }

    /// The number of places that an integer names one of: it is known to be 0 or above, and below that.
    pub(super) fn places_of(&self, integer: FormId) -> Option<usize> {
        match self.store.range(integer)? {
            (0.., high @ 0..=LARGEST_PLACE) => usize::try_from(high + 1).ok(),
            _ => None,
        }
    }

    /// 1 where an integer that names one of `of` places names this one.
    pub(super) fn place(&mut self, integer: FormId, at: usize, of: usize) -> Form {
        let mut place = |at: usize| self.store.atom(Atom::Place { integer, at, of, wraps: false });
        // It names one of them: the last one if no other.
        if at + 1 < of {
            return place(at);
        }
        let others: Vec<Form> = (0..at).map(&mut place).collect();
        let others = self.sum(others);
        self.minus(Form::number(BigRational::one()), &others)
    }

    /// 1 where an integer of which few places are known compares with a number; nothing for other integers.
    pub(super) fn compared_with_number(&mut self, comparison: Comparison, x: FormId, y: FormId) -> Option<Form> {
        let number = |id: FormId| self.store.range(id).filter(|(low, high)| low == high).map(|(low, _)| low);
        let (integer, number, swapped) = match (number(x), number(y)) {
            (None, Some(number)) => (x, number, false),
            (Some(number), None) => (y, number, true),
            _ => return None,
        };
        let of = self.places_of(integer)?;
        let holds = |place: i64| {
            let (x, y) = if swapped { (number, place) } else { (place, number) };
            match comparison {
                Comparison::Equal => x == y,
                Comparison::NotEqual => x != y,
                Comparison::Less => x < y,
                Comparison::LessOrEqual => x <= y,
                Comparison::Greater => x > y,
                Comparison::GreaterOrEqual => x >= y,
            }
        };
        let named: Vec<usize> = (0..of).filter(|&at| holds(at as i64)).collect();
        self.spend(of)?;
        let places: Vec<Form> = named.into_iter().map(|at| self.place(integer, at, of)).collect();
        Some(self.sum(places))
    }
}
