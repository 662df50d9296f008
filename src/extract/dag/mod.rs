//! Choosing a node for each class of an e-graph so that all of them together cost least. A class that several nodes use is paid once, so that
//! the cheapest form of a class depends on what else is used.
//!
//! A greedy choice comes first, whose total then falls as choices are changed, one by one and several together; for small graphs a
//! search by branch and bound ends with the best there is.

mod classes;
mod exact;
mod greedy;
mod local;
#[cfg(test)]
mod tests;

pub(super) use classes::{Choice, Classes};
use classes::{Selection, is_below};
use greedy::Next;

/// How far the search goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// Classes that may be visited while choices are changed.
    pub visits: usize,
    /// Choices that branch and bound may make.
    pub branches: usize,
}

impl Classes {
    /// The best selection that was found, and whether there is none better; `None` if no selection is complete and free of cycles.
    /// `alone` is the node of each class whose form costs least by itself: of two selections that cost the same, that one is plainer.
    pub(super) fn select(&self, alone: Vec<Option<usize>>, effort: Effort) -> Option<(Selection, bool)> {
        let greedy = [Next::Oldest, Next::Newest].map(|next| greedy::greedy(self, next));
        let all = [alone].into_iter().chain(greedy);
        let found = all
            .filter_map(|choice| local::improved(self, choice, effort.visits))
            .reduce(|best, other| if is_below(other.cost, best.cost) { other } else { best })?;
        Some(exact::best(self, found, effort.branches))
    }
}
