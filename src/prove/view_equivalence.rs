//! View equivalence: tensors with the same elements in another shape, or with the dimensions in another order. Serving code holds
//! `[tokens, features]` where model code holds `[batch, length, features]`.

use crate::ir::{AttrValue, Layout, Shape, flat_index, unflatten};
use crate::ops::shapes::inverse_order;
use crate::ops::{self, Op, TypeError};

use super::arena::{TermArena, TermId};

/// A step from a tensor to an equivalent view, by the shape that it gives.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Reshape,
    /// Dimension `i` of the result is dimension `dims[i]`.
    Permute(Vec<usize>),
}

/// One way to see a tensor of one shape as a tensor of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct View {
    from: Shape,
    /// Each step with the shape after it.
    steps: Vec<(Step, Shape)>,
}

/// Dimensions, those of size 1 left out, up to which orders are tried.
const MAX_RANK: usize = 4;

/// All ways to see a tensor of shape `from` as one of shape `to`: with its dimensions in another order, under another shape,
/// and both. Likely ones come first. What leaves every element in its place is left out.
pub(super) fn views(from: &[usize], to: &[usize]) -> Vec<View> {
    let without_ones = |shape: &[usize]| shape.iter().copied().filter(|&d| d != 1).collect::<Shape>();
    let (left, right) = (without_ones(from), without_ones(to));
    let mut found: Vec<View> = Vec::new();
    let mut push = |view: View| {
        if !view.steps.is_empty() && !found.contains(&view) {
            found.push(view);
        }
    };
    push(View::new(from).reshape(to));
    let orders = |rank: usize| if (2..=MAX_RANK).contains(&rank) { permutations(rank) } else { Vec::new() };
    let exact = |order: &Vec<usize>| select(&left, order) != right;
    let mut of_left = orders(left.len());
    of_left.sort_by_key(exact);
    for order in of_left {
        push(View::new(from).reshape(&left).permute(order).reshape(to));
    }
    for order in orders(right.len()) {
        let before = select(&right, &inverse_order(&order));
        push(View::new(from).reshape(&before).permute(order).reshape(to));
    }
    found
}

impl View {
    fn new(from: &[usize]) -> View {
        View { from: from.into(), steps: Vec::new() }
    }

    /// The shape of the tensor that is seen.
    pub(super) fn original_shape(&self) -> &[usize] {
        &self.from
    }

    /// Where the element is seen that stands at `flat`; both places are counted in row-major order.
    pub(super) fn place(&self, flat: usize) -> usize {
        let before = std::iter::once(&self.from).chain(self.steps.iter().map(|(_, shape)| shape));
        before.zip(&self.steps).fold(flat, |flat, (before, (step, after))| match step {
            Step::Reshape => flat,
            Step::Permute(order) => flat_index(after, &select(&unflatten(before, flat), order)),
        })
    }

    /// Where the element stands that is seen at `flat`: undoes [`place`](Self::place).
    pub(super) fn origin(&self, flat: usize) -> usize {
        let before = std::iter::once(&self.from).chain(self.steps.iter().map(|(_, shape)| shape));
        let steps: Vec<_> = before.zip(&self.steps).collect();
        steps.into_iter().rev().fold(flat, |flat, (before, (step, after))| match step {
            Step::Reshape => flat,
            Step::Permute(order) => flat_index(before, &select(&unflatten(after, flat), &inverse_order(order))),
        })
    }

    fn shape(&self) -> &Shape {
        self.steps.last().map_or(&self.from, |(_, shape)| shape)
    }

    fn reshape(mut self, to: &[usize]) -> View {
        // Of two reshapes only the last one matters.
        self.steps.pop_if(|(step, _)| *step == Step::Reshape);
        if self.shape().as_slice() != to {
            self.steps.push((Step::Reshape, to.into()));
        }
        self
    }

    fn permute(mut self, order: Vec<usize>) -> View {
        if !order.is_sorted() {
            let shape = select(self.shape(), &order);
            self.steps.push((Step::Permute(order), shape));
        }
        self
    }

    /// The view of `x`, each step brought to the form that `normal` gives it.
    pub(super) fn of(
        &self,
        arena: &mut TermArena,
        x: TermId,
        mut normal: impl FnMut(&mut TermArena, TermId) -> TermId,
    ) -> Result<TermId, TypeError> {
        self.steps.iter().try_fold(x, |at, (step, shape)| {
            let (name, attr, values) = match step {
                Step::Reshape => ("reshape", "shape", shape.as_slice()),
                Step::Permute(order) => ("permute", "dims", order.as_slice()),
            };
            let def = ops::find(name).ok_or_else(|| TypeError::new(name, "is not in the op table"))?;
            let values = AttrValue::Ints(values.iter().map(|&v| v as i64).collect());
            let attrs = def.attrs(&[(attr, values)])?;
            let term = arena.call(&Op::Table(def), &attrs, 0, &[at], None)?;
            Ok(normal(arena, term))
        })
    }

