//! Trying rules out: a rule is refused if some instance of it is ill-typed, wrong or cannot be rewritten, if its tier
//! claims too much, or if no instance of it can be found.

mod backwards;
mod choice;
mod compare;
mod conditions;
mod counterexample;
mod coverage;
mod data;
mod effort;
mod generate;
mod generator;
mod instance;
mod limits;
mod moves;
mod named;
mod operand_synthesis;
mod overflow;
mod places;
mod products;
mod random;
mod shrink;
#[cfg(feature = "torch")]
mod torch;
mod trial;
mod types;
mod values;
mod views;
mod windows;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

pub use choice::Choice;
pub use coverage::Coverage;
pub use trial::{TestResult, run_tests, samples};

use super::{Problem, RuleError, RuleSet};
pub use effort::Effort;

/// What trying rules out has shown.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Why rules are refused.
    pub problems: Vec<Problem>,
    /// What was tried, one entry a rule with all its directions, in the order of the set.
    pub coverage: Vec<Coverage>,
    /// The rules that hold: the number of the first of each name.
    pub holding: Vec<usize>,
}

/// Checks every rule of the set.
///
/// # Errors
/// The rules that are wrong, each with a counterexample or the reason.
pub fn check(set: &RuleSet, effort: Effort) -> Result<(), RuleError> {
    check_from(set, 0, effort)
}

/// Checks the rules from number `first` on: those that were added to a set that has been checked.
///
/// # Errors
/// As [`check`].
pub fn check_from(set: &RuleSet, first: usize, effort: Effort) -> Result<(), RuleError> {
    let Findings { problems, .. } = find(set, first, effort);
    if problems.is_empty() { Ok(()) } else { Err(RuleError { problems }) }
}

/// Tries the rules from number `first` on out, on all cores.
pub fn find(set: &RuleSet, first: usize, effort: Effort) -> Findings {
    let tried = on_all_cores(first..set.rules.len(), |i| trial::try_rule(set, i, effort));
    let mut findings = Findings::default();
    // The instances of a rule template and both directions often fail alike: the first one is enough.
    let add = |known: &mut Vec<Problem>, found: Option<Problem>| {
        known.extend(found.filter(|f| !known.iter().any(|p| p.span == f.span && p.file == f.file)));
    };
    for (i, trial::TrialResult { problem, seen }) in (first..).zip(tried) {
        add(&mut findings.problems, problem);
        coverage::add(&mut findings.coverage, &set.rules[i], seen);
    }
    let refused = |i: usize| {
        let place = &set.places[i];
        findings.problems.iter().any(|p| p.span == Some(place.span) && p.file == place.report.file)
    };
    findings.holding = first_of_each_name(set, first).into_iter().filter(|&i| !refused(i)).collect();
    findings
}

/// Conditions whose removal breaks nothing, as warnings, of the rules of these numbers and all their directions.
pub fn idle_conditions(set: &RuleSet, rules: &[usize]) -> Vec<Problem> {
    let warnings = on_all_cores(0..rules.len(), |n| conditions::idle(set, rules[n]));
    warnings.into_iter().flatten().collect()
}

/// Rules of these numbers that `derivation` proves from others and that do not say so, as warnings. It gives the rules that
/// it needed.
pub fn redundant(
    set: &RuleSet,
    rules: &[usize],
    derivation: impl Fn(&RuleSet, usize) -> Option<Vec<Arc<str>>> + Sync,
) -> Vec<Problem> {
    let rules: Vec<usize> = rules.iter().copied().filter(|&i| !set.rules[i].shortcut).collect();
    let found = on_all_cores(0..rules.len(), |n| derivation(set, rules[n]));
    let warn = |(&i, others): (&usize, Option<Vec<Arc<str>>>)| {
        let (place, others) = (&set.places[i], others?);
        let message = format!("other rules prove what `{}` says", set.rules[i].name);
        let problem = place.report.problem("rules::redundant", place.span, message, "found without this rule");
        let help = format!(
            "by {}; where the chain is long, write `[{}, shortcut]` to keep it",
            others.join(", "),
            set.rules[i].tier
        );
        Some(problem.with_help(help).warning())
    };
    rules.iter().zip(found).filter_map(warn).collect()
}

/// Every rule, with the number of its instances of which libtorch has an opinion, up to `wanted`.
#[cfg(feature = "torch")]
#[must_use]
pub fn libtorch_answers(set: &RuleSet, wanted: usize) -> Vec<(&str, usize)> {
    let rules = first_of_each_name(set, 0);
    let answers = on_all_cores(0..rules.len(), |n| trial::answered(set, rules[n], wanted));
    rules.iter().map(|&i| &*set.rules[i].name).zip(answers).collect()
}

/// The numbers of those rules from `first` on that are the first of their name.
fn first_of_each_name(set: &RuleSet, first: usize) -> Vec<usize> {
    let mut seen = rustc_hash::FxHashSet::default();
    (first..set.rules.len()).filter(|&i| seen.insert(&set.rules[i].name)).collect()
}

/// `f` of every number in the range, in order.
fn on_all_cores<T: Send>(range: Range<usize>, f: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(range.len()).min(16);
    if threads <= 1 {
        return range.map(f).collect();
    }
    let next = AtomicUsize::new(range.start);
    let done: Mutex<Vec<(usize, T)>> = Mutex::new(Vec::with_capacity(range.len()));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    if i >= range.end {
                        break;
                    }
                    let value = f(i);
                    if let Ok(mut done) = done.lock() {
                        done.push((i, value));
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|&(i, _)| i);
    done.into_iter().map(|(_, value)| value).collect()
}
