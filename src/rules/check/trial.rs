//! One rule on many instances.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use super::super::set::RuleTest;
use super::choice::Choice;
use super::counterexample::{Counterexample, Shown, show};
use super::coverage::Seen;
use super::data::{Data, Scale};
use super::effort::Effort;
use super::generator::{Generator, Style};
use super::instance::Instance;
use super::named::Named;
use super::overflow;
use super::shrink::{self, Size};
use crate::rules::rule::Rule;
use crate::rules::terms::Terms;
use crate::rules::{Problem, RuleSet, Tier};

/// Attempts to find instances with an empty dim, and how many are compared.
const EMPTY_ATTEMPTS: usize = 3_000;
const EMPTY_INSTANCES: usize = 40;

/// The same for each of the styles in which attempts depart from what is usual.
const STYLED_ATTEMPTS: usize = 1_500;
const STYLED_INSTANCES: usize = 30;
const NAMED_INSTANCES: usize = 60;

/// Instances that are tried at the limits of types.
const LIMITS: usize = 24;

/// Attempts to find other counterexamples once there is one; the smallest is then made smaller.
const MORE: usize = 300;

/// With how many data a test is run, and among how many those are looked for.
const DATA_OF_TEST: usize = 4;
const SEEDS_OF_TEST: u64 = 64;

struct Trial<'a> {
    set: &'a RuleSet,
    rule: &'a Rule,
    named: &'a Named,
    /// Where an instance that agrees is tried again, and of which one is taken in turn.
    scales: Vec<Scale>,
    in_turn: Vec<Scale>,
    turn: usize,
    seen: Seen,
    undefined: usize,
    /// Instances that were tried at the limits of types.
    limits: usize,
    worst: Option<(Size, Box<Counterexample>)>,
}

/// What trying one direction of a rule out has shown.
pub(super) struct TrialResult {
    pub problem: Option<Problem>,
    pub seen: Seen,
}

/// Tries rule number `i` of the set out: what is wrong with it, if anything, and what was tried.
pub(super) fn try_rule(set: &RuleSet, i: usize, effort: Effort) -> TrialResult {
    let rule = &*set.rules[i];
    let named = Named::of(rule);
    let mut trial = Trial {
        set,
        rule,
        named: &named,
        scales: Scale::others(&named),
        in_turn: Scale::in_turn(&named, rule.tier),
        turn: 0,
        seen: Seen::default(),
        undefined: 0,
        limits: 0,
        worst: None,
    };
    for (_, test) in set.tests.iter().filter(|(_, t)| *t.rule == *rule.name) {
        if let Some(choice) = chosen(rule, test) {
            data_of_test(set, rule, &choice).for_each(|data| trial.instance(&choice, data));
        }
    }
    let mut limit = effort.attempts;
    let mut attempt = 0;
    let first = first_seed(set, i, effort);
    while attempt < limit && (trial.worst.is_some() || trial.seen.instances < effort.instances) {
        let seed = first.wrapping_add(attempt as u64);
        if let Some(choice) = Generator::styled(rule, seed, &named, Style::Usual).attempt() {
            let before = trial.worst.is_some();
            trial.instance(&choice, Data::seeded(seed));
            if trial.worst.is_some() && !before {
                limit = limit.min(attempt + MORE);
            }
        }
        attempt += 1;
    }
    for style in [Style::Named, Style::Narrow, Style::Extreme] {
        if trial.worst.is_none() && (style != Style::Named || named.has_numbers()) {
            trial.styled(style, first, effort.attempts.min(STYLED_ATTEMPTS));
        }
    }
    if trial.worst.is_none() {
        trial.empties(first, effort.attempts.min(EMPTY_ATTEMPTS));
    }
    trial.verdict(i)
}

/// A rule is tried in the same way wherever it stands among others.
fn first_seed(set: &RuleSet, i: usize, effort: Effort) -> u64 {
    let name = &set.rules[i].name;
    let twins = set.rules[..i].iter().filter(|r| r.name == *name).count();
    let mut hasher = FxHasher::default();
    (effort.seed, name, twins).hash(&mut hasher);
    hasher.finish()
}

