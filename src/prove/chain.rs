//! Sums and products of several operands, in any order and grouping.
//!
//! A rule which says that a commutative operator is associative is not searched for like others: `n` operands can be
//! grouped in more ways than any budget allows. Instead, the operands of every chain of that operator are listed, and
//! where two chains have the same ones, both are brought into one order, by instances of the rule.

use std::collections::hash_map::Entry;
use std::rc::Rc;
use std::sync::Arc;

use egg::Id;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::associative::Associative;
use super::window::{Rewritten, Window};
use crate::ir::Attrs;
use crate::ops::Op;
use crate::rules::{Associativity, Bindings, Build, Rule};

/// The most operands of a chain.
const MAX_OPERANDS: usize = 8;

/// The most ways in which the expressions of one class are read as chains.
const MAX_READINGS: usize = 16;

type Operands = SmallVec<[Id; MAX_OPERANDS]>;

/// One way to read an expression as a chain.
#[derive(Clone)]
enum Grouping {
    Operand(Id),
    Pair(Rc<Grouping>, Rc<Grouping>),
}

/// A grouping with its operands in ascending order.
#[derive(Clone)]
struct Reading {
    operands: Operands,
    grouping: Rc<Grouping>,
}

/// A chain in ascending order that is grouped from the left: the classes of its operands, and of what the first one, the
/// first two, the first three of them come to.
struct Ordered {
    operands: Operands,
    sums: Operands,
}

impl Ordered {
    fn total(&self) -> Option<Id> {
        self.sums.last().copied()
    }
}

impl Window {
    /// Joins classes that apply an associative operator to the same operands. Gives whether there were any; the e-graph
    /// has to be clean, and has to be rebuilt then.
    pub(super) fn regroup(&mut self, associative: &Associative) -> bool {
        let mut joined = false;
        for ((rule, associativity), classes) in associative.0.iter().zip(self.applied(associative)) {
            for (a, b) in self.same_operands(&associativity.op, &classes) {
                let mut chain = Regrouping { window: self, rule, associativity, joined: false };
                // What has no type in some order is left alone.
                let _ = chain.ordered(&a).and_then(|_| chain.ordered(&b));
                joined |= chain.joined;
            }
        }
        joined
    }

    /// The classes in which each of the operators is applied, in ascending order.
    fn applied(&self, associative: &Associative) -> Vec<Vec<Id>> {
        let mut classes: Vec<Vec<Id>> = vec![Vec::new(); associative.0.len()];
        for class in self.egraph.classes() {
            for node in class.nodes.iter().filter(|node| node.commutative) {
                let Some((op, ..)) = self.arena.op(node.term) else { continue };
                if let Some(number) = associative.0.iter().position(|(_, a)| a.op == *op)
                    && classes[number].last() != Some(&class.id)
                {
                    classes[number].push(class.id);
                }
            }
        }
        classes.iter_mut().for_each(|ids| ids.sort_unstable());
        classes
    }

    /// Groupings of the same operands in two of these classes.
    fn same_operands(&self, op: &Op, classes: &[Id]) -> Vec<(Rc<Grouping>, Rc<Grouping>)> {
        let mut readings = Readings { window: self, op, known: FxHashMap::default() };
        let mut first: FxHashMap<Operands, (Id, Rc<Grouping>)> = FxHashMap::default();
        let mut found = Vec::new();
        for &class in classes {
            for Reading { operands, grouping } in
                readings.of(class, MAX_OPERANDS).iter().filter(|r| r.operands.len() > 2)
            {
                match first.entry(operands.clone()) {
                    Entry::Vacant(place) => {
                        place.insert((class, grouping.clone()));
                    }
                    Entry::Occupied(place) if place.get().0 != class => {
                        found.push((place.get().1.clone(), grouping.clone()));
                    }
                    Entry::Occupied(_) => {}
                }
            }
        }
        found
    }

    /// The operands of every expression of a class that applies `op`.
    fn pairs<'a>(&'a self, op: &'a Op, class: Id) -> impl Iterator<Item = [Id; 2]> + 'a {
        self.egraph[class].nodes.iter().filter_map(move |node| {
            let (applied, ..) = self.arena.op(node.term).filter(|_| node.head.is_some())?;
            match node.children[..] {
                [a, b] if applied == op => Some([self.egraph.find(a), self.egraph.find(b)]),
                _ => None,
            }
        })
    }
}

/// The readings of classes, each found once.
struct Readings<'a> {
    window: &'a Window,
    op: &'a Op,
    /// By class, and by how many expressions may nest in a reading.
    known: FxHashMap<(Id, usize), Rc<Vec<Reading>>>,
}

impl Readings<'_> {
    /// The readings of a class, the longest chains of an expression first; the last one is the class as an operand. No
    /// more than `depth` expressions nest in one: a class may contain itself.
    fn of(&mut self, class: Id, depth: usize) -> Rc<Vec<Reading>> {
        if let Some(known) = self.known.get(&(class, depth)) {
            return known.clone();
        }
        let mut all = Vec::new();
        if depth > 0 {
            let pairs: Vec<[Id; 2]> = self.window.pairs(self.op, class).collect();
            for pair in pairs {
                // Adding 0 over and over makes no longer chains.
                let [left, right] = pair.map(|part| self.of(part, if part == class { 0 } else { depth - 1 }));
                for (l, r) in left.iter().flat_map(|l| right.iter().map(move |r| (l, r))) {
                    if all.len() < MAX_READINGS && l.operands.len() + r.operands.len() <= MAX_OPERANDS {
                        let mut operands: Operands = l.operands.iter().chain(&r.operands).copied().collect();
                        operands.sort_unstable();
                        let grouping = Rc::new(Grouping::Pair(l.grouping.clone(), r.grouping.clone()));
                        all.push(Reading { operands, grouping });
                    }
                }
            }
        }
        all.push(Reading { operands: Operands::from_slice(&[class]), grouping: Rc::new(Grouping::Operand(class)) });
        let all = Rc::new(all);
        self.known.insert((class, depth), all.clone());
        all
    }
}

