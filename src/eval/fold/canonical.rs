//! One form for each value.

use std::sync::Arc;

use smallvec::SmallVec;

use super::formula::{integer, range};
use super::region::negation;
use crate::eval::constant::{Affine, Constant, Region};
use crate::ir::{DType, Number, TensorType, unflatten};

/// One form per value, so that equal constants compare equal: no slope along dimensions of size 1, no
/// formula where a single value does, constraints sorted, reduced and without those that always hold.
pub fn canonical(constant: Constant, ty: &TensorType) -> Constant {
    if ty.shape.contains(&0) {
        return Constant::Dense(Vec::new().into());
    }
    match constant {
        Constant::Affine(a) => {
            let a = flat(a, ty);
            if a.coefficients.iter().all(|&c| c == 0) {
                let value = if ty.dtype.is_float() { Number::float(a.offset as f64) } else { Number::Int(a.offset) };
                Constant::Uniform(value)
            } else {
                Constant::Affine(a)
            }
        }
        Constant::Region(region) => canonical_region(region, ty),
        Constant::Dense(data) => canonical_dense(&data, ty),
        Constant::Uniform(v) => Constant::Uniform(v),
    }
}

/// A formula without slopes along dimensions of size 1, which would count where such a dimension is broadcast.
fn flat(mut a: Affine, ty: &TensorType) -> Affine {
    for (c, &size) in a.coefficients.iter_mut().zip(&ty.shape) {
        if size == 1 {
            *c = 0;
        }
    }
    a
}

/// Divides by the common divisor of the slopes and rounds the offset to the same integer solutions.
fn tighten(a: Affine) -> Affine {
    let divisor = a.coefficients.iter().fold(0_u64, |g, c| gcd(g, c.unsigned_abs())) as i64;
    if divisor <= 1 {
        return a;
    }
    // offset + divisor * s <= 0 for integer s means ceil(offset / divisor) + s <= 0.
    Affine {
        offset: -(-a.offset).div_euclid(divisor),
        coefficients: a.coefficients.iter().map(|c| c / divisor).collect(),
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn canonical_region(Region { bounds, inside, outside }: Region, ty: &TensorType) -> Constant {
    if inside == outside {
        return Constant::Uniform(inside);
    }
    let mut kept: Vec<Affine> = Vec::new();
    for a in bounds.into_iter().map(|a| tighten(flat(a, ty))) {
        match range(&a, &ty.shape) {
            Some((_, high)) if high <= 0 => {}
            Some((low, _)) if low > 0 => return Constant::Uniform(outside),
            _ => kept.push(a),
        }
    }
    kept.sort_by(|a, b| (&a.coefficients, a.offset).cmp(&(&b.coefficients, b.offset)));
    // Of two parallel constraints the one with the larger offset implies the other.
    kept.dedup_by(|next, first| {
        let parallel = next.coefficients == first.coefficients;
        if parallel {
            first.offset = first.offset.max(next.offset);
        }
        parallel
    });
    match kept.as_slice() {
        [] => Constant::Uniform(inside),
        // One bound can be turned round: what is inside is true, or on the side where the first slope falls.
        [a] if (if ty.dtype == DType::Bool { !inside.is_true() } else { rises(a) }) => match negation(a) {
            Some(turned) => Constant::Region(Region { bounds: vec![turned], inside: outside, outside: inside }),
            None => Constant::Region(Region { bounds: kept, inside, outside }),
        },
        _ => Constant::Region(Region { bounds: kept, inside, outside }),
    }
}

fn rises(a: &Affine) -> bool {
    a.coefficients.iter().find(|&&c| c != 0).is_some_and(|&c| c > 0)
}

fn canonical_dense(data: &Arc<[Number]>, ty: &TensorType) -> Constant {
    let dense = || Constant::Dense(data.clone());
    let Some(&first) = data.first() else { return dense() };
    if data.iter().all(|&v| v == first) {
        return Constant::Uniform(first);
    }
    if let Some(a) = fit(data, ty) {
        return Constant::Affine(a);
    }
    match fit_region(data, ty) {
        Some(region) => canonical_region(region, ty),
        None => dense(),
    }
}

/// The formula that gives all elements, if there is one.
fn fit(data: &[Number], ty: &TensorType) -> Option<Affine> {
    if ty.dtype == DType::Bool {
        return None;
    }
    let offset = integer(data[0])?;
    let mut stride = data.len();
    let mut coefficients: SmallVec<[i64; 4]> = SmallVec::new();
    for &size in &ty.shape {
        stride /= size;
        coefficients.push(if size > 1 { integer(data[stride])? - offset } else { 0 });
    }
    let a = Affine { offset, coefficients };
    let formula = Constant::Affine(a.clone());
    let fits = data.iter().enumerate().all(|(i, v)| *v == formula.at(ty, &unflatten(&ty.shape, i)));
    fits.then_some(a)
}

/// The two numbers that all elements are, and the band of places that tells them apart, if there is one.
fn fit_region(data: &[Number], ty: &TensorType) -> Option<Region> {
    let one = *data.first()?;
    let other = *data.iter().find(|&&v| v != one)?;
    if ty.rank() == 0 || data.iter().any(|&v| v != one && v != other) {
        return None;
    }
    // Seen from the diagonal, or along the rows.
    [true, false].into_iter().find_map(|from_diagonal| {
        [(one, other), (other, one)].into_iter().find_map(|(inside, outside)| {
            let bounds = fit_band(data, ty, from_diagonal && ty.rank() >= 2, inside)?.to_vec();
            Some(Region { bounds, inside, outside })
        })
    })
}

/// The bounds of the band `least <= column - row <= most`, or `least <= column <= most`, that holds the number `inside` and no
/// other, if there is one.
fn fit_band(data: &[Number], ty: &TensorType, from_diagonal: bool, inside: Number) -> Option<[Affine; 2]> {
    let last = ty.rank() - 1;
    let distance = |flat: usize| {
        let index = unflatten(&ty.shape, flat);
        index[last] as i64 - if from_diagonal { index[last - 1] as i64 } else { 0 }
    };
    let within = || (0..data.len()).filter(|&i| data[i] == inside).map(distance);
    let (least, most) = (within().min()?, within().max()?);
    let fits = (0..data.len()).all(|i| (data[i] == inside) == (least..=most).contains(&distance(i)));
    let bound = |sign: i64, limit: i64| {
        let mut a = Affine { offset: -sign * limit, coefficients: SmallVec::from_elem(0, ty.rank()) };
        a.coefficients[last] = sign;
        if from_diagonal {
            a.coefficients[last - 1] = -sign;
        }
        flat(a, ty)
    };
    fits.then(|| [bound(1, most), bound(-1, least)])
}
