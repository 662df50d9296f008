//! How the elements of an input are chosen: each is a function of a seed and its position, so that inputs of billions
//! of elements need no memory.

use std::sync::Arc;

use rayon::prelude::*;
use smallvec::SmallVec;

use super::Interval;
use super::random::{element, mix};
use super::{PlaceSet, Support};
use crate::ir::{TensorType, flat_index};

/// The values of an input tensor.
#[derive(Clone, Debug, PartialEq)]
pub enum Draw {
    /// The same value everywhere, rounded to the tensor's type.
    Fill(f64),
    /// Floats of mean 0 and standard deviation `scale`; integers and bools as [`element`] has them.
    Dense { seed: u64, scale: f64 },
    /// Floats between 1/2 and 2: variances and other quantities that are positive by nature.
    Positive { seed: u64 },
    /// Integers from 0 to `limit - 1`: positions in a table.
    Below { seed: u64, limit: usize },
    /// The same, but 0 at most places of the last dimension: a sequence that is mostly padding.
    Padded { seed: u64, limit: usize },
    /// Ones with some zeros between them, never a zero at the start of the last dimension: a mask that leaves no row
    /// without a key.
    Mask { seed: u64 },
    /// One of these values at each place, rounded to the tensor's type.
    Chosen { seed: u64, values: Arc<[f64]>, arranged: Arranged },
    /// Floats of mean 0 and standard deviation `scale` at every `stride`-th place of the last dimension, from place
    /// `first` on, and 0 elsewhere.
    Strided { seed: u64, scale: f64, stride: usize, first: usize },
    /// The same, and 0 in the first row: a table in which padding has no features.
    Table { seed: u64, scale: f64, stride: usize, first: usize },
    /// Floats that are 0 but for a few elements in every row and column of a matrix.
    Sparse(Sparse),
    /// These elements, in row-major order.
    Held(Arc<[f64]>),
}

/// How chosen values lie along the last dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arranged {
    /// In any order, many of them more than once.
    Mixed,
    /// In the order of the list, over again.
    Listed,
    /// One value for each row.
    Rows,
}

/// Where a sparse matrix has elements other than 0: on a few diagonals that wrap around the shorter side, so that
/// every row and every column meets each of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Sparse {
    pub seed: u64,
    pub scale: f64,
    /// Leading dimensions that count matrices. The dimension behind them counts rows, all others columns.
    pub batch: usize,
    /// All other rows and columns than every so many, from place `first` on, are 0; the diagonals are those of the matrix
    /// that is left.
    pub strides: [usize; 2],
    pub first: usize,
}

/// Elements other than 0 in a line along the shorter side of a sparse matrix.
pub const DIAGONALS: usize = 8;

/// Whether a sequence of `length` that is mostly padding has a token at `place`: near both ends, and here and there between.
fn has_token(place: usize, length: usize) -> bool {
    place < 4 || place + 4 >= length || place.is_multiple_of(32)
}

/// Places along a line of a tensor, in ascending order.
pub type Places = SmallVec<[usize; 16]>;

impl Draw {
    /// Element number `flat`, in row-major order, of a tensor of type `ty`.
    pub fn element(&self, ty: &TensorType, flat: usize) -> f64 {
        match self {
            Draw::Fill(value) => ty.dtype.round(*value),
            Draw::Dense { seed, scale } if ty.dtype.is_float() => ty.dtype.round(scale * element(*seed, ty, flat)),
            Draw::Dense { seed, .. } => element(*seed, ty, flat),
            Draw::Positive { seed } => ty.dtype.round(0.5 + 0.5 * element(*seed, ty, flat).abs()),
            Draw::Below { seed, limit } => (mix(*seed, flat as u64) % (*limit).max(1) as u64) as f64,
            Draw::Padded { seed, limit } => match has_token(flat % row(ty), row(ty)) {
                true => (mix(*seed, flat as u64) % (*limit).max(1) as u64) as f64,
                false => 0.0,
            },
            Draw::Mask { seed } => {
                let hidden = !flat.is_multiple_of(row(ty)) && mix(*seed, flat as u64).is_multiple_of(8);
                f64::from(u8::from(!hidden))
            }
            Draw::Chosen { seed, values, arranged } => {
                let number = match arranged {
                    Arranged::Mixed => mix(*seed, flat as u64),
                    Arranged::Listed => (flat % row(ty)) as u64 + seed % 8,
                    Arranged::Rows => mix(*seed, (flat / row(ty)) as u64),
                };
                values.get((number % values.len().max(1) as u64) as usize).map_or(0.0, |&value| ty.dtype.round(value))
            }
            Draw::Strided { seed, scale, stride, first } => match flat % row(ty) % stride == first % stride {
                true => ty.dtype.round(scale * element(*seed, ty, flat)),
                false => 0.0,
            },
            Draw::Table { .. } if flat < row(ty) => 0.0,
            &Draw::Table { seed, scale, stride, first } => {
                Draw::Strided { seed, scale, stride, first }.element(ty, flat)
            }
            Draw::Sparse(sparse) => sparse.element(ty, flat),
            Draw::Held(elements) => elements.get(flat).copied().unwrap_or(0.0),
        }
    }