/// Brings chains into order, by instances of a rule.
struct Regrouping<'a> {
    window: &'a mut Window,
    rule: &'a Arc<Rule>,
    associativity: &'a Associativity,
    /// Whether an instance said something new.
    joined: bool,
}

impl Regrouping<'_> {
    fn ordered(&mut self, grouping: &Grouping) -> Option<Ordered> {
        match grouping {
            &Grouping::Operand(id) => {
                Some(Ordered { operands: Operands::from_slice(&[id]), sums: Operands::from_slice(&[id]) })
            }
            Grouping::Pair(left, right) => {
                let (left, right) = (self.ordered(left)?, self.ordered(right)?);
                self.both(left, right)
            }
        }
    }

    /// `left + right`.
    fn both(&mut self, left: Ordered, mut right: Ordered) -> Option<Ordered> {
        let last = right.operands.pop()?;
        right.sums.pop();
        let Some(rest) = right.total() else { return self.inserted(left, last) };
        self.associate(left.total()?, rest, last)?;
        let front = self.both(left, right)?;
        self.inserted(front, last)
    }

    /// `chain + operand`.
    fn inserted(&mut self, mut chain: Ordered, operand: Id) -> Option<Ordered> {
        let last = *chain.operands.last()?;
        if last <= operand {
            return self.appended(chain, operand);
        }
        chain.operands.pop();
        chain.sums.pop();
        let Some(rest) = chain.total() else {
            let first = Ordered { operands: Operands::from_slice(&[operand]), sums: Operands::from_slice(&[operand]) };
            return self.appended(first, last);
        };
        self.associate(rest, last, operand)?;
        self.associate(rest, operand, last)?;
        let chain = self.inserted(chain, operand)?;
        self.appended(chain, last)
    }

    fn appended(&mut self, mut chain: Ordered, operand: Id) -> Option<Ordered> {
        let total = chain.total()?;
        chain.sums.push(self.window.apply(&self.associativity.op, &Attrs::default(), 0, &[total, operand]).ok()?);
        chain.operands.push(operand);
        Some(chain)
    }

    /// `(x + y) + z` is `x + (y + z)`.
    fn associate(&mut self, x: Id, y: Id, z: Id) -> Option<()> {
        let mut bindings = Bindings::empty(&self.rule.vars);
        for (variable, id) in self.associativity.operands.into_iter().zip([x, y, z]) {
            *bindings.tensors.get_mut(variable)? = Some(id);
        }
        let root = self.rule.build_lhs(&bindings, self.window).ok()?;
        self.joined |= self.window.rewrite(self.rule, root, bindings).ok()? == Rewritten::Joined;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::Index;

    use crate::ir::text;
    use crate::progress::Silent;
    use crate::prove::{Verdict, prove};
    use crate::rules::RuleSet;

    /// `operands` joined by `op`, two neighbours at a time.
    fn grouped(op: &str, mut operands: Vec<String>, places: &[Index]) -> String {
        for place in places {
            if operands.len() > 1 {
                let at = place.index(operands.len() - 1);
                let right = operands.remove(at + 1);
                operands[at] = format!("{op}({}, {right})", operands[at]);
            }
        }
        operands.remove(0)
    }

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|n| format!("x{n}")).collect()
    }

    fn graph(expression: &str) -> crate::ir::Graph {
        let inputs = "x0: f32[2, 3], x1: f32[3], x2: f32[2, 1], x3: f32[2, 3], x4: f32[1], x5: f32[2, 3]";
        text::parse("chain.mir", &format!("graph g({inputs}) {{ y = add(x0, {expression})\n return y }}")).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn any_two_groupings_of_the_same_operands_are_equal(
            op in prop_oneof![Just("add"), Just("mul")],
            one in (3_usize..=6).prop_flat_map(|n| Just(names(n)).prop_shuffle()),
            places in prop::collection::vec(any::<Index>(), 10),
            replaced in any::<Index>(),
        ) {
            let mut other = one.clone();
            other.sort();
            let (first, second) = places.split_at(5);
            let (a, b) = (grouped(op, one, first), grouped(op, other.clone(), second));
            let library = RuleSet::library().unwrap();
            let verdict = |b: &str| prove(&graph(&a), &graph(b), &library, &Silent).unwrap().verdict;
            prop_assert!(matches!(verdict(&b), Verdict::Equivalent { .. }), "{a} and {b}");
            let at = replaced.index(other.len());
            other[at] = other[(at + 1) % other.len()].clone();
            let wrong = grouped(op, other, second);
            prop_assert!(!matches!(verdict(&wrong), Verdict::Equivalent { .. }), "{a} and {wrong}");
        }
    }
}
