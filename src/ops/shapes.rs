//! Shape arithmetic that several families share.

use smallvec::SmallVec;

use super::{Call, TypeError, Types};
use crate::ir::{AttrValue, DType, Ints, MAX_ELEMENTS, Shape, TensorType};

/// The shape that PyTorch broadcasts both shapes to.
pub fn broadcast(a: &[usize], b: &[usize]) -> Option<Shape> {
    let rank = a.len().max(b.len());
    let size = |s: &[usize], i: usize| (i + s.len()).checked_sub(rank).map_or(1, |j| s[j]);
    (0..rank)
        .map(|i| match (size(a, i), size(b, i)) {
            (x, y) if x == y => Some(x),
            (1, y) => Some(y),
            (x, 1) => Some(x),
            _ => None,
        })
        .collect()
}

/// The index into an operand of shape `operand` that feeds element `index` of the broadcast result.
pub fn broadcast_index(operand: &[usize], index: &[usize]) -> Shape {
    let skip = index.len() - operand.len();
    operand.iter().zip(&index[skip..]).map(|(&size, &i)| if size == 1 { 0 } else { i }).collect()
}

/// A dimension that may count from the end, as an index below `rank`.
pub fn normalize_dim(dim: i64, rank: usize) -> Option<usize> {
    let rank = i64::try_from(rank).ok()?;
    // PyTorch lets a rank-0 tensor pass as rank 1.
    let range = rank.max(1);
    let dim = if dim < 0 { dim.checked_add(range)? } else { dim };
    (0..range).contains(&dim).then_some(dim as usize)
}

/// A `slice` bound that may count from the end or lie outside, clamped to `0..=size` as Python does.
pub fn clamp_bound(bound: i64, size: usize) -> usize {
    let size = size as i64;
    let bound = if bound < 0 { bound.saturating_add(size) } else { bound };
    bound.clamp(0, size) as usize
}

/// The target of a `reshape` to `sizes`, one of which may be -1, for a tensor of `numel` elements.
pub fn resolve_reshape(sizes: &[i64], numel: usize) -> Option<Shape> {
    let mut known = 1_usize;
    let mut wild = None;
    for (i, &s) in sizes.iter().enumerate() {
        match (s, wild) {
            (-1, None) => wild = Some(i),
            (0.., _) => known = known.checked_mul(usize::try_from(s).ok()?).filter(|&n| n <= MAX_ELEMENTS)?,
            _ => return None,
        }
    }
    let mut shape: Shape = sizes.iter().map(|&s| usize::try_from(s).unwrap_or(0)).collect();
    match wild {
        Some(i) if known > 0 && numel.is_multiple_of(known) => shape[i] = numel / known,
        Some(_) => return None,
        None if known != numel => return None,
        None => {}
    }
    Some(shape)
}

/// The permutation that undoes `dims`; `None` if `dims` is no permutation.
pub fn inverse_permutation(dims: &[i64]) -> Option<Ints> {
    let mut inverse: Ints = SmallVec::from_elem(-1, dims.len());
    for (i, &d) in dims.iter().enumerate() {
        let slot = inverse.get_mut(usize::try_from(d).ok()?)?;
        if *slot >= 0 {
            return None;
        }
        *slot = i as i64;
    }
    Some(inverse)
}

/// The order that undoes `order`, which is a permutation.
pub fn inverse_order(order: &[usize]) -> Vec<usize> {
    let mut inverse = vec![0; order.len()];
    for (i, &d) in order.iter().enumerate() {
        inverse[d] = i;
    }
    inverse
}

/// The single permutation that does first `inner`, then `outer`.
pub fn compose_permutations(inner: &[i64], outer: &[i64]) -> Option<Ints> {
    outer.iter().map(|&d| inner.get(usize::try_from(d).ok()?).copied()).collect()
}

/// Calls `visit` with every index that agrees with `index` outside of `axes`, in row-major order over `axes`.
pub fn visit_axes<E>(
    shape: &[usize],
    axes: &[usize],
    index: &[usize],
    mut visit: impl FnMut(&[usize]) -> Result<(), E>,
) -> Result<(), E> {
    if axes.iter().any(|&a| shape[a] == 0) {
        return Ok(());
    }
    let mut at = Shape::from_slice(index);
    for &a in axes {
        at[a] = 0;
    }
    loop {
        visit(&at)?;
        let mut moved = false;
        for &a in axes.iter().rev() {
            at[a] += 1;
            if at[a] < shape[a] {
                moved = true;
                break;
            }
            at[a] = 0;
        }
        if !moved {
            return Ok(());
        }
    }
}