    /// The only places along each dimension where elements can be other than 0.
    pub fn support(&self, ty: &TensorType) -> Option<Support> {
        let places = |d: usize| match self {
            Draw::Padded { .. } if d + 1 == ty.rank() => PlaceSet::new(ty.shape[d], |at| has_token(at, ty.shape[d])),
            Draw::Table { .. } if d == 0 && ty.rank() > 1 => PlaceSet::new(ty.shape[d], |row| row > 0),
            Draw::Strided { stride, first, .. } | Draw::Table { stride, first, .. } if d + 1 == ty.rank() => {
                PlaceSet::strided(ty.shape[d], *stride, *first)
            }
            Draw::Sparse(s) if d == s.batch => PlaceSet::strided(ty.shape[d], s.strides[0], s.first),
            Draw::Sparse(s) if d == s.batch + 1 && ty.rank() == d + 1 => {
                PlaceSet::strided(ty.shape[d], s.strides[1], s.first)
            }
            _ => None,
        };
        Support::new((0..ty.rank()).map(places))
    }

    /// The only places along dimension `axis` through `index` where elements can be other than 0, if they are few.
    pub fn line(&self, ty: &TensorType, index: &[usize], axis: usize) -> Option<Places> {
        match self {
            Draw::Sparse(sparse) => sparse.line(ty, index, axis),
            _ => None,
        }
    }

    /// The elements, in row-major order, that can be other than 0, if not all can be.
    pub fn places(&self, ty: &TensorType) -> Option<Vec<usize>> {
        match self {
            Draw::Fill(0.0) => Some(Vec::new()),
            Draw::Strided { stride, first, .. } | Draw::Table { stride, first, .. } => {
                let last = row(ty);
                let kept = |n: usize| (first % stride..last).step_by(*stride).map(move |place| n * last + place);
                let rows = usize::from(matches!(self, Draw::Table { .. }))..ty.numel() / last;
                Some(rows.flat_map(kept).collect())
            }
            Draw::Sparse(sparse) => Some(sparse.places(ty)),
            _ => None,
        }
    }

    /// Of one filter of a convolution: the elements, in row-major order, that can be other than 0, if they are few.
    pub fn filter(&self, ty: &TensorType, number: usize) -> Option<Places> {
        match self {
            Draw::Sparse(sparse) if sparse.batch == 0 => Some(sparse.along(ty, 1, number)),
            _ => None,
        }
    }

    /// What all elements lie in. Contains 0 wherever 0 is as good a value as any.
    pub fn interval(&self, ty: &TensorType) -> Option<Interval> {
        // Three uniform numbers add up to at most 3; rounding to a narrow type adds less than a tenth.
        let spread = |scale: f64| Interval::new(-3.3 * scale, 3.3 * scale);
        match self {
            Draw::Fill(value) => {
                let value = ty.dtype.round(*value);
                Interval::new(value, value)
            }
            Draw::Dense { scale, .. } if ty.dtype.is_float() => spread(*scale),
            Draw::Dense { .. } => Interval::new(0.0, 3.0),
            Draw::Positive { .. } => Interval::new(0.4, 2.2),
            Draw::Below { limit, .. } | Draw::Padded { limit, .. } => Interval::new(0.0, *limit as f64),
            Draw::Mask { .. } => Interval::new(0.0, 1.0),
            Draw::Chosen { values, .. } => {
                let values = values.iter().map(|&value| ty.dtype.round(value));
                Interval::new(values.clone().fold(0.0, f64::min), values.fold(0.0, f64::max))
            }
            Draw::Strided { scale, .. } | Draw::Table { scale, .. } => spread(*scale),
            Draw::Sparse(sparse) => spread(sparse.scale),
            Draw::Held(elements) => {
                let all = elements.iter().copied();
                Interval::new(all.clone().fold(0.0, f64::min), all.fold(0.0, f64::max))
            }
        }
    }
}

