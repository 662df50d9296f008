//! Choosing a node for each class of an e-graph so that all of them together cost least. A class that several nodes use is paid once, so that
//! the cheapest form of a class depends on what else is used.
//!
//! A greedy choice comes first, whose total then falls as single classes change their minds; for small graphs a search by branch and
//! bound ends with the best there is.

mod classes;
mod exact;
mod greedy;
#[cfg(test)]
mod tests;

use classes::Selection;
pub(super) use classes::{Choice, Classes};
use greedy::Next;

/// How far the search goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// Classes that may be visited while single choices are changed.
    pub visits: usize,
    /// Choices that branch and bound may make.
    pub branches: usize,
}

impl Classes {
    /// The best selection that was found, and whether there is none better; `None` if no selection is complete and free of cycles.
    pub(super) fn select(&self, effort: Effort) -> Option<(Selection, bool)> {
        let found = [Next::Oldest, Next::Newest]
            .into_iter()
            .filter_map(|next| greedy::improved(self, greedy::greedy(self, next), effort.visits))
            .min_by(|x, y| x.cost.total_cmp(&y.cost))?;
        Some(exact::best(self, found, effort.branches))
    }
}
