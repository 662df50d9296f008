//! Finding where the left side of a rule matches, and checking its conditions.

use std::ops::ControlFlow;

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::evaluated::Undecided;
use super::expr::{Expr, Scope, TensorRef};
use super::rule::{AttrPattern, Condition, ConditionKind, Operand, Outcome, Pattern, Rule};
use super::terms::Terms;
use super::vars::Bindings;
use crate::ir::{AttrValue, Attrs, Number};
use crate::ops::{AttrKind, Op, as_number, shortest_number};

/// What is left to match: a list on the call stack.
struct Goal<'a, Id> {
    pattern: &'a Pattern,
    id: Id,
    /// Position within an [`Operand::Each`].
    element: usize,
    next: Option<&'a Goal<'a, Id>>,
}

/// Operators with more operands are not matched: the search recurses once for each.
const MAX_OPERANDS: usize = 256;

/// A match of some of a rule's roots.
struct Partial<Id> {
    bindings: Bindings<Id>,
    /// The terms that stand for roots.
    taken: Vec<Id>,
}

struct Search<'a, T: Terms> {
    terms: &'a T,
    bindings: Bindings<T::Id>,
    budget: &'a mut usize,
    found: &'a mut Vec<Bindings<T::Id>>,
}

impl Rule {
    /// Appends to `found` every way in which the left side matches `root`. Every form looked at takes one
    /// from `budget`; the search ends when nothing is left of it. Rules with several roots match nothing here; see
    /// [`Rule::search_among`].
    pub fn search<T: Terms>(&self, terms: &T, root: T::Id, budget: &mut usize, found: &mut Vec<Bindings<T::Id>>) {
        if self.context.is_empty() {
            matches_at(&self.lhs, Bindings::empty(&self.vars), terms, root, budget, found);
        }
    }

    /// As [`Rule::search`], with the other roots matched by terms among `candidates`, which gives those that have a
    /// form by an operator. No term stands for two roots.
    pub fn search_among<'c, T: Terms>(
        &self,
        terms: &T,
        root: T::Id,
        candidates: &dyn Fn(&str) -> &'c [T::Id],
        budget: &mut usize,
        found: &mut Vec<Bindings<T::Id>>,
    ) where
        T::Id: 'c,
    {
        let mut partial = Vec::new();
        matches_at(&self.lhs, Bindings::empty(&self.vars), terms, root, budget, &mut partial);
        let mut partial: Vec<Partial<T::Id>> =
            partial.into_iter().map(|bindings| Partial { bindings, taken: vec![root] }).collect();
        for pattern in &self.context {
            let Pattern::Apply { op, .. } = pattern else { return };
            let mut longer = Vec::new();
            for Partial { bindings, taken } in &partial {
                for &id in candidates(op.name()) {
                    if *budget == 0 {
                        return;
                    }
                    if taken.contains(&id) {
                        continue;
                    }
                    let mut here = Vec::new();
                    matches_at(pattern, bindings.clone(), terms, id, budget, &mut here);
                    longer.extend(here.into_iter().map(|bindings| {
                        let mut taken = taken.clone();
                        taken.push(id);
                        Partial { bindings, taken }
                    }));
                }
            }
            partial = longer;
        }
        found.extend(partial.into_iter().map(|p| p.bindings));
    }

    /// Computes the lets into `bindings` and checks the conditions.
    pub fn check_conditions<T: Terms>(&self, terms: &T, bindings: &mut Bindings<T::Id>) -> Outcome {
        for (var, expr) in &self.lets {
            let value = expr.eval(&Scope { terms, bindings, element: None });
            match (value, bindings.attrs.get_mut(*var)) {
                (Ok(value), Some(slot)) => *slot = Some(value),
                (Err(Undecided::Unknown), _) => return Outcome::Open,
                _ => return Outcome::Fails,
            }
        }
        let mut assumed = SmallVec::new();
        for (n, condition) in self.conditions.iter().enumerate() {
            match holds(condition, terms, bindings) {
                Ok(true) => {}
                Err(Undecided::Unknown) if condition.kind == ConditionKind::Assumed => assumed.push(n),
                Err(Undecided::Unknown) => return Outcome::Open,
                _ => return Outcome::Fails,
            }
        }
        Outcome::Holds { assumed }
    }
}

/// Appends every way in which `pattern` matches `id` with what `bindings` fixes already.
fn matches_at<T: Terms>(
    pattern: &Pattern,
    bindings: Bindings<T::Id>,
    terms: &T,
    id: T::Id,
    budget: &mut usize,
    found: &mut Vec<Bindings<T::Id>>,
) {
    let mut here = Vec::new();
    let mut search = Search { terms, bindings, budget, found: &mut here };
    search.goals(Some(&Goal { pattern, id, element: 0, next: None }));
    if here.len() < 2 {
        return found.append(&mut here);
    }
    // A commutative operator can match in both orders with the same result.
    let mut known: FxHashSet<Bindings<T::Id>> = FxHashSet::default();
    found.extend(here.into_iter().filter(|b| known.insert(b.clone())));
}

