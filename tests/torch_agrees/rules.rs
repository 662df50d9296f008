//! Rules under libtorch.

use magneton_ir::rules::check::{Effort, Findings, find, libtorch_answers};
use magneton_ir::rules::{RuleError, RuleSet};

/// Instances of each rule of which libtorch has to have an opinion.
const ANSWERED: usize = 4;

/// Instances that every rule has to have.
const LEAST: usize = 8;

/// Rules about types in which a difference would say nothing.
const COARSE: [&str; 1] = ["cast_through_bf16"];

#[test]
fn libtorch_has_an_opinion_of_every_rule() {
    let set = RuleSet::library().unwrap();
    let mut silent = libtorch_answers(&set, ANSWERED);
    silent.retain(|(rule, answers)| *answers < ANSWERED && !COARSE.contains(rule));
    assert!(silent.is_empty(), "{silent:?}");
}

/// What the library's own test of the same says, with both opinions.
#[test]
fn every_rule_of_the_library_holds_under_libtorch() {
    let Findings { problems, coverage, .. } = find(&RuleSet::library().unwrap(), 0, Effort::default());
    assert!(problems.is_empty(), "{:?}", miette::Report::new(RuleError { problems }));
    let seldom: Vec<String> =
        coverage.into_iter().filter(|rule| rule.seen.instances < LEAST).map(|r| r.name.to_string()).collect();
    assert!(seldom.is_empty(), "{seldom:?}");
}
