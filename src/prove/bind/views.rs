//! How an operator views a weight, and how a weight of one file has to be viewed to be a weight of the other one.

use crate::ir::{Arrangement, Shape, Steps};
use crate::ops::shapes::inverse_order;

/// One view of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum View {
    Reshape {
        from: Shape,
        to: Shape,
    },
    /// Dimension `dims[i]` becomes dimension `i`.
    Permute(Shape),
}

impl View {
    fn apply(&self, to: &Arrangement) -> Option<Arrangement> {
        match self {
            View::Reshape { to: shape, .. } => to.reshaped(shape),
            View::Permute(dims) => to.permuted(dims),
        }
    }

    fn undo(&self, on: &Arrangement) -> Option<Arrangement> {
        match self {
            View::Reshape { from, .. } => on.reshaped(from),
            View::Permute(dims) => on.permuted(&inverse_order(dims)),
        }
    }
}

/// What makes the tensor that `others` view of one of shape `shape`, given that the latter, viewed by `own`, holds the same. `None`
/// where reshapes divide dimensions unevenly, or where there are no elements.
pub(super) fn steps_between(shape: &[usize], own: &[View], others: &[View]) -> Option<Steps> {
    let viewed = own.iter().try_fold(Arrangement::of(shape)?, |so_far, view| view.apply(&so_far))?;
    Some(others.iter().rev().try_fold(viewed, |so_far, view| view.undo(&so_far))?.steps())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reshape(from: &[usize], to: &[usize]) -> View {
        View::Reshape { from: from.into(), to: to.into() }
    }

    fn permute(dims: &[usize]) -> View {
        View::Permute(dims.into())
    }

    #[test]
    fn a_kernel_with_channels_last_is_one_permutation_away() {
        let steps = steps_between(&[64, 3, 7, 5], &[], &[permute(&[3, 2, 0, 1])]).unwrap();
        assert_eq!(steps, Steps { order: Some(vec![2, 3, 1, 0]), ..Steps::default() });
    }

    #[test]
    fn a_matrix_that_is_kept_by_heads_is_split_and_turned() {
        // Rows of PyTorch's linear layer are columns of the product; the other file has them as heads.
        let of_heads = [reshape(&[8, 2, 3], &[8, 6]), permute(&[1, 0])];
        let steps = steps_between(&[6, 8], &[], &of_heads).unwrap();
        let expected = Steps { split: Some([2, 3, 8].as_slice().into()), order: Some(vec![2, 0, 1]), shape: None };
        assert_eq!(steps, expected);
    }

    #[test]
    fn the_same_views_leave_nothing_to_do() {
        let views = [permute(&[1, 0]), reshape(&[4, 6], &[24])];
        assert_eq!(steps_between(&[6, 4], &views, &views), Some(Steps::default()));
        assert_eq!(steps_between(&[0, 4], &[], &[]), None);
    }
}
