//! Tensor types: an element type and a concrete shape.

use std::fmt;

use serde::Serialize;
use smallvec::SmallVec;

use super::DType;

/// Sizes per dimension, outermost first.
pub type Shape = SmallVec<[usize; 4]>;

/// The most elements a tensor may have. Far above any real tensor, and low enough that element
/// counts, byte counts and their sums over a graph cannot overflow.
pub const MAX_ELEMENTS: usize = 1 << 44;

/// The most dimensions a tensor may have.
pub const MAX_RANK: usize = 16;

/// What a value is, leaving aside how it lies in memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct TensorType {
    /// The type of each element.
    pub dtype: DType,
    /// Sizes, outermost dimension first.
    pub shape: Shape,
}

/// A shape that is larger than this tool handles.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the message of each variant says it")]
pub enum ShapeError {
    #[error("a tensor of shape {0:?} has more than 2^44 elements")]
    TooManyElements(Vec<usize>),
    #[error("a tensor of rank {0} has more than {MAX_RANK} dimensions")]
    TooManyDimensions(usize),
}

impl TensorType {
    /// A type whose element count is known to be sane.
    ///
    /// # Errors
    /// More elements or dimensions than any tensor has.
    pub fn new(dtype: DType, shape: impl Into<Shape>) -> Result<Self, ShapeError> {
        let shape = shape.into();
        if shape.len() > MAX_RANK {
            return Err(ShapeError::TooManyDimensions(shape.len()));
        }
        // Zero sizes must not hide an overflowing product from later dimension arithmetic.
        let elements = shape.iter().try_fold(1_usize, |n, &d| n.checked_mul(d.max(1)));
        match elements {
            Some(n) if n <= MAX_ELEMENTS => Ok(Self { dtype, shape }),
            _ => Err(ShapeError::TooManyElements(shape.to_vec())),
        }
    }

    /// The type of a single number.
    pub fn scalar(dtype: DType) -> Self {
        Self { dtype, shape: Shape::new() }
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Number of elements.
    pub fn numel(&self) -> usize {
        self.shape.iter().product()
    }

    /// Bytes of one dense copy.
    pub fn bytes(&self) -> usize {
        self.numel() * self.dtype.bytes()
    }

    /// The same shape with another element type.
    pub fn with_dtype(&self, dtype: DType) -> Self {
        Self { dtype, shape: self.shape.clone() }
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[", self.dtype)?;
        for (i, d) in self.shape.iter().enumerate() {
            write!(f, "{}{d}", if i == 0 { "" } else { ", " })?;
        }
        f.write_str("]")
    }
}

/// The position in a dense row-major tensor of `shape` that `index` names.
pub fn flat_index(shape: &[usize], index: &[usize]) -> usize {
    shape.iter().zip(index).fold(0, |flat, (&size, &i)| flat * size + i)
}

/// The index that `flat` stands for in a dense row-major tensor of `shape`.
pub fn unflatten(shape: &[usize], mut flat: usize) -> Shape {
    let mut index: Shape = SmallVec::from_elem(0, shape.len());
    for (i, &size) in index.iter_mut().zip(shape).rev() {
        if size > 0 {
            *i = flat % size;
            flat /= size;
        }
    }
    index
}

/// Row-major strides of a dense tensor, as PyTorch reports them (a size of 0 counts as 1).
pub(crate) fn dense_strides(shape: &[usize]) -> SmallVec<[usize; 4]> {
    let mut strides: SmallVec<[usize; 4]> = SmallVec::from_elem(1, shape.len());
    for i in (1..shape.len()).rev() {
        strides[i - 1] = strides[i] * shape[i].max(1);
    }
    strides
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_shapes_are_refused() {
        assert!(TensorType::new(DType::F32, Shape::from_slice(&[usize::MAX, 2])).is_err());
        assert!(TensorType::new(DType::F32, Shape::from_slice(&[0, usize::MAX, usize::MAX])).is_err());
        assert!(TensorType::new(DType::F32, Shape::from_elem(1, MAX_RANK + 1)).is_err());
    }

    #[test]
    fn flat_and_unflatten_are_inverse() {
        let shape = [2, 3, 4];
        for flat in 0..24 {
            assert_eq!(flat_index(&shape, &unflatten(&shape, flat)), flat);
        }
    }
}
