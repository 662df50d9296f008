//! Where the elements of a matrix product can be other than 0.
//!
//! A product's rows are 0 where the left side's are, and its columns where the right side's are. That is so where all
//! that went in is finite.

use super::known::{Known, Supports};
use super::places::{Dims, both, union};

/// The product of rows, operand `x`, and a matrix, operand `y`, whose dimension `columns` is the last of the result's.
pub(crate) fn product(s: &Supports, (x, y): (usize, usize), columns: usize, bias: Option<usize>) -> Option<Dims> {
    if !s.is_finite() {
        return None;
    }
    let (x, y) = (s.operand(x)?, s.operand(y)?);
    let last = s.ty.rank().checked_sub(1)?;
    let mut dims: Dims = (0..last).map(|d| x.dim(d)).collect();
    dims.push(y.dim(columns));
    Some(biased(s, dims, bias))
}

/// The product of matrices with batches that broadcast.
pub(crate) fn batched_product(s: &Supports, (x, y): (usize, usize), bias: Option<usize>) -> Option<Dims> {
    let (x, y, rank) = (s.operand(x)?, s.operand(y)?, s.ty.rank());
    if x.ty.rank() < 2 || y.ty.rank() < 2 || rank < 2 || !s.is_finite() {
        return None;
    }
    let batch = |o: &Known| -> Dims {
        let own = o.ty.rank() - 2;
        let skip = (rank - 2).saturating_sub(own);
        let of = |d: usize| {
            let own = d.checked_sub(skip)?;
            if o.ty.shape[own] == s.ty.shape[d] { o.dim(own) } else { None }
        };
        (0..rank - 2).map(of).collect()
    };
    let mut dims = both(batch(x), batch(y));
    dims.push(x.dim(x.ty.rank() - 2));
    dims.push(y.dim(y.ty.rank() - 1));
    Some(biased(s, dims, bias))
}

/// A product to which a bias is added if one is given.
fn biased(s: &Supports, dims: Dims, bias: Option<usize>) -> Dims {
    match bias.and_then(|i| s.broadcast(i)) {
        Some(bias) => union(dims, bias),
        None => dims,
    }
}
