//! Digits along which everything happens to each place alike, so that one place shows what happens to all.
//!
//! Places along a dimension are numbers; written with several digits, as a reshape does that splits the dimension, each digit may
//! be looked at by itself. A digit of a result is carried if renumbering its values does the same to one digit of every tensor
//! that it is computed from, or nothing. Elements where the digit is 0 are then equal to what elements with any other value are,
//! with that value put in.

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::arena::TermId;
use super::mode::Way;
use super::scope::{Known, Scope, Seen};
use crate::eval::Constant;
use crate::ir::TensorType;
use crate::ops::{Digit, Digits, Elements, Renumbering};

/// Terms that may be visited.
const MAX_TERMS: usize = 10_000;

/// Digits that may be tried for one pair of terms.
const MAX_TRIES: usize = 200;

/// The places along each dimension of two terms of one type whose elements show what all others are; `None` where those are more
/// than `limit` elements.
pub(super) fn places(scope: &Scope, roots: [TermId; 2], way: Way, limit: usize) -> Option<Vec<Vec<usize>>> {
    let mut search = Search { scope, roots, way, sizes: None, left: MAX_TRIES };
    let mut left = limit;
    let of_dim = |(dim, &size): (usize, &usize)| {
        let carried = search.carried_digits(Digit { dim, step: 1, size });
        let count = size / carried.iter().map(|digit| digit.size).product::<usize>();
        left = left.checked_div(count).filter(|&left| left > 0)?;
        Some(without(&carried, size))
    };
    scope.ty(roots[0]).shape.iter().enumerate().map(of_dim).collect()
}

/// The places along a dimension where these digits are 0.
fn without(digits: &[Digit], size: usize) -> Vec<usize> {
    let mut digits: Vec<(usize, usize)> = digits.iter().map(|digit| (digit.step, digit.size)).collect();
    digits.sort_unstable();
    let (mut places, mut unit) = (vec![0], 1);
    for (step, values) in digits.into_iter().chain([(size, 1)]) {
        let below = (0..step / unit).map(|value| value * unit);
        places = below.flat_map(|value| places.iter().map(move |place| place + value)).collect();
        unit = step * values;
    }
    places
}

struct Search<'a> {
    scope: &'a Scope<'a>,
    roots: [TermId; 2],
    way: Way,
    /// The sizes of dimensions on the way, once they are asked for.
    sizes: Option<Vec<usize>>,
    /// Digits that may still be tried.
    left: usize,
}

impl Search<'_> {
    /// The digits within a digit that are carried: as few and as large ones as there are.
    fn carried_digits(&mut self, digit: Digit) -> Vec<Digit> {
        if digit.size < 2 || self.left == 0 {
            return Vec::new();
        }
        self.left -= 1;
        let mut carry = Carry { scope: self.scope, way: self.way, digits: FxHashMap::default() };
        if self.roots.into_iter().all(|root| carry.visit(root, Some(digit))) {
            return vec![digit];
        }
        let (mut best, mut most) = (Vec::new(), 1);
        for low in self.sizes().into_iter().filter(|&low| low < digit.size && digit.size.is_multiple_of(low)) {
            let mut found = self.carried_digits(Digit { size: low, ..digit });
            found.extend(self.carried_digits(Digit { step: digit.step * low, size: digit.size / low, ..digit }));
            let covered = found.iter().map(|digit| digit.size).product();
            if covered > most {
                (best, most) = (found, covered);
            }
            if most == digit.size {
                break;
            }
        }
        best
    }

    /// The sizes that dimensions have on the way to the leaves, where something is reshaped.
    fn sizes(&mut self) -> Vec<usize> {
        let scope = self.scope;
        let find = || {
            let (mut seen, mut stack) = (FxHashSet::default(), self.roots.to_vec());
            let mut sizes: Vec<usize> = Vec::new();
            while let Some(term) = stack.pop() {
                if !seen.insert(term) || seen.len() > MAX_TERMS {
                    continue;
                }
                sizes.extend(scope.ty(term).shape.iter().filter(|&&size| size > 1));
                if let Seen::Result(applied) = scope.seen(term) {
                    stack.extend(applied.operands);
                }
            }
            sizes.sort_unstable();
            sizes.dedup();
            sizes
        };
        self.sizes.get_or_insert_with(find).clone()
    }
}

struct Carry<'a> {
    scope: &'a Scope<'a>,
    way: Way,
    /// The digit that is renumbered of every term that was visited.
    digits: FxHashMap<TermId, Option<Digit>>,
}

impl Carry<'_> {
    fn visit(&mut self, root: TermId, digit: Option<Digit>) -> bool {
        let mut stack = vec![(root, digit)];
        while let Some((term, digit)) = stack.pop() {
            // Renumbering a single place changes nothing.
            let digit = digit.filter(|digit| self.scope.ty(term).shape.get(digit.dim) != Some(&1));
            let seen = self.scope.seen(term);
            if let Seen::Known(known) = seen {
                if !digit.is_none_or(|digit| is_alike(known, self.scope.ty(term), digit)) {
                    return false;
                }
                continue;
            }
            match self.digits.get(&term) {
                Some(known) if *known == digit => continue,
                Some(_) => return false,
                None if self.digits.len() == MAX_TERMS => return false,
                None => self.digits.insert(term, digit),
            };
            let Seen::Result(applied) = seen else { continue };
            let (call, slot) = (applied.call(), applied.slot as usize);
            let (operands, result) = (applied.operands, applied.result);
            // What is not looked into has elements of its own.
            if applied.elements(self.way) == Elements::Unknown {
                continue;
            }
            let below: Option<Digits> = match digit {
                None => Some(Digits::from_elem(None, operands.len())),
                Some(digit) => (applied.op.digits)(&Renumbering { call: &call, slot, result, digit }),
            };
            let Some(below) = below else { return false };
            stack.extend(operands.iter().copied().zip(below));
        }
        true
    }
}

/// Whether a known tensor is the same whatever a digit is.
fn is_alike(known: Known, ty: &TensorType, Digit { dim, step, size }: Digit) -> bool {
    let is_constant = |coefficients: &[i64]| coefficients.get(dim).is_none_or(|&c| c == 0);
    match known.value {
        _ if known.is_number => true,
        Constant::Uniform(_) => true,
        Constant::Affine(formula) => is_constant(&formula.coefficients),
        Constant::Region(region) => region.bounds.iter().all(|bound| is_constant(&bound.coefficients)),
        Constant::Dense(data) => {
            let inner = step * ty.shape[dim + 1..].iter().product::<usize>();
            data.is_empty()
                || data.chunks(inner * size).all(|block| block.chunks(inner).all(|part| part == &block[..inner]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_without_digits_are_those_where_they_are_0() {
        let digit = |step, size| Digit { dim: 0, step, size };
        for digits in
            [vec![], vec![digit(1, 24)], vec![digit(2, 3)], vec![digit(12, 2), digit(1, 4)], vec![digit(6, 4)]]
        {
            let mut found = without(&digits, 24);
            found.sort_unstable();
            let zero = |place: &usize| digits.iter().all(|digit| (place / digit.step).is_multiple_of(digit.size));
            assert_eq!(found, (0..24).filter(zero).collect::<Vec<_>>(), "{digits:?}");
        }
    }
}
