//! Whether two terms are equal element by element.
//!
//! Most operators only move elements, combine those at one place, add some up, or compute with a row of them. What an element of a
//! term is can then be written down as a formula over elements of the tensors below, whatever shapes it passed on the
//! way; two terms are equal if all of their elements have the same formulas. Dimensions along which the same happens everywhere are looked
//! at in one place.
//!
//! Formulas are written down in three ways, see [`Mode`]: with every operator as it is, as sums of products, and multiplied out over
//! the real numbers, there at last case by case. Numbers in them are exact.

mod algebra;
mod arithmetic;
mod carry;
mod cases;
mod comparison;
mod dyadic;
mod form;
mod formulas;
mod fractions;
mod mode;
mod numbers;
mod order;
mod ranges;
mod rows;
mod scope;
mod store;
mod sums;
#[cfg(test)]
mod tests;
mod waves;
mod whole;
mod written;

pub(crate) use scope::Leaves;

use self::carry::places;
use self::formulas::Formulas;
use self::mode::{Mode, Way};
use self::scope::{Scope, Seen};
use super::arena::{TermArena, TermId};
use crate::ops::Elements;
use crate::rules::Tier;

/// Elements and products that may be written down for one pair.
pub(crate) const ELEMENTS: usize = 200_000;

/// How formulas are compared, in this order.
const WAYS: [Way; 5] = [
    Way::of(Mode::Operators),
    Way::of(Mode::Products),
    Way::of(Mode::Reals),
    Way { rounds: true, ..Way::of(Mode::Reals) },
    Way { mode: Mode::Reals, rounds: true, cases: true },
];

/// What all comparisons of one pair may take.
pub(super) const ALL_WAYS: usize = WAYS.len() * ELEMENTS;

/// How equal two terms are element by element, if they are found to be, and to be no less than `weakest`. `leaves` have elements
/// of their own, whatever they are computed from.
///
/// No more than [`ELEMENTS`] are written down, and no more than are left of `budget`, from which they are taken.
pub(crate) fn same_elements(
    arena: &TermArena,
    [a, b]: [TermId; 2],
    leaves: &Leaves,
    weakest: Tier,
    budget: &mut usize,
) -> Option<Tier> {
    let ty = arena.ty(a);
    if ty != arena.ty(b) || ty.numel() == 0 {
        return None;
    }
    let scope = Scope::new(arena, leaves);
    let mut found = |way: Way| {
        if way.cases && !scope.has_cases() {
            return None;
        }
        let is_looked_into =
            |term| matches!(scope.seen(term), Seen::Result(applied) if applied.elements(way) != Elements::Unknown);
        if ![a, b].into_iter().any(is_looked_into) {
            return None;
        }
        let allowance = ELEMENTS.min(*budget);
        let places = places(&scope, [a, b], way, allowance)?;
        let mut elements = Formulas::new(&scope, way, ty.dtype, allowance);
        let tier = elements.compare([a, b], &places);
        *budget -= allowance - elements.left;
        tier
    };
    let allowed = if weakest == Tier::Exact { 1 } else { WAYS.len() };
    WAYS[..allowed].iter().find_map(|&way| found(way)).filter(|tier| *tier <= weakest)
}
