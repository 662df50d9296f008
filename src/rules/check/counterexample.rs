//! What one instance shows of a rule: that its sides agree, or a counterexample.

use super::choice::Choice;
use super::compare::{Finding, compare};
use super::data::Data;
use super::instance::{Instance, Unfit, build};
use crate::ir::{Number, TensorType};
use crate::rules::definition::Definitions;
use crate::rules::rule::Rule;
use crate::rules::terms::Terms;

/// Elements of the largest result that is compared: extreme attributes make large ones.
const MAX_RESULT: usize = 1 << 12;

/// What an instance has shown.
pub(super) enum Shown {
    /// It is none: ill-typed on the left, or a condition does not hold.
    NoInstance,
    /// The two sides agree.
    Agrees(Box<Instance>),
    /// A side cannot be evaluated.
    Undefined,
    Breaks(Box<Counterexample>),
}

/// An instance on which a rule fails.
pub(super) struct Counterexample {
    pub code: &'static str,
    pub instance: Instance,
    pub choice: Choice,
    pub data: Data,
    /// Both values, where the sides have values of one type.
    pub values: Option<(Vec<Number>, Vec<Number>)>,
}

/// Compares both sides of `rule` on one instance.
pub(super) fn show(rule: &Rule, definitions: &Definitions, choice: &Choice, data: Data) -> Shown {
    let instance = match build(rule, definitions, choice, data) {
        Ok(instance) => instance,
        Err(Unfit::Left | Unfit::Condition) => return Shown::NoInstance,
    };
    let breaks = |instance, code, values| {
        Shown::Breaks(Box::new(Counterexample { code, instance, choice: choice.clone(), data, values }))
    };
    let left = instance.arena.ty(instance.lhs);
    if left.numel() > MAX_RESULT {
        return Shown::NoInstance;
    }
    let Ok(rhs) = instance.rhs else { return breaks(instance, "rules::unbuildable", None) };
    if left != instance.arena.ty(rhs) {
        return breaks(instance, "rules::ill_typed", None);
    }
    match compare(&instance, rhs, rule.tier) {
        Finding::Agree => Shown::Agrees(Box::new(instance)),
        Finding::Undefined => Shown::Undefined,
        Finding::Partial => breaks(instance, "rules::partial", None),
        Finding::Values { left, right } => breaks(instance, "rules::wrong", Some((left, right))),
        Finding::Order { left, right } => breaks(instance, "rules::order_of_equals", Some((left, right))),
        Finding::Tier { left, right } => breaks(instance, "rules::tier_too_strong", Some((left, right))),
        #[cfg(feature = "torch")]
        Finding::Libtorch { left, right } => breaks(instance, "rules::libtorch_differs", Some((left, right))),
    }
}

impl Counterexample {
    pub(super) fn message(&self, rule: &Rule) -> String {
        let name = &rule.name;
        let left: &TensorType = self.instance.arena.ty(self.instance.lhs);
        match (self.code, &self.instance.rhs) {
            ("rules::wrong", _) => format!("`{name}` is wrong: its sides differ"),
            ("rules::partial", _) => {
                format!(
                    "the right side of `{name}` has no value where its left side has one: a position is out of range"
                )
            }
            ("rules::tier_too_strong", _) => {
                format!("`{name}` claims to be {}, but its sides round differently", rule.tier)
            }
            ("rules::order_of_equals", _) => {
                format!("`{name}` holds only for one order of equal elements, which is open")
            }
            ("rules::range", _) => format!(
                "`{name}` is {} only while no value leaves the range of a narrow type: here one side is finite and the \
                 other is not",
                rule.tier
            ),
            ("rules::libtorch_differs", _) => {
                format!("`{name}` holds by the reference semantics, but its sides differ under libtorch")
            }
            (_, Ok(rhs)) => {
                format!("`{name}` gives a {left} on the left and a {} on the right", self.instance.arena.ty(*rhs))
            }
            (_, Err(reason)) => {
                format!("the right side of `{name}` cannot be built where its conditions hold: {reason}")
            }
        }
    }
}