/// The size of the last dimension.
fn row(ty: &TensorType) -> usize {
    ty.shape.last().copied().unwrap_or(1).max(1)
}

impl Sparse {
    /// Rows and columns of one matrix.
    fn sizes(&self, ty: &TensorType) -> (usize, usize) {
        let rows = ty.shape.get(self.batch).copied().unwrap_or(1);
        (rows.max(1), ty.shape.iter().skip(self.batch + 1).product::<usize>().max(1))
    }

    /// Rows (`side` 0) or columns (1) that are not 0, of `size`.
    fn kept(&self, side: usize, size: usize) -> usize {
        let stride = self.strides[side];
        size.saturating_sub(self.first % stride).div_ceil(stride)
    }

    /// The number of a row or column among those that are not 0.
    fn narrow(&self, side: usize, place: usize) -> Option<usize> {
        let (stride, first) = (self.strides[side], self.first % self.strides[side]);
        (place % stride == first).then(|| place / stride)
    }

    /// The row or column that has a number among those that are not 0.
    fn widen(&self, side: usize, place: usize) -> usize {
        place * self.strides[side] + self.first % self.strides[side]
    }

    /// How far diagonal number `k` is shifted on a shorter side of `short` elements. Each lies in a stretch of its own.
    fn shift(&self, k: usize, short: usize) -> usize {
        let step = Self::stretch(short);
        k * step + (mix(self.seed, k as u64) % step as u64) as usize
    }

    /// Whether some diagonal is shifted that far.
    fn is_shift(&self, by: usize, short: usize) -> bool {
        let k = by / Self::stretch(short);
        k < Self::diagonals(short) && self.shift(k, short) == by
    }

    fn stretch(short: usize) -> usize {
        (short / DIAGONALS).max(1)
    }

    fn diagonals(short: usize) -> usize {
        DIAGONALS.min(short)
    }

    fn element(&self, ty: &TensorType, flat: usize) -> f64 {
        let (rows, columns) = self.sizes(ty);
        let (row, column) = (flat / columns % rows, flat % columns);
        let (Some(row), Some(column)) = (self.narrow(0, row), self.narrow(1, column)) else { return 0.0 };
        let (rows, columns) = (self.kept(0, rows), self.kept(1, columns));
        let (long, short, length) = if rows > columns { (row, column, columns) } else { (column, row, rows) };
        if !self.is_shift((long % length + length - short) % length, length) {
            return 0.0;
        }
        ty.dtype.round(self.scale * element(self.seed, ty, flat))
    }

    fn line(&self, ty: &TensorType, index: &[usize], axis: usize) -> Option<Places> {
        let column = flat_index(&ty.shape[self.batch + 1..], &index[self.batch + 1..]);
        let row = index[self.batch];
        // A line has to run along all rows or along all columns.
        if axis == self.batch {
            Some(self.along(ty, 0, column))
        } else {
            (axis == self.batch + 1 && ty.rank() == self.batch + 2).then(|| self.along(ty, 1, row))
        }
    }

    fn places(&self, ty: &TensorType) -> Vec<usize> {
        let (rows, columns) = self.sizes(ty);
        let of_row = |row: usize| self.along(ty, 1, row).into_iter().map(move |column| row * columns + column);
        let one: Vec<usize> = (0..rows).into_par_iter().flat_map_iter(of_row).collect();
        let matrices = 0..ty.numel() / (rows * columns);
        matrices.flat_map(|matrix| one.iter().map(move |place| matrix * rows * columns + place)).collect()
    }

