//! The library's own rules pass the gate that users' rules have to pass.

use magneton_ir::rules::check::{Effort, check};
use magneton_ir::rules::{RuleError, RuleSet};

fn shown(error: RuleError) -> String {
    format!("{:?}", miette::Report::new(error))
}

#[test]
fn every_rule_of_the_library_holds() {
    let set = RuleSet::library().map_err(shown).unwrap_or_else(|e| panic!("{e}"));
    if let Err(error) = check(&set, Effort::default()) {
        panic!("{}", shown(error));
    }
}
