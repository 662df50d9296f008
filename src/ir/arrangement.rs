//! Chains of reshapes and permutations. Programs of XLA bring the operands of every product into place and back, and keep weights in
//! another order: what a chain amounts to is a reshape, a permutation and a reshape at most, and often one of them.

use smallvec::SmallVec;

use super::tensor::Shape;

/// A part of a dimension of the source: dimensions are split where a reshape splits them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    dim: usize,
    size: usize,
    /// How far apart neighbours lie in the source.
    stride: usize,
}

/// The elements of a tensor in another order, under another shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arrangement {
    source: Shape,
    /// In the order of the result, without those of size 1.
    parts: Vec<Part>,
    shape: Shape,
}

/// What makes an arrangement of its source, in this order; `None` where nothing is to be done.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Steps {
    pub split: Option<Shape>,
    pub order: Option<Vec<usize>>,
    pub shape: Option<Shape>,
}

impl Arrangement {
    /// A tensor as it is; `None` if it has no elements.
    pub(crate) fn of(source: &[usize]) -> Option<Self> {
        let mut parts = Vec::new();
        let mut stride = 1_usize;
        for (dim, &size) in source.iter().enumerate().rev() {
            if size > 1 {
                parts.push(Part { dim, size, stride });
            }
            stride = stride.checked_mul(size).filter(|&all| all > 0)?;
        }
        parts.reverse();
        Some(Arrangement { source: source.into(), parts, shape: source.into() })
    }

    /// The same elements in the same order under another shape; `None` if that divides parts unevenly.
    pub(crate) fn reshaped(&self, shape: &[usize]) -> Option<Self> {
        let mut rest = self.parts.iter().rev().copied().collect::<Vec<_>>();
        let mut parts = Vec::new();
        for &size in shape {
            let mut left = size;
            while left > 1 {
                let part = rest.pop()?;
                if left % part.size == 0 {
                    left /= part.size;
                    parts.push(part);
                } else if part.size % left == 0 {
                    let inner = part.size / left;
                    parts.push(Part { size: left, stride: part.stride * inner, ..part });
                    rest.push(Part { size: inner, ..part });
                    left = 1;
                } else {
                    return None;
                }
            }
        }
        rest.is_empty().then(|| Arrangement { parts, shape: shape.into(), ..self.clone() })
    }

    /// With dimension `dims[i]` as dimension `i`.
    pub(crate) fn permuted(&self, dims: &[usize]) -> Option<Self> {
        let groups = self.by_dim()?;
        let parts = dims.iter().map(|&d| groups.get(d).map(Vec::as_slice)).collect::<Option<Vec<_>>>()?.concat();
        let shape = dims.iter().map(|&d| self.shape.get(d).copied()).collect::<Option<Shape>>()?;
        Some(Arrangement { parts, shape, ..self.clone() })
    }

    /// The parts of each dimension of the result.
    fn by_dim(&self) -> Option<Vec<Vec<Part>>> {
        let mut rest = self.parts.iter().copied();
        let group = |&size: &usize| {
            let mut group = Vec::new();
            let mut covered = 1;
            while covered < size {
                let part = rest.next()?;
                covered *= part.size;
                group.push(part);
            }
            Some(group)
        };
        self.shape.iter().map(group).collect()
    }

    /// The fewest steps that make it of its source. Of as few, those that split dimensions first, as people write them.
    pub(crate) fn steps(&self) -> Steps {
        let apart = self.steps_of_parts();
        match self.steps_of_whole_dims() {
            Some(whole) if whole.count() < apart.count() => whole,
            _ => apart,
        }
    }

    /// Dimensions are split as far as the result has them apart, moved, and joined.
    fn steps_of_parts(&self) -> Steps {
        let groups = self.by_dim().unwrap_or_else(|| vec![self.parts.clone()]);
        // A dimension of size 1 has no part of the source.
        let of_dim = |group: &Vec<Part>| match group.is_empty() {
            true => vec![None],
            false => merged(group, |_, _| true).into_iter().map(Some).collect(),
        };
        let parts: Vec<Option<Part>> = groups.iter().flat_map(of_dim).collect();
        let stride = |at: usize| parts[at].map_or(0, |part| part.stride);
        let size = |at: usize| parts[at].map_or(1, |part| part.size);
        let mut split: SmallVec<[usize; 8]> = (0..parts.len()).filter(|&at| parts[at].is_some()).collect();
        split.sort_by_key(|&at| std::cmp::Reverse(stride(at)));
        // It stands where the result has it.
        for at in (0..parts.len()).filter(|&at| parts[at].is_none()) {
            split.insert(at.min(split.len()), at);
        }
        let order = (0..parts.len()).filter_map(|at| split.iter().position(|&other| other == at)).collect();
        let Some(order) = permutation(order) else {
            return Steps { shape: other(&self.source, &self.shape), ..Steps::default() };
        };
        let moved = (0..parts.len()).map(size).collect();
        let split = split.into_iter().map(size).collect();
        Steps { split: other(&self.source, &split), order: Some(order), shape: other(&moved, &self.shape) }
    }