impl Trial<'_> {
    /// Tries instances of a style.
    fn styled(&mut self, style: Style, first: u64, attempts: usize) {
        let count = if style == Style::Named { NAMED_INSTANCES } else { STYLED_INSTANCES };
        let wanted = self.seen.instances + count;
        for seed in (0..attempts as u64).map(|n| first.wrapping_add(n)) {
            if self.seen.instances >= wanted || self.worst.is_some() {
                break;
            }
            if let Some(choice) = Generator::styled(self.rule, seed, self.named, style).attempt() {
                self.instance(&choice, Data::seeded(seed).far(true));
            }
        }
    }

    /// The scale whose turn it is, at every second instance, of those that say something here.
    fn next_in_turn(&mut self, instance: &Instance) -> Option<Scale> {
        self.turn += 1;
        if self.turn.is_multiple_of(2) {
            return None;
        }
        let integers = || instance.leaves().any(|id| !instance.arena.ty(id).dtype.is_float());
        let exact = self.rule.tier == Tier::Exact;
        let tells = |scale: &Scale| match scale {
            Scale::Limits => exact || integers(),
            Scale::Ties => instance.leaves_open(),
            _ => true,
        };
        let usable: Vec<Scale> = self.in_turn.iter().copied().filter(tells).collect();
        usable.get((self.turn / 2) % usable.len().max(1)).copied()
    }

    /// Tries instances in which some dims are empty: those that the rule leaves free.
    fn empties(&mut self, first: u64, attempts: usize) {
        for seed in (0..attempts as u64).map(|n| first.wrapping_add(n)) {
            if self.seen.empty == EMPTY_INSTANCES {
                break;
            }
            let choice = Generator::styled(self.rule, seed, self.named, Style::Empty).attempt();
            if let Some(choice) = choice.filter(|c| c.types().any(|t| t.shape.contains(&0))) {
                self.instance(&choice, Data::seeded(seed));
            }
        }
    }

    fn instance(&mut self, choice: &Choice, data: Data) {
        match show(self.rule, &self.set.definitions, choice, data) {
            Shown::NoInstance => {}
            Shown::Undefined => self.undefined += 1,
            Shown::Agrees(instance) if data.scale == Scale::Unit => {
                self.seen.count(&instance);
                // Of an empty result, only the type can be compared.
                if instance.arena.ty(instance.lhs).numel() > 0 {
                    // What is far from usual is tried for one thing at a time, which keeps the gate fast.
                    let mut scales = if data.far { Vec::new() } else { self.scales.clone() };
                    scales.extend(self.next_in_turn(&instance));
                    scales.into_iter().for_each(|scale| self.instance(choice, data.at(scale)));
                    self.at_limits(choice, data);
                }
            }
            Shown::Agrees(_) => {}
            Shown::Breaks(found) => self.keep(found),
        }
    }

    /// Tries values at the limits of narrow types, for the first instances that agree elsewhere.
    fn at_limits(&mut self, choice: &Choice, data: Data) {
        if self.limits < LIMITS {
            self.limits += 1;
            let found = overflow::find(self.rule, &self.set.definitions, choice, data);
            found.into_iter().for_each(|found| self.keep(found));
        }
    }

    fn keep(&mut self, found: Box<Counterexample>) {
        let size = Size::of(&found);
        if self.worst.as_ref().is_none_or(|(known, _)| size < *known) {
            self.worst = Some((size, found));
        }
    }

    fn verdict(self, i: usize) -> TrialResult {
        let place = &self.set.places[i];
        let direction = if self.rule.reversed { "from right to left" } else { "here" };
        let shown = |(size, found): (Size, Box<Counterexample>)| {
            let found = shrink::shrink(self.rule, &self.set.definitions, size, found);
            let problem = place.report.problem(found.code, place.span, found.message(self.rule), direction);
            let advice = match found.code {
                "rules::range" => {
                    "state which value has to stay within which range, as `assume in_range(x, f16)` does; "
                }
                _ => "",
            };
            problem.with_help(format!("{advice}the smallest counterexample found:\n{}", found.text(self.rule)))
        };
        if let Some(worst) = self.worst {
            return TrialResult { problem: Some(shown(worst)), seen: self.seen };
        }
        if self.seen.instances > 0 {
            return TrialResult { problem: None, seen: self.seen };
        }
        let message = format!("no instance of `{}` could be tried", self.rule.name);
        let problem = place.report.problem("rules::never_exercised", place.span, message, direction);
        let problem = if self.undefined == 0 {
            problem.with_help(
                "no operands and attributes were found that the left side and the conditions allow; \
                 a `test` item can name some",
            )
        } else {
            problem.with_help("all instances that were found use operators without reference semantics")
        };
        TrialResult { problem: Some(problem), seen: self.seen }
    }
}

/// Up to `count` instances of rule number `i` on which both sides agree, of unequal types.
pub fn samples(set: &RuleSet, i: usize, count: usize) -> Vec<Choice> {
    let Some(rule) = set.rules.get(i) else { return Vec::new() };
    let mut found: Vec<Choice> = Vec::new();
    let first = first_seed(set, i, Effort::default());
    let tests = set.tests.iter().filter(|(_, t)| *t.rule == *rule.name).filter_map(|(_, t)| chosen(rule, t));
    let named = Named::of(rule);
    let random =
        (0..4_000).filter_map(|n| Generator::styled(rule, first.wrapping_add(n), &named, Style::Usual).attempt());
    for choice in tests.chain(random) {
        if found.len() == count {
            break;
        }
        let fits = || matches!(show(rule, &set.definitions, &choice, Data::seeded(first)), Shown::Agrees(_));
        if !found.contains(&choice) && fits() {
            found.push(choice);
        }
    }
    found
}

