//! One form for each value.

use std::sync::Arc;

use smallvec::SmallVec;

use super::formula::{integer, range};
use crate::eval::constant::{Affine, Constant};
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
        Constant::Polyhedron(all) => canonical_polyhedron(all.into_iter().map(|a| tighten(flat(a, ty))), ty),
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

fn canonical_polyhedron(all: impl Iterator<Item = Affine>, ty: &TensorType) -> Constant {
    let mut kept: Vec<Affine> = Vec::new();
    for a in all {
        match range(&a, &ty.shape) {
            Some((_, high)) if high <= 0 => {}
            Some((low, _)) if low > 0 => return Constant::Uniform(false.into()),
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
    if kept.is_empty() { Constant::Uniform(true.into()) } else { Constant::Polyhedron(kept) }
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
    if ty.dtype == DType::Bool
        && ty.rank() >= 2
        && let Some(bounds) = fit_band(data, ty)
    {
        return canonical_polyhedron(bounds.into_iter(), ty);
    }
    dense()
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

/// The bounds of the band `least <= column - row <= most` that gives all elements, if there is one.
fn fit_band(data: &[Number], ty: &TensorType) -> Option<[Affine; 2]> {
    let rank = ty.rank();
    let distance = |flat: usize| {
        let index = unflatten(&ty.shape, flat);
        index[rank - 1] as i64 - index[rank - 2] as i64
    };
    let inside = || (0..data.len()).filter(|&i| data[i].is_true()).map(distance);
    let (least, most) = (inside().min()?, inside().max()?);
    let fits = (0..data.len()).all(|i| data[i].is_true() == (least..=most).contains(&distance(i)));
    let bound = |sign: i64, limit: i64| {
        let mut a = Affine { offset: -sign * limit, coefficients: SmallVec::from_elem(0, rank) };
        a.coefficients[rank - 1] = sign;
        a.coefficients[rank - 2] = -sign;
        flat(a, ty)
    };
    fits.then(|| [bound(1, most), bound(-1, least)])
}
