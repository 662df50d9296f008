//! The best selection, by branch and bound.

use super::classes::{Choice, ClassId, Classes, Selection, is_below};

/// Larger graphs have more choices than a search gets through.
const MAX_CLASSES: usize = 2_000;

/// The best selection, begun with `known`, and whether there is none better: that is not known once `branches` choices were made.
pub(super) fn best(classes: &Classes, known: Selection, branches: usize) -> (Selection, bool) {
    if classes.choices.len() > MAX_CLASSES {
        return (known, false);
    }
    let bounds = bounds(classes);
    let mut search = Search {
        classes,
        worthwhile: (0..classes.choices.len()).map(|class| worthwhile(classes, class, &bounds)).collect(),
        least: classes.choices.iter().map(|all| all.iter().map(|n| n.cost).fold(f64::INFINITY, f64::min)).collect(),
        chosen: vec![None; classes.choices.len()],
        best: known,
        left: branches,
    };
    let mut pending = classes.roots.clone();
    pending.sort_unstable();
    pending.dedup();
    search.branch(&pending, 0.0);
    (search.best, search.left > 0)
}

/// What every class costs at least by itself: its cheapest node with the dearest of its children. Tells which node is tried first.
fn bounds(classes: &Classes) -> Vec<f64> {
    let mut bounds = vec![f64::INFINITY; classes.choices.len()];
    loop {
        let mut changed = false;
        for (class, choices) in classes.choices.iter().enumerate() {
            let of = |node: &Choice| node.cost + node.children.iter().map(|&c| bounds[c]).fold(0.0, f64::max);
            let least = choices.iter().map(of).fold(f64::INFINITY, f64::min);
            if least < bounds[class] {
                bounds[class] = least;
                changed = true;
            }
        }
        if !changed {
            return bounds;
        }
    }
}

/// The nodes of a class that may be part of the best selection, the cheapest ones first: another node that costs no more and uses nothing
/// else is as good.
fn worthwhile(classes: &Classes, class: ClassId, bounds: &[f64]) -> Vec<usize> {
    let choices = &classes.choices[class];
    let mut kept: Vec<usize> = Vec::new();
    let mut order: Vec<usize> = (0..choices.len()).collect();
    let bound =
        |place: usize| choices[place].cost + choices[place].children.iter().map(|&c| bounds[c]).fold(0.0, f64::max);
    order.retain(|&place| bound(place).is_finite() && !choices[place].children.contains(&class));
    order.sort_by(|&x, &y| {
        let key = |place: usize| (choices[place].cost, choices[place].children.len());
        key(x).0.total_cmp(&key(y).0).then(key(x).1.cmp(&key(y).1))
    });
    for &place in &order {
        let node = &choices[place];
        let is_beaten = kept.iter().any(|&other| {
            let other = &choices[other];
            other.cost <= node.cost && other.children.iter().all(|child| node.children.contains(child))
        });
        if !is_beaten {
            kept.push(place);
        }
    }
    kept.sort_by(|&x, &y| bound(x).total_cmp(&bound(y)));
    kept
}

struct Search<'c> {
    classes: &'c Classes,
    worthwhile: Vec<Vec<usize>>,
    /// What the cheapest node of each class costs: every class that is needed adds at least that.
    least: Vec<f64>,
    chosen: Vec<Option<usize>>,
    best: Selection,
    /// Choices that may still be made.
    left: usize,
}

impl Search<'_> {
    /// Tries all choices for the classes `pending`, which are needed and have no node yet; `cost` is that of the nodes chosen so far.
    fn branch(&mut self, pending: &[ClassId], cost: f64) {
        let rest: f64 = pending.iter().map(|&class| self.least[class]).sum();
        if !is_below(cost + rest, self.best.cost) {
            return;
        }
        let Some(at) = (0..pending.len()).min_by_key(|&i| self.worthwhile[pending[i]].len()) else {
            self.best = Selection { chosen: self.chosen.clone(), cost };
            return;
        };
        let class = pending[at];
        for place in self.worthwhile[class].clone() {
            let Some(left) = self.left.checked_sub(1).filter(|&left| left > 0) else {
                self.left = 0;
                return;
            };
            self.left = left;
            let node = &self.classes.choices[class][place];
            if self.uses(&node.children, class) {
                continue;
            }
            let mut next: Vec<ClassId> = pending.iter().copied().filter(|&other| other != class).collect();
            for &child in &node.children {
                if self.chosen[child].is_none() && child != class && !next.contains(&child) {
                    next.push(child);
                }
            }
            self.chosen[class] = Some(place);
            self.branch(&next, cost + node.cost);
            self.chosen[class] = None;
        }
    }

    /// Whether the nodes chosen for some classes, and for what they use, use `class`.
    fn uses(&self, from: &[ClassId], class: ClassId) -> bool {
        let mut seen: Vec<ClassId> = Vec::new();
        let mut stack = from.to_vec();
        while let Some(next) = stack.pop() {
            if next == class {
                return true;
            }
            if seen.contains(&next) {
                continue;
            }
            seen.push(next);
            if let Some(place) = self.chosen[next] {
                stack.extend(&self.classes.choices[next][place].children);
            }
        }
        false
    }
}
