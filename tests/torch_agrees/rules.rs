//! Rules under libtorch.

use magneton_ir::rules::RuleSet;
use magneton_ir::rules::check::{Effort, check, libtorch_answers};

/// Instances of each rule of which libtorch has to have an opinion.
const ANSWERED: usize = 4;

/// Rules about types in which a difference would say nothing.
const COARSE: [&str; 1] = ["cast_through_bf16"];

#[test]
fn libtorch_has_an_opinion_of_every_rule() {
    let set = RuleSet::library().unwrap();
    let mut silent = libtorch_answers(&set, ANSWERED);
    silent.retain(|(rule, answers)| *answers < ANSWERED && !COARSE.contains(rule));
    assert!(silent.is_empty(), "{silent:?}");
}

#[test]
fn the_library_holds_under_libtorch() {
    let error = check(&RuleSet::library().unwrap(), Effort::default()).err();
    assert!(error.is_none(), "{:?}", error.map(miette::Report::new));
}
