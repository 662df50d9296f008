//! The rule language: rules say which operator expressions are equal, and how equal.

pub mod expr;
mod functions;
mod instantiate;
mod masks;
mod matcher;
mod rule;
mod terms;
mod tier;

pub use instantiate::BuildError;
pub use rule::{AttrPattern, Bindings, Condition, Operand, Outcome, Pattern, Rule, Vars};
pub use terms::{Build, Terms, Visitor};
pub use tier::Tier;

use std::sync::Arc;

/// A checked set of rules.
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    rules: Vec<Arc<Rule>>,
    fingerprint: u64,
}

impl RuleSet {
    /// All rules, one direction each, in the order of their files.
    pub fn rules(&self) -> &[Arc<Rule>] {
        &self.rules
    }

    /// A number that changes whenever a rule changes.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }
}
