//! Choices between two numbers by the place, and functions of them: masks.

use smallvec::SmallVec;

use super::formula::{affine, scale};
use super::stored::stored;
use crate::eval::constant::{Affine, Constant, Region};
use crate::ir::{Number, Shape, TensorType};
use crate::ops::{Call, EvalError};

/// `a <= 0` turned round: `a >= 1`.
pub(super) fn negation(a: &Affine) -> Option<Affine> {
    let mut out = scale(a, -1)?;
    out.offset = out.offset.checked_add(1)?;
    Some(out)
}

/// The bounds of a region whose type is `from`, over the index of `ty`, to which it is broadcast.
fn broadcast(region: &Region, from: &TensorType, ty: &TensorType) -> Option<Vec<Affine>> {
    region.bounds.iter().map(|a| affine(&Constant::Affine(a.clone()), from, ty)).collect()
}

/// A function of single elements, where each operand is one number, or one of two by the place. At most two regions meet.
pub(super) fn chosen(call: &Call, slot: usize, operands: &[&Constant], ty: &TensorType) -> Option<Constant> {
    let mut regions: SmallVec<[Vec<Affine>; 2]> = SmallVec::new();
    // Of each operand: which region chooses, and between which numbers.
    let mut choices: SmallVec<[(usize, [Number; 2]); 4]> = SmallVec::new();
    for (&operand, &from) in operands.iter().zip(call.operands) {
        choices.push(match operand {
            Constant::Uniform(v) => (0, [*v; 2]),
            Constant::Region(region) => {
                let bounds = broadcast(region, from, ty)?;
                let at = regions.iter().position(|known| *known == bounds).unwrap_or_else(|| {
                    regions.push(bounds);
                    regions.len() - 1
                });
                (at, [region.inside, region.outside])
            }
            Constant::Affine(_) | Constant::Dense(_) => return None,
        });
    }
    let at: Shape = SmallVec::from_elem(0, ty.rank());
    let value = |sides: [usize; 2]| -> Option<Number> {
        let mut fetch = |i: usize, _: &[usize]| -> Result<Number, EvalError> {
            let (region, numbers) = choices[i];
            Ok(numbers[sides[region]])
        };
        let computed = call.op.kernel.compute(call, slot, &at, &mut fetch).ok()?;
        stored(call, *computed.first()?, ty)
    };
    match regions.as_slice() {
        [bounds] => {
            let (inside, outside) = (value([0, 0])?, value([1, 0])?);
            Some(Constant::Region(Region { bounds: bounds.clone(), inside, outside }))
        }
        [a, b] => meeting(a, b, [[value([0, 0])?, value([0, 1])?], [value([1, 0])?, value([1, 1])?]]),
        _ => None,
    }
}

/// What is `values[i][j]` by whether a place is within (0) or outside (1) of two regions, if one region says it.
pub(super) fn meeting(a: &[Affine], b: &[Affine], values: [[Number; 2]; 2]) -> Option<Constant> {
    let region = |bounds: Vec<Affine>, inside, outside| Some(Constant::Region(Region { bounds, inside, outside }));
    let [[both, first], [second, neither]] = values;
    if both == first && second == neither {
        return region(a.to_vec(), both, neither);
    }
    if both == second && first == neither {
        return region(b.to_vec(), both, neither);
    }
    // One number within both, or outside of a single bound that is turned round, and one everywhere else.
    for (i, j) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let outside = values[1 - i][j];
        if values[i][1 - j] != outside || values[1 - i][1 - j] != outside {
            continue;
        }
        let side = |bounds: &[Affine], turned: usize| match (turned, bounds) {
            (0, _) => Some(bounds.to_vec()),
            (_, [bound]) => Some(vec![negation(bound)?]),
            _ => None,
        };
        if let (Some(mut bounds), Some(others)) = (side(a, i), side(b, j)) {
            bounds.extend(others);
            return region(bounds, values[i][j], outside);
        }
    }
    None
}
