//! Choosing a node for each class of an e-graph so that all of them together cost least. A class that several nodes use is paid once, so that
//! the cheapest form of a class depends on what else is used.
//!
//! A greedy choice comes first, whose total then falls as single classes change their minds; for small graphs a search by branch and
//! bound ends with the best there is.

mod exact;
mod greedy;
#[cfg(test)]
mod tests;

use greedy::Next;
use smallvec::SmallVec;

/// The number of a class.
pub(super) type ClassId = usize;

/// A node that may stand for its class.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice {
    /// What it costs without its children; not negative.
    pub cost: f64,
    /// Classes that it uses.
    pub children: SmallVec<[ClassId; 4]>,
}

/// Classes with the nodes that may stand for them.
#[derive(Clone, Debug, Default)]
pub(super) struct Classes {
    pub choices: Vec<Vec<Choice>>,
    /// Classes that are needed in any case.
    pub roots: Vec<ClassId>,
}

/// A node for every class that is used.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Selection {
    /// By class, the place of its node among its choices; none for classes that are not used.
    pub chosen: Vec<Option<usize>>,
    /// What all of them cost together.
    pub cost: f64,
}

/// How far the search goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// Classes that may be visited while single choices are changed.
    pub visits: usize,
    /// Choices that branch and bound may make.
    pub branches: usize,
}

/// A relative difference in cost that is no rounding error.
const LEAST: f64 = 1e-14;

impl Classes {
    /// The best selection that was found, and whether there is none better; `None` if no selection is complete and free of cycles.
    pub(super) fn select(&self, effort: Effort) -> Option<(Selection, bool)> {
        let found = [Next::Oldest, Next::Newest]
            .into_iter()
            .filter_map(|next| greedy::improved(self, greedy::greedy(self, next), effort.visits))
            .min_by(|x, y| x.cost.total_cmp(&y.cost))?;
        Some(exact::best(self, found, effort.branches))
    }

    /// What the nodes that `choose` names for the roots, and for all that those use, cost together. `None` where one is missing, or uses
    /// itself.
    fn selection(&self, choose: impl Fn(ClassId) -> Option<usize>) -> Option<Selection> {
        #[derive(Clone, Copy, PartialEq)]
        enum State {
            New,
            Open,
            Done,
        }
        let mut state = vec![State::New; self.choices.len()];
        let mut chosen = vec![None; self.choices.len()];
        let mut cost = 0.0;
        let mut stack: Vec<ClassId> = self.roots.clone();
        while let Some(&class) = stack.last() {
            match state[class] {
                State::Done => {
                    stack.pop();
                }
                State::Open => {
                    state[class] = State::Done;
                    stack.pop();
                }
                State::New => {
                    let place = choose(class)?;
                    let node = self.choices[class].get(place)?;
                    (state[class], chosen[class]) = (State::Open, Some(place));
                    cost += node.cost;
                    for &child in &node.children {
                        match state[child] {
                            State::New => stack.push(child),
                            State::Open => return None,
                            State::Done => {}
                        }
                    }
                }
            }
        }
        Some(Selection { chosen, cost })
    }
}