/// A condition on a list has to hold for every element.
pub(super) fn holds<T: Terms>(condition: &Condition, terms: &T, bindings: &Bindings<T::Id>) -> Result<bool, Undecided> {
    let mut list = None;
    condition.expr.walk(&mut |e| {
        if let Expr::Tensor(_, TensorRef::Element(l), _) = e {
            list = Some(*l);
        }
    });
    let Some(list) = list else { return condition.expr.truth(&Scope { terms, bindings, element: None }) };
    let count = bindings.lists.get(list).and_then(Option::as_ref).ok_or(Undecided::Invalid)?.len();
    let mut unknown = false;
    for i in 0..count {
        match condition.expr.truth(&Scope { terms, bindings, element: Some(i) }) {
            Ok(true) => {}
            Err(Undecided::Unknown) => unknown = true,
            other => return other,
        }
    }
    if unknown { Err(Undecided::Unknown) } else { Ok(true) }
}

impl<T: Terms> Search<'_, T> {
    fn goals(&mut self, goal: Option<&Goal<'_, T::Id>>) {
        let Some(goal) = goal else {
            self.found.push(self.bindings.clone());
            return;
        };
        match goal.pattern {
            Pattern::Tensor(v) => match self.bindings.tensors[*v] {
                Some(bound) if bound == goal.id => self.goals(goal.next),
                Some(_) => {}
                None => {
                    self.bindings.tensors[*v] = Some(goal.id);
                    self.goals(goal.next);
                    self.bindings.tensors[*v] = None;
                }
            },
            Pattern::Element(l) => self.element(*l, goal),
            Pattern::Scalar(pattern) => {
                if let Some(value) = scalar(self.terms, goal.id) {
                    self.attr(pattern, &AttrValue::from(value), |this| this.goals(goal.next));
                }
            }
            Pattern::Apply { op, slot, attrs, operands } => {
                let terms = self.terms;
                // The visitor's verdict is not needed: a break only means that the budget is used up.
                let _ = terms.visit(goal.id, &mut |node, values, node_slot, ids| {
                    if *self.budget == 0 {
                        return ControlFlow::Break(());
                    }
                    *self.budget -= 1;
                    if node == op && node_slot == *slot && attrs.len() == values.len() {
                        let rank = ids.first().map_or(0, |&id| terms.ty(id).rank());
                        self.attrs(op, attrs, values, rank, 0, &mut |this| this.operands(op, operands, ids, goal));
                    }
                    ControlFlow::Continue(())
                });
            }
        }
    }

    fn element(&mut self, list: usize, goal: &Goal<'_, T::Id>) {
        let items = self.bindings.lists[list].get_or_insert_default();
        match items.get(goal.element) {
            Some(&bound) if bound == goal.id => self.goals(goal.next),
            Some(_) => {}
            None if items.len() == goal.element => {
                items.push(goal.id);
                self.goals(goal.next);
                if let Some(items) = &mut self.bindings.lists[list] {
                    items.pop();
                }
            }
            None => {}
        }
        if goal.element == 0 && self.bindings.lists[list].as_ref().is_some_and(Vec::is_empty) {
            self.bindings.lists[list] = None;
        }
    }

    fn attrs(
        &mut self,
        op: &Op,
        patterns: &[AttrPattern],
        values: &Attrs,
        rank: usize,
        at: usize,
        then: &mut dyn FnMut(&mut Self),
    ) {
        let (Some(pattern), Some(value)) = (patterns.get(at), values.get(at)) else { return then(self) };
        match pattern {
            AttrPattern::Value(wanted) => {
                if from_start(op, at, wanted, rank).is_same(value) {
                    self.attrs(op, patterns, values, rank, at + 1, then);
                }
            }
            _ => self.attr(pattern, value, |this| this.attrs(op, patterns, values, rank, at + 1, then)),
        }
    }

    /// Goes on with `then` if `pattern` allows `value`, with its variable bound meanwhile.
    fn attr(&mut self, pattern: &AttrPattern, value: &AttrValue, then: impl FnOnce(&mut Self)) {
        match pattern {
            AttrPattern::Value(wanted) => {
                if wanted.is_same(value) {
                    then(self);
                }
            }
            AttrPattern::Var(v) => match &self.bindings.attrs[*v] {
                Some(bound) if bound.is_same(value) => then(self),
                Some(_) => {}
                None => {
                    self.bindings.attrs[*v] = Some(value.clone());
                    then(self);
                    self.bindings.attrs[*v] = None;
                }
            },
            // The resolver leaves no computed attributes on a left side.
            AttrPattern::Expr(_) => {}
        }
    }

    fn operands(&mut self, op: &Op, patterns: &[Operand], ids: &[T::Id], goal: &Goal<'_, T::Id>) {
        self.in_order(patterns, ids, goal);
        if let (true, [a, b]) = (op.commutative(), ids)
            && a != b
        {
            self.in_order(patterns, &[*b, *a], goal);
        }
    }

    fn in_order(&mut self, patterns: &[Operand], ids: &[T::Id], goal: &Goal<'_, T::Id>) {
        if ids.len() > MAX_OPERANDS {
            return;
        }
        if !patterns.iter().any(|p| matches!(p, Operand::Each(_))) {
            if ids.len() == patterns.len() {
                self.push_each_once(patterns, ids, goal.element, goal.next);
            }
            return;
        }
        // One entry of the list stands for as many operands as the others leave.
        let Some(repeats) = (ids.len() + 1).checked_sub(patterns.len()) else { return };
        let mut plan: Vec<(&Pattern, usize)> = Vec::with_capacity(ids.len());
        for operand in patterns {
            match operand {
                Operand::One(pattern) => plan.push((pattern, goal.element)),
                Operand::Each(pattern) => plan.extend((0..repeats).map(|i| (pattern, i))),
            }
        }
        self.lists_of(patterns, repeats, |this| this.push(&plan, ids, goal.next));
    }

    /// A list that is bound already has to have as many elements as there are operands.
    fn lists_of(&mut self, patterns: &[Operand], repeats: usize, then: impl FnOnce(&mut Self)) {
        let mut lists = Vec::new();
        for p in patterns {
            if let Operand::Each(p) = p {
                p.elements(&mut lists);
            }
        }
        let bound = |l: &usize| self.bindings.lists[*l].as_ref().map(Vec::len);
        if repeats > 0 && lists.iter().all(|l| bound(l).is_none_or(|n| n == repeats)) {
            then(self);
        }
    }

    /// Stacks the goals of an operand list without repeated entries.
    fn push_each_once(&mut self, patterns: &[Operand], ids: &[T::Id], element: usize, next: Option<&Goal<'_, T::Id>>) {
        match (patterns.split_last(), ids.split_last()) {
            (Some((Operand::One(pattern), patterns)), Some((&id, ids))) => {
                self.push_each_once(patterns, ids, element, Some(&Goal { pattern, id, element, next }));
            }
            _ => self.goals(next),
        }
    }

    /// Stacks the goals so that the first operand is matched first.
    fn push(&mut self, plan: &[(&Pattern, usize)], ids: &[T::Id], next: Option<&Goal<'_, T::Id>>) {
        match (plan.split_last(), ids.split_last()) {
            (Some((&(pattern, element), plan)), Some((&id, ids))) => {
                self.push(plan, ids, Some(&Goal { pattern, id, element, next }));
            }
            _ => self.goals(next),
        }
    }
}

