//! The rules of a set that say that a commutative operator is associative.

use std::sync::Arc;

use crate::rules::{Associativity, Rule, RuleSet};

/// The rules of a set that say that a commutative operator is associative, one for each operator.
#[derive(Default)]
pub(super) struct Associative(pub(super) Vec<(Arc<Rule>, Associativity)>);

impl Associative {
    pub(super) fn among(rules: &RuleSet) -> Associative {
        let mut stated: Vec<(Arc<Rule>, Associativity)> = Vec::new();
        for rule in rules.rules() {
            if let Some(associativity) = rule.associativity()
                && !stated.iter().any(|(_, known)| known.op == associativity.op)
            {
                stated.push((rule.clone(), associativity));
            }
        }
        Associative(stated)
    }
}