/// Of how many instances of rule number `i` libtorch has an opinion, up to `wanted`.
#[cfg(feature = "torch")]
pub(super) fn answered(set: &RuleSet, i: usize, wanted: usize) -> usize {
    let rule = &*set.rules[i];
    let (named, effort) = (Named::of(rule), Effort::default());
    let first = first_seed(set, i, effort);
    let tests = set.tests.iter().filter(|(_, t)| *t.rule == *rule.name).filter_map(|(_, t)| chosen(rule, t));
    let tests = tests.flat_map(|choice| (0..4).map(move |seed| (choice.clone(), seed)));
    let random = (0..effort.attempts as u64).filter_map(|n| {
        let seed = first.wrapping_add(n);
        Some((Generator::styled(rule, seed, &named, Style::Usual).attempt()?, seed))
    });
    let answers = |(choice, seed): &(Choice, u64)| {
        let instance = super::instance::build(rule, &set.definitions, choice, Data::seeded(*seed));
        instance.is_ok_and(|i| i.rhs.as_ref().is_ok_and(|&rhs| super::torch::values(&i, rhs).is_some()))
    };
    tests.chain(random).filter(answers).take(wanted).count()
}

/// The instance that a `test` item describes, if it names all operands of this direction.
fn chosen(rule: &Rule, test: &RuleTest) -> Option<Choice> {
    let tensors: Vec<_> = rule.vars.tensors.iter().map(|n| test.tensors.get(n.as_ref()).cloned()).collect();
    let lists: Vec<_> = rule.vars.lists.iter().map(|n| test.lists.get(n.as_ref()).cloned()).collect();
    let attrs = rule.vars.attrs.iter().map(|n| test.attrs.get(n.as_ref()).cloned()).collect();
    let choice = Choice { tensors, lists, attrs };
    let known = choice.tensors.iter().all(Option::is_some) && choice.lists.iter().all(Option::is_some);
    known.then(|| Generator::complete(rule, choice))
}

/// How a `test` item ended.
#[derive(Clone, Debug)]
pub struct TestResult {
    /// The rule that it is a test of.
    pub rule: String,
    /// What is wrong, if anything.
    pub problem: Option<Problem>,
}

/// Runs the `test` items that were added to the set after the first `skip`.
pub fn run_tests(set: &RuleSet, skip: usize) -> Vec<TestResult> {
    let run = |(report, test): &(crate::rules::error::Reporter, RuleTest)| {
        let rules: Vec<&Rule> = set.rules.iter().filter(|r| *r.name == *test.rule).map(|r| &**r).collect();
        let problem = test_problem(set, &rules, test)
            .map(|(code, message, help)| report.problem(code, test.span, message, "this test").with_help(help));
        TestResult { rule: test.rule.clone(), problem }
    };
    set.tests.iter().skip(skip).map(run).collect()
}

/// The first data that make an instance of what a test names: conditions may ask for values of a certain kind.
fn data_of_test(set: &RuleSet, rule: &Rule, choice: &Choice) -> impl Iterator<Item = Data> {
    let fits = move |data: &Data| super::instance::build(rule, &set.definitions, choice, *data).is_ok();
    (0..SEEDS_OF_TEST).map(Data::seeded).filter(fits).take(DATA_OF_TEST)
}

/// What is wrong with an instance of a rule: code, message, help.
fn test_problem(set: &RuleSet, rules: &[&Rule], test: &RuleTest) -> Option<(&'static str, String, String)> {
    let mut tried = false;
    let mut reason = "the test does not name every operand of the rule".to_owned();
    for rule in rules {
        let Some(choice) = chosen(rule, test) else { continue };
        let mut all = data_of_test(set, rule, &choice).peekable();
        if all.peek().is_none() {
            reason = super::instance::why_none(rule, &set.definitions, &choice);
        }
        for data in all {
            match show(rule, &set.definitions, &choice, data) {
                Shown::Agrees(_) => tried = true,
                Shown::Breaks(found) => {
                    let size = Size::of(&found);
                    let found = shrink::plain(rule, &set.definitions, size, found);
                    return Some((found.code, found.message(rule), found.text(rule)));
                }
                Shown::Undefined => "an operator without reference semantics stands in it".clone_into(&mut reason),
                Shown::NoInstance => {}
            }
        }
    }
    let message = || format!("this is no instance of `{}`", test.rule);
    (!tried).then(|| ("rules::no_instance", message(), reason))
}
