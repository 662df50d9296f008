//! Trying rules out: a rule is refused if some instance of it is ill-typed or wrong, if its tier claims too much, or if
//! no instance of it can be found.

mod backwards;
mod compare;
mod generate;
mod instance;
mod random;
mod views;

use std::hash::{Hash, Hasher};
use std::ops::Range;

use compare::{Finding, compare, leaf_values};
use generate::{Choice, Generator};
use instance::{Instance, Unfit, build};

use rustc_hash::FxHasher;

use super::load::RuleTest;
use super::rule::Rule;
use super::terms::Terms;
use super::{Problem, RuleError, RuleSet};
use crate::ir::TensorType;

/// How hard to try.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Attempts to find instances of a rule.
    pub attempts: usize,
    /// Instances that are compared.
    pub instances: usize,
    pub seed: u64,
}

impl Default for Effort {
    fn default() -> Self {
        Effort { attempts: 60_000, instances: 60, seed: 1 }
    }
}

/// Attempts to find a smaller counterexample once there is one.
const SMALLER: usize = 3_000;

/// Checks every rule of the set.
pub fn check(set: &RuleSet, effort: Effort) -> Result<(), RuleError> {
    check_from(set, 0, effort)
}

/// Checks the rules from number `first` on: those that were added to a set that has been checked.
pub fn check_from(set: &RuleSet, first: usize, effort: Effort) -> Result<(), RuleError> {
    let problems: Vec<Problem> = rules_in(set, first..set.rules.len(), effort);
    if problems.is_empty() { Ok(()) } else { Err(RuleError { problems }) }
}

fn rules_in(set: &RuleSet, range: Range<usize>, effort: Effort) -> Vec<Problem> {
    let mut problems: Vec<Problem> = Vec::new();
    for i in range {
        let found = check_rule(set, i, effort);
        // The instances of a rule template and both directions often fail alike: the first one is enough.
        if let Some(problem) = found
            && !problems.iter().any(|p| p.span == problem.span && p.file == problem.file)
        {
            problems.push(problem);
        }
    }
    problems
}

/// What is wrong with rule number `i` of the set, if anything.
pub fn check_rule(set: &RuleSet, i: usize, effort: Effort) -> Option<Problem> {
    let rule = set.rules.get(i)?;
    let mut trial = Trial { set, rule, compared: 0, undefined: 0, unfit: None, worst: None };
    for (_, test) in set.tests.iter().filter(|(_, t)| *t.rule == *rule.name) {
        for seed in 0..4 {
            if let Some(choice) = chosen(rule, test) {
                trial.instance(&choice, seed);
            }
        }
    }
    let mut limit = effort.attempts;
    let mut attempt = 0;
    // A rule is tried in the same way wherever it stands among others.
    let twins = set.rules[..i].iter().filter(|r| r.name == rule.name).count();
    let mut hasher = FxHasher::default();
    (effort.seed, &rule.name, twins).hash(&mut hasher);
    let first = hasher.finish();
    while attempt < limit && (trial.worst.is_some() || trial.compared < effort.instances) {
        let seed = first.wrapping_add(attempt as u64);
        if let Some(choice) = Generator::new(rule, seed).attempt() {
            let before = trial.worst.is_some();
            trial.instance(&choice, seed);
            if trial.worst.is_some() && !before {
                limit = limit.min(attempt + SMALLER);
            }
        }
        attempt += 1;
    }
    trial.verdict(i)
}

/// The instance that a `test` item describes, if it names all variables of this direction.
fn chosen(rule: &Rule, test: &RuleTest) -> Option<Choice> {
    let tensors: Vec<_> = rule.vars.tensors.iter().map(|n| test.tensors.get(n.as_ref()).cloned()).collect();
    let lists: Vec<_> = rule.vars.lists.iter().map(|n| test.lists.get(n.as_ref()).cloned()).collect();
    let choice =
        Choice { tensors, lists, attrs: rule.vars.attrs.iter().map(|n| test.attrs.get(n.as_ref()).cloned()).collect() };
    let known = choice.tensors.iter().all(Option::is_some) && choice.lists.iter().all(Option::is_some);
    known.then_some(choice)
}

struct Trial<'a> {
    set: &'a RuleSet,
    rule: &'a Rule,
    compared: usize,
    undefined: usize,
    /// The last reason why a right side could not be built.
    unfit: Option<String>,
    /// The smallest counterexample and its size.
    worst: Option<(usize, Counterexample)>,
}

struct Counterexample {
    code: &'static str,
    message: String,
    text: String,
}

