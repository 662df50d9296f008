//! Where the elements of a value can be other than 0: places along each dimension, from those of the operands. In a
//! model whose weights are 0 but for a few rows and columns, most of every value need not be looked at.

mod call;
mod product;
mod views;

use std::sync::Arc;

pub use call::support;
use smallvec::SmallVec;

use super::Interval;
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

type Dims = SmallVec<[Dim; 4]>;

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
    fn is_finite(&self) -> bool {
        self.interval.is_some()
    }

    fn dim(&self, axis: usize) -> Dim {
        self.support.and_then(|s| s.dims.get(axis)?.clone())
    }

    fn dims(&self) -> Dims {
        (0..self.ty.rank()).map(|d| self.dim(d)).collect()
    }

    /// The dimensions after broadcasting to `shape`.
    fn broadcast(&self, shape: &[usize]) -> Dims {
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

fn joined(x: Dim, y: Dim) -> Dim {
    match (x, y) {
        (Some(x), Some(y)) if Arc::ptr_eq(&x, &y) || x == y => Some(x),
        (Some(x), Some(y)) => PlaceSet::new(x.has.len(), |i| x.contains(i) || y.contains(i)),
        _ => None,
    }
}

fn common(x: Dim, y: Dim) -> Dim {
    match (x, y) {
        (Some(x), Some(y)) if Arc::ptr_eq(&x, &y) || x == y => Some(x),
        (Some(x), Some(y)) => PlaceSet::new(x.has.len(), |i| x.contains(i) && y.contains(i)),
        (x, y) => x.or(y),
    }
}

fn union(x: Dims, y: Dims) -> Dims {
    x.into_iter().zip(y).map(|(x, y)| joined(x, y)).collect()
}

fn both(x: Dims, y: Dims) -> Dims {
    x.into_iter().zip(y).map(|(x, y)| common(x, y)).collect()
}

fn either(x: &Known, y: &Known, ty: &TensorType) -> Dims {
    union(x.broadcast(&ty.shape), y.broadcast(&ty.shape))
}
