//! The numbers that a rule names. What is wrong with a rule often shows only at such a number or right beside it.

use super::super::vars::Bindings;
use super::types::Types;
use crate::ir::{AttrValue, DType};
use crate::rules::Tier;
use crate::rules::expr::{Expr, Scope};
use crate::rules::rule::{AttrPattern, Operand, Pattern, Rule};

/// As many numbers of a rule are tried.
const MOST: usize = 12;

/// Integers up to this are attributes and sizes of usual attempts.
const USUAL: u64 = 2;

/// The numbers that stand in the patterns, conditions and lets of a rule, each once. Small integers are left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Named {
    pub integers: Vec<i64>,
    pub floats: Vec<f64>,
    /// The element types that it names.
    pub dtypes: Vec<DType>,
}

static NOTHING: Named = Named { integers: Vec::new(), floats: Vec::new(), dtypes: Vec::new() };

impl Named {
    /// Of no rule.
    pub(super) fn nothing() -> &'static Named {
        &NOTHING
    }

    pub(super) fn of(rule: &Rule) -> Named {
        let mut found = Named::default();
        for pattern in [&rule.lhs, &rule.rhs].into_iter().chain(&rule.context) {
            found.pattern(rule, pattern);
        }
        let conditions = rule.conditions.iter().map(|c| &c.expr);
        conditions.chain(rule.lets.iter().map(|(_, e)| e)).for_each(|e| found.expr(rule, e));
        found.integers.truncate(MOST);
        found.floats.truncate(MOST);
        found
    }

    /// Whether it names a number.
    pub(super) fn has_numbers(&self) -> bool {
        !self.integers.is_empty() || !self.floats.is_empty()
    }

    /// Every finite number as a float.
    pub(super) fn all(&self) -> Vec<f64> {
        let mut all = self.floats.clone();
        for integer in self.integers.iter().map(|&v| v as f64) {
            if !all.contains(&integer) {
                all.push(integer);
            }
        }
        all
    }

    fn pattern(&mut self, rule: &Rule, pattern: &Pattern) {
        match pattern {
            Pattern::Scalar(value) => self.attr(rule, value),
            Pattern::Apply { attrs, operands, .. } => {
                attrs.iter().for_each(|a| self.attr(rule, a));
                for operand in operands {
                    let (Operand::One(p) | Operand::Each(p)) = operand;
                    self.pattern(rule, p);
                }
            }
            Pattern::Tensor(_) | Pattern::Element(_) => {}
        }
    }

    fn attr(&mut self, rule: &Rule, attr: &AttrPattern) {
        match attr {
            AttrPattern::Value(value) => {
                self.value(value);
                // A float type lacks some integers, which counts where every bit does.
                if rule.tier == Tier::Exact && value.as_dtype().is_some_and(DType::is_float) {
                    self.value(&AttrValue::DType(DType::I64));
                }
            }
            AttrPattern::Expr(e) => self.expr(rule, e),
            AttrPattern::Var(_) => {}
        }
    }

    fn expr(&mut self, rule: &Rule, expr: &Expr) {
        expr.walk(&mut |e| match e {
            Expr::Value(value) => self.value(value),
            // What stands behind a sign. The largest number of a type is none that a rule names: it stands for infinity.
            Expr::Neg(_) | Expr::Arithmetic(..) => {
                if let Some(value) = closed(rule, e) {
                    self.value(&value);
                }
            }
            _ => {}
        });
    }

    fn value(&mut self, value: &AttrValue) {
        match value {
            AttrValue::Int(v) if v.unsigned_abs() > USUAL && !self.integers.contains(v) => self.integers.push(*v),
            AttrValue::Ints(list) => list.iter().for_each(|&v| self.value(&AttrValue::Int(v))),
            AttrValue::Float(v) if v.0.is_finite() && !self.floats.contains(&v.0) => self.floats.push(v.0),
            AttrValue::DType(t) if !self.dtypes.contains(t) => self.dtypes.push(*t),
            _ => {}
        }
    }
}

/// The value of an expression without variables.
fn closed(rule: &Rule, expr: &Expr) -> Option<AttrValue> {
    let mut calls = false;
    expr.walk(&mut |e| calls |= matches!(e, Expr::Call(..)));
    if calls {
        return None;
    }
    expr.eval(&Scope { terms: &Types::default(), bindings: &Bindings::empty(&rule.vars), element: None }).ok()
}