impl Pattern {
    /// How far below its root the pattern looks.
    pub fn height(&self) -> usize {
        let Pattern::Apply { operands, .. } = self else { return 0 };
        let below = operands.iter().map(|o| {
            let (Operand::One(p) | Operand::Each(p)) = o;
            p.height()
        });
        1 + below.max().unwrap_or(0)
    }

    /// Adds the operators that stand in this pattern.
    pub fn operators(&self, all: &mut Vec<Op>) {
        let Pattern::Apply { op, operands, .. } = self else { return };
        if !all.contains(op) {
            all.push(op.clone());
        }
        for operand in operands {
            let (Operand::One(p) | Operand::Each(p)) = operand;
            p.operators(all);
        }
    }

    /// Adds the lists whose elements stand in this pattern.
    pub fn elements(&self, lists: &mut Vec<usize>) {
        match self {
            Pattern::Element(l) if !lists.contains(l) => lists.push(*l),
            Pattern::Apply { operands, .. } => {
                for operand in operands {
                    let (Operand::One(p) | Operand::Each(p)) = operand;
                    p.elements(lists);
                }
            }
            _ => {}
        }
    }
}

/// The value of a constant of rank 0. What was computed, such as a root, goes by the name that numbers have.
fn scalar<T: Terms>(terms: &T, id: T::Id) -> Option<Number> {
    let ty = terms.ty(id);
    let value = if ty.rank() == 0 { terms.constant(id)?.uniform() } else { None };
    value.map(|v| if as_number(ty.dtype, v) == v { shortest_number(ty.dtype, v) } else { v })
}

/// An attribute value with negative dims counted from the end of `rank` dims.
pub(super) fn from_start(op: &Op, attr: usize, value: &AttrValue, rank: usize) -> AttrValue {
    let kind = op.def().and_then(|def| def.attrs.get(attr)).map(|a| a.kind);
    let fix = |d: i64| if d < 0 { d.saturating_add(rank as i64) } else { d };
    match (kind, value) {
        (Some(AttrKind::Dim), AttrValue::Int(d)) => AttrValue::Int(fix(*d)),
        (Some(AttrKind::Dims), AttrValue::Ints(dims)) => AttrValue::Ints(dims.iter().map(|&d| fix(d)).collect()),
        _ => value.clone(),
    }
}

#[cfg(test)]
#[path = "matcher_tests.rs"]
mod tests;
