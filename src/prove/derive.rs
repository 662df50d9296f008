//! Whether other rules already prove what a rule says.

use std::sync::Arc;

use super::arena::{Head, TermArena, TermId};
use super::kernel::Instances;
use super::window::{Limits, Stop, Window};
use crate::ir::TensorType;
use crate::rules::check::{Choice, samples};
use crate::rules::{Bindings, Outcome, Rule, RuleSet};

/// The least and the most instances of unequal types that have to be proven.
const INSTANCES: std::ops::RangeInclusive<usize> = 3..=10;
/// What a rule that follows from others has to be found within.
const LIMITS: Limits = Limits { rounds: 4, nodes: 500, search: 100_000 };

/// The other rules, at least as strong, by which both sides of rule number `i` are proven equal on every instance that
/// is tried; `None` if one is not.
pub fn derivation(set: &RuleSet, i: usize) -> Option<Vec<Arc<str>>> {
    let rule = set.rules().get(i)?;
    let others = set.without(&rule.name).up_to(rule.tier);
    let choices = samples(set, i, *INSTANCES.end());
    if choices.len() < *INSTANCES.start() {
        return None;
    }
    let mut used: Vec<Arc<str>> = Vec::new();
    for choice in &choices {
        for name in proof(rule, &others, choice)? {
            if !used.contains(&name) {
                used.push(name);
            }
        }
    }
    (!used.is_empty()).then_some(used)
}

fn proof(rule: &Rule, others: &RuleSet, choice: &Choice) -> Option<Vec<Arc<str>>> {
    let mut arena = TermArena::default();
    let mut bindings = Bindings::empty(&rule.vars);
    let mut leaf = |ty: &TensorType| -> TermId {
        let number = arena.len() as u32;
        arena.leaf(Head::Input(number), ty, None)
    };
    for (slot, ty) in bindings.tensors.iter_mut().zip(&choice.tensors) {
        *slot = ty.as_ref().map(&mut leaf);
    }
    for (slot, types) in bindings.lists.iter_mut().zip(&choice.lists) {
        *slot = types.as_ref().map(|types| types.iter().map(&mut leaf).collect());
    }
    for (slot, value) in bindings.attrs.iter_mut().zip(&choice.attrs) {
        slot.clone_from(value);
    }
    let mut terms = Instances { arena: &mut arena };
    let lhs = rule.build_lhs(&bindings, &mut terms).ok()?;
    // Conditions on values say nothing of free inputs.
    let Outcome::Holds { .. } = rule.check_conditions(&terms, &mut bindings) else { return None };
    let rhs = rule.build_rhs(&bindings, &mut terms).ok()?;
    let (mut window, classes) = Window::new(arena, &[lhs, rhs]);
    match window.saturate(others, Some((classes[0], classes[1])), LIMITS) {
        Stop::Proven => {}
        _ => return None,
    }
    let lemmas = window.proof(lhs, rhs)?;
    Some(lemmas.iter().map(|l| Arc::from(l.name())).collect())
}
