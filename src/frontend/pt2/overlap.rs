//! Whether two tensors of one piece of memory have elements in common.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::ir::Layout;

/// Elements of both tensors together that are compared one by one.
const MAX_COMPARED: usize = 1 << 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overlap {
    /// No element is in both.
    None,
    /// Every element is at the same place of both.
    Same,
    /// Some element may be in both, at another place.
    Partial,
}

/// A tensor as the places of its elements: an offset, and strides with sizes, large ones last.
#[derive(Clone)]
struct Places {
    offset: usize,
    dims: SmallVec<[(usize, usize); 4]>,
}

impl Places {
    fn new(layout: &Layout, shape: &[usize]) -> Places {
        let of_all = layout.strides.iter().copied().zip(shape.iter().copied());
        let mut dims: SmallVec<[(usize, usize); 4]> = of_all.filter(|&(stride, size)| size > 1 && stride > 0).collect();
        dims.sort_unstable();
        Places { offset: layout.offset, dims }
    }

    /// The place of the last element.
    fn last(&self) -> usize {
        self.dims.iter().fold(self.offset, |last, &(stride, size)| last.saturating_add(stride.saturating_mul(size - 1)))
    }

    fn count(&self) -> usize {
        self.dims.iter().fold(1, |count, &(_, size)| count.saturating_mul(size))
    }

    fn all(&self) -> Vec<usize> {
        self.dims.iter().fold(vec![self.offset], |places, &(stride, size)| {
            places.iter().flat_map(|&place| (0..size).map(move |n| place + n * stride)).collect()
        })
    }
}

/// How two tensors overlap, of which the shapes and the layouts in one memory are known.
pub(super) fn overlap((a, shape_a): (&Layout, &[usize]), (b, shape_b): (&Layout, &[usize])) -> Overlap {
    if shape_a.contains(&0) || shape_b.contains(&0) {
        return Overlap::None;
    }
    let normal = |layout: &Layout, shape: &[usize]| {
        let mut normal = layout.clone();
        normal.forget_ones(shape);
        normal.strides
    };
    if shape_a == shape_b && a.offset == b.offset && normal(a, shape_a) == normal(b, shape_b) {
        return Overlap::Same;
    }
    let (mut a, mut b) = (Places::new(a, shape_a), Places::new(b, shape_b));
    let start = a.offset.min(b.offset);
    (a.offset, b.offset) = (a.offset - start, b.offset - start);
    // Where all other places are within one step of the dimension with the largest stride, elements in common have the same
    // position along it.
    while let (Some(&outer), true) = (a.dims.last(), a.dims.last() == b.dims.last()) {
        let inner = |places: &Places| Places { dims: places.dims[..places.dims.len() - 1].into(), ..places.clone() };
        let (inner_a, inner_b) = (inner(&a), inner(&b));
        if inner_a.last().max(inner_b.last()) >= outer.0 {
            break;
        }
        (a, b) = (inner_a, inner_b);
    }
    let step = a.dims.iter().chain(&b.dims).fold(0, |step, &(stride, _)| gcd(step, stride));
    let apart = a.last() < b.offset || b.last() < a.offset;
    if apart || (step > 0 && a.offset.abs_diff(b.offset) % step != 0) {
        return Overlap::None;
    }
    if a.count().saturating_add(b.count()) > MAX_COMPARED {
        return Overlap::Partial;
    }
    let of_a: FxHashSet<usize> = a.all().into_iter().collect();
    if b.all().iter().any(|place| of_a.contains(place)) { Overlap::Partial } else { Overlap::None }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(shape: &[usize], strides: &[usize], offset: usize) -> (Layout, Vec<usize>) {
        (Layout { strides: strides.into(), offset }, shape.to_vec())
    }

    #[test]
    fn tensors_of_one_memory_are_apart_the_same_or_partly_the_same() {
        // Of memory with the shape [1000, 64, 1000].
        let row = 64_000;
        let cases = [
            ("columns", of(&[4, 3], &[6, 1], 0), of(&[4, 3], &[6, 1], 3), Overlap::None),
            ("even and odd", of(&[1000, 32], &[64, 2], 0), of(&[1000, 32], &[64, 2], 1), Overlap::None),
            ("one place of many", of(&[1000, 64], &[row, 1000], 5), of(&[1000, 64], &[row, 1000], 6), Overlap::None),
            ("rows", of(&[500, 1000], &[row, 1], 0), of(&[500, 1000], &[row, 1], 500 * row), Overlap::None),
            ("itself", of(&[4, 1], &[6, 1], 2), of(&[4, 1], &[6, 9], 2), Overlap::Same),
            ("turned", of(&[4, 4], &[6, 1], 0), of(&[4, 4], &[1, 6], 0), Overlap::Partial),
            ("shifted", of(&[3, 3], &[6, 2], 6), of(&[3, 3], &[6, 2], 0), Overlap::Partial),
            ("a row for all", of(&[4, 4], &[6, 1], 0), of(&[4, 4], &[0, 1], 0), Overlap::Partial),
            ("another column for all", of(&[4, 4], &[6, 1], 0), of(&[4, 4], &[6, 0], 5), Overlap::None),
            ("nothing", of(&[0, 4], &[6, 1], 0), of(&[4, 4], &[6, 1], 0), Overlap::None),
            ("steps of two and three", of(&[9], &[2], 1), of(&[3], &[6], 0), Overlap::None),
        ];
        for (what, (a, shape_a), (b, shape_b), expected) in cases {
            assert_eq!(overlap((&a, &shape_a), (&b, &shape_b)), expected, "{what}");
            assert_eq!(overlap((&b, &shape_b), (&a, &shape_a)), expected, "{what}, exchanged");
        }
    }
}
