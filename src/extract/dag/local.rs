//! Changes of a selection that lower its total: of single choices, and of several at once that pay off together. Two products that could
//! both be parts of a larger one cost less as such only once both are.

use super::classes::{ClassId, Classes, Selection, is_below};

/// The selection by `usual`, the nodes that classes have where nothing speaks against it, changed as long as that lowers the total and
/// as long as `visits` last.
pub(super) fn improved(classes: &Classes, usual: Vec<Option<usize>>, visits: usize) -> Option<Selection> {
    let selection = classes.selection(|class| usual[class])?;
    let uses = vec![0; classes.choices.len()];
    let mut search =
        Search { classes, users: classes.users(), usual, uses, total: 0.0, undo: Vec::new(), selection, left: visits };
    classes.roots.iter().for_each(|&root| search.use_class(root));
    search.undo.clear();
    while search.left > 0 && (search.changes_singly() || search.changes_together()) {}
    Some(search.selection)
}

/// What is taken back where a change does not pay off.
enum Undo {
    Node(ClassId, Option<usize>),
    Used(ClassId),
    Freed(ClassId),
}

/// A selection that is changed step by step, without going through all of it each time.
struct Search<'c> {
    classes: &'c Classes,
    users: Vec<Vec<ClassId>>,
    /// The node of every class, used or not.
    usual: Vec<Option<usize>>,
    /// How often the chosen nodes, and the roots, use a class.
    uses: Vec<usize>,
    /// What the chosen nodes cost.
    total: f64,
    undo: Vec<Undo>,
    /// The best so far.
    selection: Selection,
    /// Classes that may still be visited.
    left: usize,
}

/// A state to go back to.
struct Mark {
    undo: usize,
    total: f64,
}

impl Search<'_> {
    fn mark(&self) -> Mark {
        Mark { undo: self.undo.len(), total: self.total }
    }

    fn go_back(&mut self, mark: &Mark) {
        for step in self.undo.drain(mark.undo..).rev() {
            match step {
                Undo::Node(class, node) => self.usual[class] = node,
                Undo::Used(class) => self.uses[class] -= 1,
                Undo::Freed(class) => self.uses[class] += 1,
            }
        }
        self.total = mark.total;
    }

    fn cost(&self, class: ClassId) -> f64 {
        self.usual[class].map_or(f64::INFINITY, |place| self.classes.choices[class][place].cost)
    }

    /// One more use of a class, which has to be there, with all that its node needs, if it was not.
    fn use_class(&mut self, class: ClassId) {
        let mut stack = vec![class];
        while let Some(class) = stack.pop() {
            self.left = self.left.saturating_sub(1);
            self.uses[class] += 1;
            self.undo.push(Undo::Used(class));
            if self.uses[class] == 1 {
                self.total += self.cost(class);
                if let Some(place) = self.usual[class] {
                    stack.extend(&self.classes.choices[class][place].children);
                }
            }
        }
    }

    /// One use less of a class.
    fn free_class(&mut self, class: ClassId) {
        let mut stack = vec![class];
        while let Some(class) = stack.pop() {
            self.left = self.left.saturating_sub(1);
            self.uses[class] -= 1;
            self.undo.push(Undo::Freed(class));
            if self.uses[class] == 0 {
                self.total -= self.cost(class);
                if let Some(place) = self.usual[class] {
                    stack.extend(&self.classes.choices[class][place].children);
                }
            }
        }
    }

    /// Gives a class another node.
    fn choose(&mut self, class: ClassId, place: usize) {
        let old = self.usual[class].replace(place);
        self.undo.push(Undo::Node(class, old));
        if self.uses[class] == 0 {
            return;
        }
        let choices = &self.classes.choices[class];
        // What both use is never given up.
        choices[place].children.iter().for_each(|&child| self.use_class(child));
        self.total += choices[place].cost;
        if let Some(old) = old {
            self.total -= choices[old].cost;
            choices[old].children.iter().for_each(|&child| self.free_class(child));
        }
    }

    /// Keeps the changes since `mark` if they lower the total, and no class uses itself.
    fn kept(&mut self, mark: &Mark) -> bool {
        if is_below(self.total, mark.total) {
            self.left = self.left.saturating_sub(self.uses.len());
            if let Some(selection) = self.classes.selection(|class| self.usual[class])
                && is_below(selection.cost, self.selection.cost)
            {
                self.total = selection.cost;
                self.selection = selection;
                self.undo.clear();
                return true;
            }
        }
        self.go_back(mark);
        false
    }

    /// Changes single choices. Whether there was something to change.
    fn changes_singly(&mut self) -> bool {
        let (mut changed, mut unchanged) = (false, 0);
        let count = self.classes.choices.len();
        let mut class = 0;
        while unchanged < count && self.left > 0 {
            unchanged += 1;
            for place in 0..self.classes.choices[class].len() {
                if self.uses[class] == 0 || self.usual[class] == Some(place) {
                    continue;
                }
                let mark = self.mark();
                self.choose(class, place);
                if self.kept(&mark) {
                    (changed, unchanged) = (true, 0);
                }
            }
            class = (class + 1) % count;
        }
        changed
    }

    /// Changes all choices that become cheaper once a class is there that is not used yet. Whether there was something to change.
    fn changes_together(&mut self) -> bool {
        let mut changed = false;
        for class in 0..self.classes.choices.len() {
            if self.left > 0 && self.uses[class] == 0 && self.users[class].len() > 1 && self.usual[class].is_some() {
                let mark = self.mark();
                self.choose_cheapest(class);
                self.use_class(class);
                self.choose_what_uses(class);
                self.free_class(class);
                changed |= self.kept(&mark);
            }
        }
        changed
    }

    /// Gives a class that is not used the node that costs least beside what is used.
    fn choose_cheapest(&mut self, class: ClassId) {
        for place in 0..self.classes.choices[class].len() {
            let before = self.total_with(class);
            let mark = self.mark();
            self.choose(class, place);
            if !is_below(self.total_with(class), before) {
                self.go_back(&mark);
            }
        }
    }

    /// Gives those who may use `class` the nodes that cost no more now that it is there: what they used before may become free once the
    /// last of them has changed.
    fn choose_what_uses(&mut self, class: ClassId) {
        let mut changed = vec![class];
        let mut next = 0;
        while let Some(&child) = changed.get(next) {
            next += 1;
            for user in self.users[child].clone() {
                let is_used = self.uses[user] > 0;
                let mut is_cheaper = false;
                for place in 0..self.classes.choices[user].len() {
                    if self.left == 0 || !self.classes.choices[user][place].children.contains(&child) {
                        continue;
                    }
                    let before = if is_used { self.total } else { self.total_with(user) };
                    let mark = self.mark();
                    self.choose(user, place);
                    let after = if is_used { self.total } else { self.total_with(user) };
                    if is_below(before, after) {
                        self.go_back(&mark);
                    } else {
                        is_cheaper = true;
                    }
                }
                if is_cheaper && !is_used && !changed.contains(&user) {
                    changed.push(user);
                }
            }
        }
    }

    /// The total if a class were used once more.
    fn total_with(&mut self, class: ClassId) -> f64 {
        let mark = self.mark();
        self.use_class(class);
        let total = self.total;
        self.go_back(&mark);
        total
    }
}