impl Call<'_> {
    /// A single output type, checked for size.
    pub fn output(&self, dtype: DType, shape: impl Into<Shape>) -> Result<Types, TypeError> {
        let ty = TensorType::new(dtype, shape).map_err(|e| self.error(e.to_string()))?;
        Ok(SmallVec::from_elem(ty, 1))
    }

    /// The dimension attribute `name`, checked against the rank of operand `operand`.
    pub fn dim(&self, name: &str, operand: usize) -> Result<usize, TypeError> {
        let rank = self.operands[operand].rank();
        let dim = self.int(name);
        normalize_dim(dim, rank)
            .ok_or_else(|| self.error(format!("has no dimension {dim} in {}", self.operands[operand])))
    }

    /// The dimension `dim` of operand 0, which must not be a scalar, and its size.
    pub fn sized_dim(&self) -> Result<(usize, usize), TypeError> {
        let dim = self.dim("dim", 0)?;
        match self.operands[0].shape.get(dim) {
            Some(&size) => Ok((dim, size)),
            None => Err(self.error("takes no scalar")),
        }
    }

    /// The attribute `dim` of a well-typed call as the axes of a lane: none for a scalar, which is its own lane.
    pub fn dim_axis(&self) -> SmallVec<[usize; 4]> {
        (self.operands[0].rank() > 0).then(|| self.size("dim")).into_iter().collect()
    }

    /// The dimension list `name`, checked against the rank of operand 0 and for repeats.
    pub fn dims(&self, name: &str) -> Result<SmallVec<[usize; 4]>, TypeError> {
        let rank = self.operands[0].rank();
        let dims: SmallVec<[usize; 4]> = self
            .ints(name)
            .iter()
            .map(|&d| normalize_dim(d, rank))
            .collect::<Option<_>>()
            .ok_or_else(|| self.error(format!("has `{name}` outside of {}", self.operands[0])))?;
        let repeated = dims.iter().enumerate().any(|(i, d)| dims[..i].contains(d));
        if repeated { Err(self.error(format!("names a dimension twice in `{name}`"))) } else { Ok(dims) }
    }

    /// Refuses operands that are not floating-point.
    pub fn want_float(&self) -> Result<(), TypeError> {
        match self.operands.iter().find(|t| !t.dtype.is_float()) {
            Some(t) => Err(self.error(format!("takes floating-point operands, not {t}"))),
            None => Ok(()),
        }
    }

    /// Refuses operands of type bool.
    pub fn refuse_bool(&self) -> Result<(), TypeError> {
        match self.operands.iter().find(|t| t.dtype == DType::Bool) {
            Some(t) => Err(self.error(format!("takes numbers, not {t}"))),
            None => Ok(()),
        }
    }

    /// The element type that all operands in `range` share.
    pub fn same_dtype(&self, range: std::ops::Range<usize>) -> Result<DType, TypeError> {
        let first = self.operands[range.start];
        match self.operands[range].iter().find(|t| t.dtype != first.dtype) {
            Some(t) => Err(self.error(format!("takes operands of one element type, not {first} and {t}"))),
            None => Ok(first.dtype),
        }
    }

    /// The shape that all operands in `range` broadcast to.
    pub fn broadcast(&self, range: std::ops::Range<usize>) -> Result<Shape, TypeError> {
        let mut shape = Shape::new();
        for t in &self.operands[range] {
            shape =
                broadcast(&shape, &t.shape).ok_or_else(|| self.error(format!("cannot broadcast {shape:?} and {t}")))?;
        }
        Ok(shape)
    }
}

/// A shape as an attribute.
pub fn shape_attr(shape: &[usize]) -> AttrValue {
    AttrValue::shape(shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reshape_resolves_one_wildcard() {
        assert_eq!(resolve_reshape(&[2, -1], 6).as_deref(), Some(&[2, 3][..]));
        assert_eq!(resolve_reshape(&[-1, -1], 6), None);
        assert_eq!(resolve_reshape(&[4, -1], 6), None);
        assert_eq!(resolve_reshape(&[i64::MAX, i64::MAX], 6), None);
    }

    #[test]
    fn slice_bounds_clamp_as_in_python() {
        assert_eq!(clamp_bound(i64::MAX, 5), 5);
        assert_eq!(clamp_bound(-2, 5), 3);
        assert_eq!(clamp_bound(i64::MIN, 5), 0);
    }

    #[test]
    fn a_permutation_and_its_inverse_cancel() {
        let p = [2, 0, 1];
        let q = inverse_permutation(&p).expect("a permutation");
        assert_eq!(compose_permutations(&p, &q).as_deref(), Some(&[0, 1, 2][..]));
        assert_eq!(inverse_permutation(&[0, 0]), None);
        assert_eq!(inverse_permutation(&[0, 2]), None);
    }
}