    /// The rows (`side` 0) that are not 0 in column `fixed`, or the columns (1) that are not 0 in row `fixed`.
    fn along(&self, ty: &TensorType, side: usize, fixed: usize) -> Places {
        let (rows, columns) = self.sizes(ty);
        let mut places = Places::new();
        let Some(fixed) = self.narrow(1 - side, fixed) else { return places };
        let (rows, columns) = (self.kept(0, rows), self.kept(1, columns));
        let short = rows.min(columns);
        if short == 0 {
            return places;
        }
        let shifts = (0..Self::diagonals(short)).map(|k| self.shift(k, short));
        if (side == 0) == (rows > columns) {
            // Along the longer side: every element that lies a shift behind the place on the shorter one.
            let length = if side == 0 { rows } else { columns };
            for shift in shifts {
                places.extend(((fixed + shift) % short..length).step_by(short));
            }
        } else {
            places.extend(shifts.map(|shift| (fixed % short + short - shift) % short));
        }
        places.iter_mut().for_each(|place| *place = self.widen(side, *place));
        places.sort_unstable();
        places
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ir::{DType, Shape, unflatten};

    fn ty(shape: &[usize]) -> TensorType {
        TensorType::new(DType::F32, Shape::from_slice(shape)).unwrap()
    }

    proptest! {
        #[test]
        fn a_line_holds_all_elements_other_than_0(
            rows in 1_usize..40, columns in 1_usize..40, batch in 0_usize..2, seed: u64, strides in any::<[bool; 2]>(),
            first in 0_usize..20,
        ) {
            let strides = [0, 1].map(|side| if strides[side] { [16, 32][side] } else { 1 });
            let t = if batch == 1 { ty(&[2, rows, columns]) } else { ty(&[rows, columns]) };
            let draw = Draw::Sparse(Sparse { seed, scale: 1.0, batch, strides, first });
            let support = draw.support(&t);
            let others: Vec<usize> = (0..t.numel()).filter(|&flat| draw.element(&t, flat) != 0.0).collect();
            prop_assert_eq!(draw.places(&t).unwrap(), others);
            for flat in 0..t.numel() {
                let index = unflatten(&t.shape, flat);
                for axis in batch..batch + 2 {
                    let line = draw.line(&t, &index, axis).unwrap();
                    prop_assert!(line.iter().all(|&p| p < t.shape[axis]));
                    let mut at = index.clone();
                    let there: Vec<usize> = (0..t.shape[axis])
                        .filter(|&p| {
                            at[axis] = p;
                            draw.element(&t, flat_index(&t.shape, &at)) != 0.0
                        })
                        .collect();
                    prop_assert_eq!(&line[..], &there[..]);
                    prop_assert!(!line.is_empty() || strides != [1, 1]);
                }
                let zero = draw.element(&t, flat) == 0.0;
                prop_assert!(zero || support.as_ref().is_none_or(|s| s.contains(&index)));
            }
        }

        #[test]
        fn places_and_supports_hold_all_elements_other_than_0(seed: u64, rows in 1_usize..9, length in 1_usize..99) {
            let t = TensorType::new(DType::I64, Shape::from_slice(&[rows, length])).unwrap();
            let padded = Draw::Padded { seed, limit: 7 };
            let table = Draw::Table { seed, scale: 0.5, stride: 16, first: 5 };
            let strided = Draw::Strided { seed, scale: 0.5, stride: 16, first: 5 };
            for (draw, t) in [(padded, t), (table, ty(&[rows, length])), (strided, ty(&[rows, length]))] {
                let support = draw.support(&t);
                let others: Vec<usize> = (0..t.numel()).filter(|&flat| draw.element(&t, flat) != 0.0).collect();
                let inside = |flat: &usize| support.as_ref().is_none_or(|s| s.contains(&unflatten(&t.shape, *flat)));
                prop_assert!(others.iter().all(inside));
                prop_assert!(draw.places(&t).is_none_or(|places| places == others));
            }
        }

        #[test]
        fn elements_lie_in_the_interval(seed: u64, flat in 0_usize..1000) {
            let t = TensorType::new(DType::BF16, Shape::from_slice(&[10, 100])).unwrap();
            for draw in [
                Draw::Dense { seed, scale: 0.3 },
                Draw::Positive { seed },
                Draw::Below { seed, limit: 7 },
                Draw::Padded { seed, limit: 7 },
                Draw::Mask { seed },
                Draw::Chosen { seed, values: [0.1, -7.7].into(), arranged: Arranged::Mixed },
                Draw::Chosen { seed, values: [3.3].into(), arranged: Arranged::Rows },
                Draw::Table { seed, scale: 0.5, stride: 4, first: 9 },
                Draw::Fill(2.5),
                Draw::Strided { seed, scale: 0.5, stride: 4, first: 9 },
                Draw::Sparse(Sparse { seed, scale: 2.0, batch: 0, strides: [2, 3], first: 1 }),
            ] {
                let (value, interval) = (draw.element(&t, flat), draw.interval(&t).unwrap());
                prop_assert!(interval.low <= value && value <= interval.high, "{draw:?} {value}");
            }
        }
    }
}