    /// How a tensor lies in memory whose view lies there as `layout` says; `None` if no strides tell.
    pub(super) fn original(&self, layout: &Layout) -> Option<Layout> {
        let before = std::iter::once(&self.from).chain(self.steps.iter().map(|(_, shape)| shape));
        let steps: Vec<_> = before.zip(&self.steps).collect();
        steps.into_iter().rev().try_fold(layout.clone(), |layout, (before, (step, after))| match step {
            Step::Reshape => layout.reshaped(after, before),
            Step::Permute(order) => {
                let strides = select(&layout.strides, &inverse_order(order));
                Some(Layout { strides: strides.into_iter().collect(), offset: layout.offset })
            }
        })
    }
}

fn select(shape: &[usize], order: &[usize]) -> Shape {
    order.iter().map(|&d| shape[d]).collect()
}

/// All orders of `0..rank`.
pub(super) fn permutations(rank: usize) -> Vec<Vec<usize>> {
    (0..rank).fold(vec![Vec::new()], |shorter, _| {
        let longer = |order: Vec<usize>| {
            let free = (0..rank).filter(|d| !order.contains(d)).collect::<Vec<_>>();
            free.into_iter().map(move |d| order.iter().copied().chain([d]).collect())
        };
        shorter.into_iter().flat_map(longer).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(from: &[usize], to: &[usize]) -> Vec<Vec<Shape>> {
        views(from, to).into_iter().map(|v| v.steps.into_iter().map(|(_, shape)| shape).collect()).collect()
    }

    #[test]
    fn a_flattened_view_is_the_first_guess() {
        assert_eq!(shown(&[2, 3, 8], &[6, 8])[0], [Shape::from_slice(&[6, 8])]);
    }

    #[test]
    fn a_transposed_view_comes_before_other_orders() {
        let all = views(&[2, 3, 8], &[3, 2, 8]);
        assert_eq!(all[1].steps, [(Step::Permute(vec![1, 0, 2]), Shape::from_slice(&[3, 2, 8]))]);
    }

    #[test]
    fn heads_that_were_split_and_moved_are_found() {
        let wanted = [[2, 3, 4, 5].as_slice(), &[2, 4, 3, 5]].map(Shape::from_slice).to_vec();
        assert!(shown(&[2, 3, 20], &[2, 4, 3, 5]).contains(&wanted));
    }

    #[test]
    fn places_are_where_elements_are_seen() {
        // Dimensions of sizes 2, 3 and 4 in the order 4, 2, 3.
        let view = View::new(&[6, 4]).reshape(&[2, 3, 4]).permute(vec![2, 0, 1]);
        assert_eq!(view.place(flat_index(&[2, 3, 4], &[1, 2, 3])), flat_index(&[4, 2, 3], &[3, 1, 2]));
        for view in views(&[2, 3, 20], &[2, 4, 3, 5]) {
            let mut places: Vec<usize> = (0..120).map(|flat| view.place(flat)).collect();
            assert!(places.iter().enumerate().all(|(flat, &place)| view.origin(place) == flat));
            places.sort_unstable();
            assert!(places.into_iter().eq(0..120));
        }
    }

    #[test]
    fn no_view_leaves_everything_in_its_place() {
        assert_eq!(shown(&[3, 1, 3], &[3, 1, 3]).len(), 1);
        assert!(shown(&[4], &[4]).is_empty());
    }

    #[test]
    fn layouts_are_followed_back() {
        for view in views(&[2, 3, 4], &[4, 6]) {
            // Where the view is an alias of a dense tensor, the dense tensor is what it is an alias of.
            let dense = Layout::contiguous(&[2, 3, 4]);
            let mut layout = Some(dense.clone());
            let mut shape = view.from.clone();
            for (step, after) in &view.steps {
                layout = layout.and_then(|l| match step {
                    Step::Reshape => l.reshaped(&shape, after),
                    Step::Permute(order) => {
                        Some(Layout { strides: select(&l.strides, order).into_iter().collect(), offset: 0 })
                    }
                });
                shape = after.clone();
            }
            if let Some(layout) = layout {
                assert_eq!(view.original(&layout), Some(dense), "{view:?}");
            }
        }
    }
}
