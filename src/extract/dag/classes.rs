//! Classes of an e-graph with the nodes to choose from, and what a choice costs.

use smallvec::SmallVec;

/// The number of a class.
pub(in crate::extract) type ClassId = usize;

/// A node that may stand for its class.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::extract) struct Choice {
    /// What it costs without its children; not negative.
    pub cost: f64,
    /// Classes that it uses.
    pub children: SmallVec<[ClassId; 4]>,
}

/// Classes with the nodes that may stand for them.
#[derive(Clone, Debug, Default)]
pub(in crate::extract) struct Classes {
    pub choices: Vec<Vec<Choice>>,
    /// Classes that are needed in any case.
    pub roots: Vec<ClassId>,
}

/// A node for every class that is used.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::extract) struct Selection {
    /// By class, the place of its node among its choices; none for classes that are not used.
    pub chosen: Vec<Option<usize>>,
    /// What all of them cost together.
    pub cost: f64,
}

/// A relative difference in cost that is no rounding error.
const LEAST: f64 = 1e-14;

/// Whether a cost is less than another one, rounding errors aside.
pub(super) fn is_below(cost: f64, other: f64) -> bool {
    cost < other - LEAST * other.abs()
}

impl Classes {
    /// By class, the classes of the nodes that use it.
    pub(super) fn users(&self) -> Vec<Vec<ClassId>> {
        let mut users: Vec<Vec<ClassId>> = vec![Vec::new(); self.choices.len()];
        for (class, choices) in self.choices.iter().enumerate() {
            choices.iter().flat_map(|node| &node.children).for_each(|&child| users[child].push(class));
        }
        users.iter_mut().for_each(|all| {
            all.sort_unstable();
            all.dedup();
        });
        users
    }

    /// What the nodes that `choose` names for the roots, and for all that those use, cost together. `None` where one is missing, or uses
    /// itself.
    pub(super) fn selection(&self, choose: impl Fn(ClassId) -> Option<usize>) -> Option<Selection> {
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
