//! What is known of the operands of a call of which the places that can be other than 0 are asked for.

use smallvec::SmallVec;

use super::places::{Dim, Dims, PlaceSet, union};
use crate::ir::TensorType;
use crate::ops::{Call, Interval, range};

/// Elements are 0 unless their index lies in all of these sets, one per dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct Support {
    dims: Dims,
}

impl Support {
    /// `None` where every dimension is whole.
    pub fn new(dims: impl IntoIterator<Item = Dim>) -> Option<Support> {
        let dims: Dims = dims.into_iter().collect();
        dims.iter().any(Option::is_some).then_some(Support { dims })
    }

    /// Whether the element at `index` can be other than 0.
    pub fn contains(&self, index: &[usize]) -> bool {
        self.dims.iter().zip(index).all(|(dim, &i)| dim.as_ref().is_none_or(|d| d.contains(i)))
    }

    /// The places along dimension `axis`.
    pub fn dim(&self, axis: usize) -> Option<&PlaceSet> {
        self.dims.get(axis)?.as_deref()
    }
}

/// What is known of an operand.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    pub ty: &'a TensorType,
    pub interval: Option<Interval>,
    pub support: Option<&'a Support>,
}

impl Known<'_> {
    pub fn is_finite(&self) -> bool {
        self.interval.is_some()
    }

    pub fn dim(&self, axis: usize) -> Dim {
        self.support.and_then(|s| s.dims.get(axis)?.clone())
    }

    pub fn dims(&self) -> Dims {
        (0..self.ty.rank()).map(|d| self.dim(d)).collect()
    }

    /// The dimensions after broadcasting to `shape`.
    pub fn broadcast(&self, shape: &[usize]) -> Dims {
        if self.interval.is_some_and(Interval::is_zero) {
            return shape.iter().map(|&n| PlaceSet::new(n, |_| false)).collect();
        }
        let skip = shape.len().saturating_sub(self.ty.rank());
        let of = |(i, &size): (usize, &usize)| {
            let own = i.checked_sub(skip)?;
            if self.ty.shape[own] == size { self.dim(own) } else { None }
        };
        shape.iter().enumerate().map(of).collect()
    }
}

/// A call of which the places that can be other than 0 are asked for, in output `slot`, of type `ty`.
pub struct Supports<'a> {
    pub call: &'a Call<'a>,
    pub slot: usize,
    pub operands: &'a [Known<'a>],
    pub ty: &'a TensorType,
}

impl Supports<'_> {
    pub fn operand(&self, i: usize) -> Option<&Known<'_>> {
        self.operands.get(i)
    }

    /// The places along a dimension of an operand.
    pub fn dim(&self, operand: usize, axis: usize) -> Dim {
        self.operand(operand).and_then(|o| o.dim(axis))
    }

    /// Whether all that goes in is finite. Then 0 times it is 0.
    pub fn is_finite(&self) -> bool {
        range(self.call, &self.operands.iter().map(|o| o.interval).collect::<SmallVec<[_; 4]>>()).is_some()
    }

    /// Where an operand that is broadcast is other than 0.
    pub fn broadcast(&self, operand: usize) -> Option<Dims> {
        Some(self.operand(operand)?.broadcast(&self.ty.shape))
    }

    /// Where one of two operands is other than 0.
    pub fn either(&self, x: usize, y: usize) -> Option<Dims> {
        Some(union(self.broadcast(x)?, self.broadcast(y)?))
    }

    /// Where operand 0 is, and anywhere along dimension `dim`.
    pub fn all_along(&self, dim: usize) -> Option<Dims> {
        let mut dims = same(self)?;
        *dims.get_mut(dim)? = None;
        Some(dims)
    }

    /// Where operand 0 is, with places of dimension `dim` read at `place`.
    pub fn part(&self, dim: usize, place: impl Fn(usize) -> usize) -> Option<Dims> {
        let mut dims = same(self)?;
        if let (Some(d), Some(&size)) = (dims.get_mut(dim), self.ty.shape.get(dim)) {
            *d = d.take().and_then(|d| PlaceSet::new(size, |i| d.contains(place(i))));
        }
        Some(dims)
    }
}

/// Where operand 0 is other than 0.
pub(crate) fn same(s: &Supports) -> Option<Dims> {
    Some(s.operand(0)?.dims())
}
