//! Strides: how tensors lie in memory.

use smallvec::SmallVec;

use super::TensorType;
use super::dense_strides;

/// Strides and offset of a tensor, in elements.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Layout {
    /// Elements from one place of a dimension to the next.
    pub strides: SmallVec<[usize; 4]>,
    /// Elements in front of the first one.
    pub offset: usize,
}

impl Layout {
    /// Dense row-major.
    pub fn contiguous(shape: &[usize]) -> Self {
        Layout { strides: dense_strides(shape), offset: 0 }
    }

    /// Clears what does not matter: the offset, and the strides of dimensions of size 1.
    pub fn forget_ones(&mut self, shape: &[usize]) {
        self.offset = 0;
        for (stride, &size) in self.strides.iter_mut().zip(shape) {
            if size == 1 {
                *stride = 0;
            }
        }
    }

    /// Whether the elements are dense in row-major order. Strides of dimensions of size 1 do not matter.
    pub fn is_contiguous(&self, shape: &[usize]) -> bool {
        let mut expected = 1;
        for (&size, &stride) in shape.iter().zip(&self.strides).rev() {
            if size == 0 {
                return true;
            }
            if size != 1 {
                if stride != expected {
                    return false;
                }
                expected *= size;
            }
        }
        true
    }

    /// Whether the elements fill a block of memory without gaps or repeats, in whatever order.
    pub fn is_dense(&self, shape: &[usize]) -> bool {
        let mut dims: SmallVec<[(usize, usize); 4]> =
            self.strides.iter().copied().zip(shape.iter().copied()).filter(|&(_, size)| size != 1).collect();
        dims.sort_unstable();
        let mut expected = 1;
        dims.iter().all(|&(stride, size)| {
            let fits = stride == expected;
            expected *= size;
            fits
        })
    }

    /// Distinct elements in memory: repeats by stride 0 are counted once.
    pub fn distinct_elements(&self, shape: &[usize]) -> usize {
        shape.iter().zip(&self.strides).map(|(&size, &stride)| if stride == 0 { size.min(1) } else { size }).product()
    }

    /// The layout of the same elements under shape `to`, if an alias can have it. Groups runs of
    /// dimensions that are dense with respect to each other and matches the new sizes to the groups,
    /// as `at::detail::computeStride` does.
    pub fn reshaped(&self, from: &[usize], to: &[usize]) -> Option<Layout> {
        if from.contains(&0) {
            return Some(Layout { strides: dense_strides(to), offset: self.offset });
        }
        let mut strides: SmallVec<[usize; 4]> = SmallVec::from_elem(0, to.len());
        let mut next = to.len();
        let mut base = self.strides.last().copied().unwrap_or(1);
        let (mut group, mut placed) = (1_usize, 1_usize);
        for d in (0..from.len()).rev() {
            group *= from[d];
            let ends_group = d == 0 || (from[d - 1] != 1 && self.strides[d - 1] != group * base);
            if !ends_group {
                continue;
            }
            while next > 0 && (placed < group || to[next - 1] == 1) {
                next -= 1;
                strides[next] = placed * base;
                placed *= to[next];
            }
            if placed != group {
                return None;
            }
            if d > 0 {
                base = self.strides[d - 1];
                (group, placed) = (1, 1);
            }
        }
        // A scalar has no group; what is left are leading dimensions of size 1.
        while next > 0 {
            next -= 1;
            strides[next] = placed * base;
        }
        Some(Layout { strides, offset: self.offset })
    }

    /// What an elementwise kernel allocates for its output: the dense order that the strides of its
    /// operands suggest, the first operand's first. Follows `TensorIterator`'s reordering of dimensions.
    pub(super) fn elementwise(shape: &[usize], operands: &[(&TensorType, &Layout)]) -> Layout {
        let full: SmallVec<[&Layout; 4]> =
            operands.iter().filter(|(t, _)| t.shape.as_slice() == shape).map(|&(_, l)| l).collect();
        if full.len() == operands.len() {
            if full.iter().all(|l| l.is_contiguous(shape)) {
                return Layout::contiguous(shape);
            }
            // All operands dense in one and the same order: the output takes it over as it is.
            if full.iter().all(|l| l.strides == full[0].strides) && full[0].is_dense(shape) {
                return Layout { strides: full[0].strides.clone(), offset: 0 };
            }
        }
        let strides = |operand: &(&TensorType, &Layout), dim: usize| {
            let (ty, layout) = operand;
            match (dim + ty.rank()).checked_sub(shape.len()) {
                Some(d) if ty.shape[d] != 1 || shape[dim] == 1 => layout.strides[d],
                _ => 0,
            }
        };
        // Insertion sort of the dimensions, fastest first, from the innermost on; an ambiguous pair
        // (stride 0 on either side) leaves the order as it is, as in TensorIterator.
        let mut order: SmallVec<[usize; 4]> = (0..shape.len()).rev().collect();
        let swap = |a: usize, b: usize| -> i32 {
            for operand in operands {
                let (sa, sb) = (strides(operand, a), strides(operand, b));
                if sa == 0 || sb == 0 {
                    continue;
                }
                if sa != sb {
                    return if sa < sb { -1 } else { 1 };
                }
                if shape[a] > shape[b] {
                    return 1;
                }
            }
            0
        };
        for i in 1..order.len() {
            let mut at = i;
            for j in (0..i).rev() {
                match swap(order[j], order[at]) {
                    1 => {
                        order.swap(j, at);
                        at = j;
                    }
                    -1 => break,
                    _ => {}
                }
            }
        }
        let mut layout = Layout::contiguous(shape);
        let mut stride = 1;
        for &d in &order {
            layout.strides[d] = stride;
            stride *= shape[d].max(1);
        }
        layout
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reshape_of_a_transposed_tensor_needs_a_copy() {
        let transposed = Layout { strides: SmallVec::from_slice(&[1, 4]), offset: 0 };
        assert_eq!(transposed.reshaped(&[4, 3], &[12]), None);
        assert!(transposed.reshaped(&[4, 3], &[2, 2, 3]).is_some());
        let split = Layout::contiguous(&[8, 6]).reshaped(&[8, 6], &[8, 2, 3]);
        assert_eq!(split, Some(Layout::contiguous(&[8, 2, 3])));
    }

    #[test]
    fn expanded_tensors_are_read_once() {
        let expanded = Layout { strides: SmallVec::from_slice(&[0, 1]), offset: 0 };
        assert_eq!(expanded.distinct_elements(&[8, 5]), 5);
        assert!(!expanded.is_contiguous(&[8, 5]));
    }
}