impl Trial<'_> {
    fn instance(&mut self, choice: &Choice, seed: u64) {
        let instance = match build(self.rule, &self.set.definitions, choice, seed) {
            Ok(instance) => instance,
            Err(Unfit::Right(reason)) => {
                self.unfit = Some(reason);
                return;
            }
            Err(_) => return,
        };
        let (left, right) = (instance.arena.ty(instance.lhs).clone(), instance.arena.ty(instance.rhs).clone());
        if left != right {
            let message = format!("`{}` gives a {left} on the left and a {right} on the right", self.rule.name);
            self.report(&instance, "rules::ill_typed", message, None);
            return;
        }
        if left.numel() == 0 {
            return;
        }
        match compare(&instance, self.rule.tier) {
            Finding::Agree => self.compared += 1,
            Finding::Undefined => self.undefined += 1,
            Finding::Values { left: l, right: r } => {
                let message = format!("`{}` is wrong: its sides differ", self.rule.name);
                self.report(&instance, "rules::wrong", message, Some((&left, l, r)));
            }
            Finding::Tier { left: l, right: r } => {
                let message =
                    format!("`{}` claims to be {}, but its sides round differently", self.rule.name, self.rule.tier);
                self.report(&instance, "rules::tier_too_strong", message, Some((&left, l, r)));
            }
        }
    }

    fn report(
        &mut self,
        instance: &Instance,
        code: &'static str,
        message: String,
        sides: Option<(&TensorType, Vec<f64>, Vec<f64>)>,
    ) {
        let tensors =
            instance.bindings.tensors.iter().flatten().chain(instance.bindings.lists.iter().flatten().flatten());
        // Wrong values weigh more than wrong rounding: a smaller instance of the latter does not replace the former.
        let size: usize = tensors.map(|&t| instance.arena.ty(t).numel()).sum();
        let size = if code == "rules::tier_too_strong" { size + 1_000_000 } else { size };
        if self.worst.as_ref().is_none_or(|(known, _)| size < *known) {
            let text = counterexample(self.rule, instance, sides);
            self.worst = Some((size, Counterexample { code, message, text }));
        }
    }

    fn verdict(self, i: usize) -> Option<Problem> {
        let place = self.set.places.get(i)?;
        let direction = if self.rule.reversed { "from right to left" } else { "here" };
        if let Some((_, found)) = self.worst {
            let problem = place.report.problem(found.code, place.span, found.message, direction);
            return Some(problem.with_help(format!("the smallest counterexample found:\n{}", found.text)));
        }
        if self.compared > 0 {
            return None;
        }
        let message = format!("no instance of `{}` could be tried", self.rule.name);
        let problem = place.report.problem("rules::never_exercised", place.span, message, direction);
        Some(match (self.undefined, self.unfit) {
            (0, Some(reason)) => problem.with_help(format!("the right side could not be built: {reason}")),
            (0, None) => problem.with_help(
                "no operands and attributes were found that the left side and the conditions allow; \
                 a `test` item can name some",
            ),
            _ => problem.with_help("all instances that were found use operators without reference semantics"),
        })
    }
}

fn counterexample(rule: &Rule, instance: &Instance, sides: Option<(&TensorType, Vec<f64>, Vec<f64>)>) -> String {
    let mut lines = Vec::new();
    let tensor = |id: u32| format!("{} = {}", instance.arena.ty(id), elements(&leaf_values(instance, id)));
    for (name, id) in rule.vars.tensors.iter().zip(&instance.bindings.tensors) {
        if let Some(id) = id {
            lines.push(format!("  {name}: {}", tensor(*id)));
        }
    }
    for (name, list) in rule.vars.lists.iter().zip(&instance.bindings.lists) {
        for (i, &id) in list.iter().flatten().enumerate() {
            lines.push(format!("  {name}[{i}]: {}", tensor(id)));
        }
    }
    for (name, value) in rule.vars.attrs.iter().zip(&instance.bindings.attrs) {
        if let (false, Some(value)) = (name.starts_with('$'), value) {
            lines.push(format!("  {name} = {value}"));
        }
    }
    if let Some((ty, left, right)) = sides {
        lines.push(format!("  left:  {ty} = {}", elements(&left)));
        lines.push(format!("  right: {ty} = {}", elements(&right)));
    }
    lines.join("\n")
}

/// The first elements of a tensor.
fn elements(values: &[f64]) -> String {
    const SHOWN: usize = 12;
    let mut shown: Vec<String> = values.iter().take(SHOWN).map(|v| short(*v)).collect();
    if values.len() > SHOWN {
        shown.push("…".into());
    }
    format!("[{}]", shown.join(", "))
}

/// Seven digits, which tell every f32 from its neighbours in most cases; all where that is not enough.
fn short(value: f64) -> String {
    let text = format!("{value:.6e}");
    match text.parse::<f64>() {
        Ok(v) if v == value => format!("{value:?}"),
        _ if value.abs() >= 1e-4 && value.abs() < 1e6 => format!("{value:.9}"),
        _ => format!("{value:.9e}"),
    }
}
