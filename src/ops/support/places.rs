//! Places along the dimensions of a value.

use std::sync::Arc;

use smallvec::SmallVec;

/// Places along a dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaceSet {
    /// In ascending order.
    list: Vec<usize>,
    pub(super) has: Vec<bool>,
}

/// The longest dimension of which places are listed. Of a longer one nothing is known, which is never wrong.
pub(super) const LONGEST: usize = 1 << 22;

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

pub(crate) fn joined(x: Dim, y: Dim) -> Dim {
    match (x, y) {
        (Some(x), Some(y)) if Arc::ptr_eq(&x, &y) || x == y => Some(x),
        (Some(x), Some(y)) => PlaceSet::new(x.has.len(), |i| x.contains(i) || y.contains(i)),
        _ => None,
    }
}

pub(crate) fn common(x: Dim, y: Dim) -> Dim {
    match (x, y) {
        (Some(x), Some(y)) if Arc::ptr_eq(&x, &y) || x == y => Some(x),
        (Some(x), Some(y)) => PlaceSet::new(x.has.len(), |i| x.contains(i) && y.contains(i)),
        (x, y) => x.or(y),
    }
}

pub(crate) fn union(x: Dims, y: Dims) -> Dims {
    x.into_iter().zip(y).map(|(x, y)| joined(x, y)).collect()
}

pub(super) fn both(x: Dims, y: Dims) -> Dims {
    x.into_iter().zip(y).map(|(x, y)| common(x, y)).collect()
}
