//! A set of rules, with the operators that they define.

use std::collections::BTreeMap;
use std::sync::Arc;

use miette::SourceSpan;

use super::definition::{Definition, Definitions, definition_of};
use super::error::Reporter;
use super::rule::Rule;
use super::tier::Tier;
use crate::ir::{AttrValue, TensorType};
use crate::ops::CustomOp;

/// Rules, the operators that they define, and tests of them.
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    pub(super) rules: Vec<Arc<Rule>>,
    /// Where the rule of the same number stands.
    pub(super) places: Vec<RuleLocation>,
    pub(super) definitions: Definitions,
    pub(super) tests: Vec<(Reporter, RuleTest)>,
    pub(super) fingerprint: u64,
    /// The weakest tier that steps may have if this is not just any.
    pub(super) weakest: Option<Tier>,
}

/// One line of `rules list`.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleInfo {
    /// As the file has it; directions and instances share it.
    pub name: Arc<str>,
    /// How equal both sides are.
    pub tier: Tier,
    /// The file of the rule, without its ending.
    pub family: Arc<str>,
    /// The rule's sentence.
    pub doc: Arc<str>,
    /// Whether it holds from right to left, too.
    pub both_ways: bool,
}

impl RuleSet {
    /// All rules, one direction each, in the order of their files.
    pub fn rules(&self) -> &[Arc<Rule>] {
        &self.rules
    }

    /// The operators that rules define.
    pub fn definitions(&self) -> &[Arc<Definition>] {
        &self.definitions
    }

    /// What an operator of a graph computes, if a rule says so of one with its name and its attributes.
    pub(crate) fn definition_of(&self, op: &CustomOp) -> Option<&Arc<Definition>> {
        definition_of(&self.definitions, op)
    }

    /// A number that changes whenever a rule changes.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Name, tier, family and documentation of every rule, both directions as one.
    pub fn describe(&self) -> Vec<RuleInfo> {
        describe(&self.rules)
    }
}

fn describe(rules: &[Arc<Rule>]) -> Vec<RuleInfo> {
    let mut all: Vec<RuleInfo> = Vec::new();
    for rule in rules {
        match all.iter_mut().rev().find(|i| i.name == rule.name) {
            Some(info) => info.both_ways |= rule.reversed,
            None => all.push(RuleInfo {
                name: rule.name.clone(),
                tier: rule.tier,
                family: rule.family.clone(),
                doc: rule.doc.clone(),
                both_ways: false,
            }),
        }
    }
    all
}

/// A `test` item: one instance of a rule.
#[derive(Clone, Debug)]
pub(crate) struct RuleTest {
    pub rule: String,
    pub tensors: BTreeMap<String, TensorType>,
    pub lists: BTreeMap<String, Vec<TensorType>>,
    pub attrs: BTreeMap<String, AttrValue>,
    pub span: SourceSpan,
}

/// Where a rule stands, for diagnostics.
#[derive(Clone, Debug)]
pub(super) struct RuleLocation {
    pub report: Reporter,
    pub span: SourceSpan,
}
