//! Formulas whose elements are moved to other places.

use smallvec::SmallVec;

use super::formula::{affine, combine, exact, range, scale};
use super::region::meeting;
use crate::eval::constant::{Affine, Constant, Region};
use crate::ir::{Number, TensorType};
use crate::ops::shapes::inverse_permutation;
use crate::ops::{Call, Movement, Triangle};

/// The formula of the elements behind a movement, if there is one.
pub(super) fn moved(
    movement: Movement,
    call: &Call,
    slot: usize,
    operands: &[&Constant],
    ty: &TensorType,
) -> Option<Constant> {
    let (&x, from) = (operands.first()?, *call.operands.first()?);
    match movement {
        Movement::Stay => Some(x.clone()),
        Movement::Broadcast => {
            let skip = ty.rank() - from.rank();
            let coefficient = |a: &Affine, s: usize| if from.shape[s] == 1 { 0 } else { a.coefficients[s] };
            map_formula(x, |a| Affine {
                offset: a.offset,
                coefficients: (0..ty.rank()).map(|d| d.checked_sub(skip).map_or(0, |s| coefficient(a, s))).collect(),
            })
        }
        Movement::Permute => {
            let dims = call.ints("dims");
            inverse_permutation(dims)?;
            map_formula(x, |a| Affine {
                offset: a.offset,
                coefficients: dims.iter().map(|&d| a.coefficients[d as usize]).collect(),
            })
        }
        Movement::Slice => {
            let (dim, start, step) = (call.size("dim"), call.int("start"), call.int("step"));
            map_formula(x, |a| {
                let mut out = a.clone();
                out.offset += a.coefficients[dim] * start;
                out.coefficients[dim] *= step;
                out
            })
        }
        Movement::Split => {
            let (dim, before) = (call.size("dim"), call.ints("sizes")[..slot].iter().sum::<i64>());
            map_formula(x, |a| {
                let mut out = a.clone();
                out.offset += a.coefficients[dim] * before;
                out
            })
        }
        Movement::Reshape => {
            let kept = size_one_reshape(&from.shape, &ty.shape)?;
            map_formula(x, |a| Affine {
                offset: a.offset,
                coefficients: kept.iter().map(|k| k.map_or(0, |d| a.coefficients[d])).collect(),
            })
        }
        Movement::Concat => concat(call, operands, ty),
        Movement::Index => index(call, x, &operands[1..], ty),
        Movement::Triangle(side) => triangle(side, call, x, ty),
        Movement::Repeat | Movement::Flip | Movement::Pattern | Movement::Gather | Movement::Padded => None,
    }
}

/// One side of the diagonal of what is one number everywhere, or one of two by the place.
fn triangle(side: Triangle, call: &Call, x: &Constant, ty: &TensorType) -> Option<Constant> {
    if ty.rank() < 2 {
        return None;
    }
    let zero = ty.dtype.store(Number::ZERO)?;
    // The lower side keeps column - row <= diagonal, the upper one row - column <= -diagonal.
    let sign = match side {
        Triangle::Lower => 1,
        Triangle::Upper => -1,
    };
    let mut a = Affine { offset: 0, coefficients: SmallVec::from_elem(0, ty.rank()) };
    a.offset = call.int("diagonal").checked_mul(-sign)?;
    a.coefficients[ty.rank() - 1] = sign;
    a.coefficients[ty.rank() - 2] = -sign;
    match x {
        Constant::Uniform(v) => Some(Constant::Region(Region { bounds: vec![a], inside: *v, outside: zero })),
        Constant::Region(Region { bounds, inside, outside }) => meeting(&[a], bounds, [[*inside, *outside], [zero; 2]]),
        Constant::Affine(_) | Constant::Dense(_) => None,
    }
}

fn map_formula(constant: &Constant, f: impl Fn(&Affine) -> Affine) -> Option<Constant> {
    match constant {
        Constant::Affine(a) => Some(Constant::Affine(f(a))),
        Constant::Region(region) => {
            Some(Constant::Region(Region { bounds: region.bounds.iter().map(f).collect(), ..*region }))
        }
        Constant::Uniform(_) | Constant::Dense(_) => None,
    }
}

/// For a reshape that only adds and drops dimensions of size 1: which source dimension each target dimension is.
fn size_one_reshape(from: &[usize], to: &[usize]) -> Option<SmallVec<[Option<usize>; 4]>> {
    let mut source = (0..from.len()).filter(|&d| from[d] != 1);
    let kept = to
        .iter()
        .map(|&size| if size == 1 { Some(None) } else { source.next().filter(|&d| from[d] == size).map(Some) })
        .collect::<Option<_>>()?;
    source.next().is_none().then_some(kept)
}

/// Pieces that continue one formula along `dim`. A piece of size 1 there fits any slope.
fn concat(call: &Call, operands: &[&Constant], ty: &TensorType) -> Option<Constant> {
    let dim = call.size("dim");
    let pieces: Vec<(Affine, &TensorType)> =
        operands.iter().zip(call.operands).map(|(c, &t)| Some((affine(c, t, t)?, t))).collect::<Option<_>>()?;
    let (widest, widest_type) = pieces.iter().max_by_key(|(_, t)| t.shape[dim])?;
    let mut slope = widest.coefficients[dim];
    if widest_type.shape[dim] == 1 && pieces.len() > 1 {
        slope = pieces[1].0.offset - pieces[0].0.offset;
    }
    let mut whole = pieces[0].0.clone();
    whole.coefficients[dim] = slope;
    let mut start = 0_i64;
    for (piece, t) in &pieces {
        let mut expected = whole.clone();
        expected.offset = whole.offset.checked_add(slope.checked_mul(start)?)?;
        let mut found = piece.clone();
        if t.shape[dim] == 1 {
            found.coefficients[dim] = slope;
        }
        if found != expected {
            return None;
        }
        start += t.shape[dim] as i64;
    }
    exact(whole, ty)
}

/// Advanced indexing of a formula by formulas is composition, where every dimension is indexed.
fn index(call: &Call, x: &Constant, indices: &[&Constant], ty: &TensorType) -> Option<Constant> {
    let x_type = call.operands[0];
    let dims = call.ints("dims");
    if dims.len() != x_type.rank() || dims.iter().enumerate().any(|(i, &d)| i as i64 != d) {
        return None;
    }
    if let Constant::Uniform(v) = x {
        return Some(Constant::Uniform(*v));
    }
    let formulas: Vec<Affine> =
        indices.iter().zip(&call.operands[1..]).map(|(c, t)| affine(c, t, ty)).collect::<Option<_>>()?;
    for (a, &size) in formulas.iter().zip(&x_type.shape) {
        let (low, high) = range(a, &ty.shape)?;
        if low < 0 || high >= size as i64 {
            return None;
        }
    }
    let compose = |a: &Affine| -> Option<Affine> {
        let start = Affine { offset: a.offset, coefficients: SmallVec::from_elem(0, ty.rank()) };
        a.coefficients.iter().zip(&formulas).try_fold(start, |sum, (&c, f)| combine(&sum, &scale(f, c)?, 1))
    };
    match x {
        Constant::Affine(a) => Some(Constant::Affine(compose(a)?)),
        Constant::Region(region) => {
            let bounds = region.bounds.iter().map(compose).collect::<Option<_>>()?;
            Some(Constant::Region(Region { bounds, ..*region }))
        }
        Constant::Uniform(_) | Constant::Dense(_) => None,
    }
}
