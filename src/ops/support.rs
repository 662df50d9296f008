//! Where the elements of a value can be other than 0: places along each dimension, from those of the operands. In a
//! model whose weights are 0 but for a few rows and columns, most of every value need not be looked at.

mod product;
mod views;

use std::sync::Arc;

pub(super) use product::{batched_product, product};
use smallvec::SmallVec;
pub(super) use views::{concatenated, reshaped};

use super::{Call, Interval, range};
use crate::ir::TensorType;

/// Places along a dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaceSet {
    /// In ascending order.
    list: Vec<usize>,
    has: Vec<bool>,
}

/// The longest dimension of which places are listed. Of a longer one nothing is known, which is never wrong.
const LONGEST: usize = 1 << 22;

impl PlaceSet {
    /// The places below `size` that `keep` holds for.
    pub fn new(size: usize, keep: impl Fn(usize) -> bool) -> Dim {
        if size > LONGEST {
            return None;
        }
        let has: Vec<bool> = (0..size).map(keep).collect();
        if has.iter().all(|&h| h) && size > 0 {
            return None;
        }
        let list = has.iter().enumerate().filter(|&(_, &h)| h).map(|(i, _)| i).collect();
        Some(Arc::new(PlaceSet { list, has }))
    }

    /// Every `stride`-th place of `size`, from `first` on.
    pub fn strided(size: usize, stride: usize, first: usize) -> Dim {
        PlaceSet::new(size, |i| i % stride.max(1) == first % stride.max(1))
    }

    /// All places, in ascending order.
    pub fn list(&self) -> &[usize] {
        &self.list
    }

    /// Whether `place` is one of them.
    pub fn contains(&self, place: usize) -> bool {
        self.has.get(place).copied().unwrap_or(true)
    }
}

/// Places along one dimension; `None` for all of them.
pub type Dim = Option<Arc<PlaceSet>>;

/// Places along each dimension.
pub type Dims = SmallVec<[Dim; 4]>;

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

pub(super) fn joined(x: Dim, y: Dim) -> Dim {
    match (x, y) {
        (Some(x), Some(y)) if Arc::ptr_eq(&x, &y) || x == y => Some(x),
        (Some(x), Some(y)) => PlaceSet::new(x.has.len(), |i| x.contains(i) || y.contains(i)),
        _ => None,
    }
}

pub(super) fn common(x: Dim, y: Dim) -> Dim {
    match (x, y) {
        (Some(x), Some(y)) if Arc::ptr_eq(&x, &y) || x == y => Some(x),
        (Some(x), Some(y)) => PlaceSet::new(x.has.len(), |i| x.contains(i) && y.contains(i)),
        (x, y) => x.or(y),
    }
}

pub(super) fn union(x: Dims, y: Dims) -> Dims {
    x.into_iter().zip(y).map(|(x, y)| joined(x, y)).collect()
}

fn both(x: Dims, y: Dims) -> Dims {
    x.into_iter().zip(y).map(|(x, y)| common(x, y)).collect()
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
pub(super) fn same(s: &Supports) -> Option<Dims> {
    Some(s.operand(0)?.dims())
}

/// Where both factors are other than 0.
pub(super) fn of_product(s: &Supports) -> Option<Dims> {
    let (x, y) = (s.operand(0)?, s.operand(1)?);
    let (of_x, of_y) = (x.broadcast(&s.ty.shape), y.broadcast(&s.ty.shape));
    Some(both(within(x, y, of_x), within(y, x, of_y)))
}

/// Where `x` is other than 0, unless `other` could make a NaN of 0.
fn within(x: &Known, other: &Known, dims: Dims) -> Dims {
    let zero = x.interval.is_some_and(Interval::is_zero);
    if other.is_finite() && !zero { dims } else { dims.into_iter().map(|_| None).collect() }
}

/// Where the elements of output `slot`, of type `ty`, of a call can be other than 0. `None` where that is not known.
pub fn support(call: &Call, slot: usize, operands: &[Known], ty: &TensorType) -> Option<Support> {
    let dims = (call.op.support)(&Supports { call, slot, operands, ty })?;
    let fits = |(dim, &size): (&Dim, &usize)| dim.as_ref().is_none_or(|d| d.has.len() == size);
    let fit = dims.len() == ty.rank() && dims.iter().zip(&ty.shape).all(fits);
    if fit { Support::new(dims) } else { None }
}
