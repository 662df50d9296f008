//! Constants without their bulk: an input-independent tensor as a formula over its index.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::ir::{Number, TensorType, flat_index};

/// `offset + Σ coefficients[d] * index[d]`, with integer coefficients.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Affine {
    pub offset: i64,
    pub coefficients: SmallVec<[i64; 4]>,
}

impl Affine {
    pub fn at(&self, index: &[usize]) -> i64 {
        self.coefficients.iter().zip(index).fold(self.offset, |sum, (c, &i)| sum + c * i as i64)
    }
}

/// Elements that are one number where every bound is at most 0, and another one elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Region {
    /// Sorted and without repeats.
    pub bounds: Vec<Affine>,
    pub inside: Number,
    pub outside: Number,
}

impl Region {
    /// True within the bounds, and false elsewhere.
    pub fn of_truth(bounds: Vec<Affine>) -> Region {
        Region { bounds, inside: true.into(), outside: false.into() }
    }

    fn at(&self, index: &[usize]) -> Number {
        if self.bounds.iter().all(|a| a.at(index) <= 0) { self.inside } else { self.outside }
    }
}

/// The elements of an input-independent tensor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Constant {
    /// Every element is the same.
    Uniform(Number),
    /// Integer positions: what `arange` and arithmetic on it give.
    Affine(Affine),
    /// One of two numbers by the place: comparisons of positions and what is chosen by them, such as causal masks.
    Region(Region),
    /// Everything else, if it is small: elements in row-major order.
    Dense(Arc<[Number]>),
}

impl Constant {
    /// Element `index` of the constant, whose type is `ty`.
    pub fn at(&self, ty: &TensorType, index: &[usize]) -> Number {
        match self {
            Constant::Uniform(v) => *v,
            // The formula holds values of the type only.
            Constant::Affine(a) if ty.dtype.is_float() => Number::float(a.at(index) as f64),
            Constant::Affine(a) => Number::Int(a.at(index)),
            Constant::Region(region) => region.at(index),
            Constant::Dense(data) => data[flat_index(&ty.shape, index)],
        }
    }

    /// The value that all elements have.
    pub fn uniform(&self) -> Option<Number> {
        match self {
            Constant::Uniform(v) => Some(*v),
            _ => None,
        }
    }

    /// Whether this bool tensor of type `ty` is true exactly where the last index is at most the one before it.
    pub fn is_causal_mask(&self, ty: &TensorType) -> bool {
        let rank = ty.rank();
        let Constant::Region(Region { bounds, inside, outside }) = self else { return false };
        let [a] = bounds.as_slice() else { return false };
        rank >= 2
            && inside.is_true()
            && !outside.is_true()
            && a.offset == 0
            && a.coefficients.iter().enumerate().all(|(d, &c)| {
                c == match d {
                    _ if d == rank - 1 => 1,
                    _ if d == rank - 2 => -1,
                    _ => 0,
                }
            })
    }
}