    /// Dimensions are moved as they are; `None` where one has to be divided. Ones stay where they are.
    fn steps_of_whole_dims(&self) -> Option<Steps> {
        let whole = merged(&self.parts, |a, b| a.dim == b.dim);
        let large = self.source.iter().filter(|&&size| size != 1).count();
        let mut next = whole.iter().map(|part| part.dim);
        let own = |d: usize| if self.source[d] == 1 { Some(d) } else { next.next() };
        let order: Vec<usize> = (0..self.source.len()).filter_map(own).collect();
        let moved = order.iter().map(|&d| self.source[d]).collect();
        let steps = Steps { split: None, order: permutation(order), shape: other(&moved, &self.shape) };
        (whole.len() == large).then_some(steps)
    }
}

impl Steps {
    fn count(&self) -> usize {
        usize::from(self.split.is_some()) + usize::from(self.order.is_some()) + usize::from(self.shape.is_some())
    }
}

/// Neighbours that lie together in the source as one part, where `may` allows it.
fn merged(parts: &[Part], may: fn(&Part, &Part) -> bool) -> Vec<Part> {
    let mut all: Vec<Part> = Vec::new();
    for &part in parts {
        match all.last_mut() {
            Some(last) if may(last, &part) && last.stride == part.stride * part.size => {
                *last = Part { size: last.size * part.size, ..part };
            }
            _ => all.push(part),
        }
    }
    all
}

fn permutation(order: Vec<usize>) -> Option<Vec<usize>> {
    (!order.is_sorted()).then_some(order)
}

fn other(from: &Shape, to: &Shape) -> Option<Shape> {
    (from != to).then(|| to.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(sizes: &[usize]) -> Option<Shape> {
        Some(sizes.into())
    }

    #[test]
    fn heads_that_are_divided_and_kept_together_are_moved_whole() {
        let q = Arrangement::of(&[2, 7, 4, 6]).unwrap();
        let rows = q.reshaped(&[2, 7, 2, 2, 6]).unwrap().permuted(&[0, 2, 3, 1, 4]).unwrap();
        let rows = rows.reshaped(&[2, 2, 14, 6]).unwrap();
        let steps = Steps { split: None, order: Some(vec![0, 2, 1, 3]), shape: shape(&[2, 2, 14, 6]) };
        assert_eq!(rows.steps(), steps);
    }

    #[test]
    fn keys_are_split_into_heads_before_they_are_moved() {
        // GPT-2 in JAX was not proven: here the rows were moved first, which PyTorch never does.
        let k = Arrangement::of(&[2, 7, 12]).unwrap().reshaped(&[2, 7, 3, 4]).unwrap();
        let k = k.permuted(&[0, 2, 1, 3]).unwrap().permuted(&[0, 1, 3, 2]).unwrap();
        let steps = Steps { split: shape(&[2, 7, 3, 4]), order: Some(vec![0, 2, 3, 1]), shape: None };
        assert_eq!(k.steps(), steps);
        // One sequence is no other case.
        let k = Arrangement::of(&[1, 7, 12]).unwrap().reshaped(&[1, 7, 3, 4]).unwrap();
        let steps = Steps { split: shape(&[1, 7, 3, 4]), order: Some(vec![0, 2, 1, 3]), shape: None };
        assert_eq!(k.permuted(&[0, 2, 1, 3]).unwrap().steps(), steps);
    }

    #[test]
    fn permutations_that_undo_each_other_leave_nothing() {
        let x = Arrangement::of(&[2, 3, 4]).unwrap();
        let back = x.permuted(&[2, 0, 1]).unwrap().reshaped(&[4, 6]).unwrap().permuted(&[1, 0]).unwrap();
        assert_eq!(back.reshaped(&[2, 3, 4]).unwrap().steps(), Steps::default());
    }

    #[test]
    fn dims_of_size_one_are_no_reason_to_move() {
        let x = Arrangement::of(&[3, 1, 4]).unwrap();
        let moved = x.permuted(&[1, 0, 2]).unwrap();
        assert_eq!(moved.steps(), Steps { shape: shape(&[1, 3, 4]), ..Steps::default() });
        let turned = x.permuted(&[2, 1, 0]).unwrap();
        assert_eq!(turned.steps(), Steps { order: Some(vec![2, 1, 0]), ..Steps::default() });
    }

    #[test]
    fn a_dim_that_is_divided_and_turned_is_split_first() {
        let x = Arrangement::of(&[6, 5]).unwrap();
        let turned = x.reshaped(&[2, 3, 5]).unwrap().permuted(&[1, 0, 2]).unwrap().reshaped(&[6, 5]).unwrap();
        let steps = Steps { split: shape(&[2, 3, 5]), order: Some(vec![1, 0, 2]), shape: shape(&[6, 5]) };
        assert_eq!(turned.steps(), steps);
    }

    #[test]
    fn what_divides_parts_unevenly_starts_anew() {
        let x = Arrangement::of(&[4, 3]).unwrap().permuted(&[1, 0]).unwrap();
        assert_eq!(x.reshaped(&[2, 6]), None);
        assert_eq!(x.reshaped(&[13]), None);
        assert_eq!(x.reshaped(&[2]), None);
        assert_eq!(Arrangement::of(&[4, 0]), None);
    }
}
