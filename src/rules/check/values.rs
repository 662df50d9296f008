//! Values for attributes and numbers that operand types leave open.

use super::super::vars::AttrVar;
use super::generator::{Generator, Style};
use super::instance::types_only;
use crate::ir::AttrValue;
use crate::rules::expr::{Comparison, Expr};
use crate::rules::functions::NEAR;

/// Numbers as programs write them.
const USUAL: [f64; 8] = [0.5, 2.0, 0.125, 3.0, -1.5, 1e-5, 0.25, 1.0];
/// Numbers whose effect is small, large or none.
const RARE: [f64; 10] = [0.0, 1e-3, 1e-6, 1e-12, -0.01, 0.999, -1.0, 10.0, 100.0, 1e4];

/// Numbers that no program has.
const EXTREME: [f64; 14] =
    [0.0, -0.0, -1.0, -2.0, -3.0, 7.0, 127.0, 128.0, 256.0, -129.0, 65_504.0, 16_777_217.0, 1e30, -1e30];

/// How far from a number in a condition others are drawn.
const FACTORS: [f64; 8] = [0.999_999, 1.000_001, 0.999, 1.001, 0.5, 2.0, 0.01, -1.0];

impl Generator<'_> {
    /// A number for a variable. A condition that compares the variable with a number makes those around it likely.
    pub(super) fn number(&mut self, var: Option<AttrVar>) -> f64 {
        let marks = var.map_or_else(Vec::new, |v| self.marks(v));
        if let Some(mark) = self.random.pick(&marks)
            && self.random.chance(60)
        {
            let other = self.random.pick(&marks).unwrap_or(mark);
            return match self.random.below(10) {
                0 => (mark + other) / 2.0,
                // The middle of two may be just where the rule holds.
                1 => 0.75 * mark + 0.25 * other,
                n => mark * FACTORS[n - 2],
            };
        }
        match self.style {
            Style::Named if self.random.chance(60) => {
                if let Some(number) = self.random.pick(&self.named.all()) {
                    return match self.random.below(10) {
                        0..=2 => number,
                        3 => number + 1.0,
                        4 => number - 1.0,
                        5 => -number,
                        n => number * FACTORS[n - 6],
                    };
                }
            }
            Style::Extreme if self.random.chance(60) => return EXTREME[self.random.below(EXTREME.len())],
            _ => {}
        }
        if self.random.chance(75) { USUAL[self.random.below(USUAL.len())] } else { RARE[self.random.below(RARE.len())] }
    }

    /// A small integer for a variable, or one near those that conditions compare it with.
    pub(super) fn integer(&mut self, var: Option<AttrVar>) -> i64 {
        let marks = var.map_or_else(Vec::new, |v| self.marks(v));
        if let Some(mark) = self.random.pick(&marks)
            && self.random.chance(60)
        {
            // The cast saturates; a mark too large to count with gives an instance that is none.
            return (mark as i64).saturating_add(self.random.below(4) as i64 - 1);
        }
        self.count(|random| random.below(4) as i64)
    }

    /// The numbers that conditions compare a variable with.
    fn marks(&self, var: AttrVar) -> Vec<f64> {
        let mut found = Vec::new();
        for condition in &self.rule.conditions {
            condition.expr.walk(&mut |e| {
                if let Expr::Compare(_, a, b) = e
                    && let (Expr::Attr(v), mark) | (mark, Expr::Attr(v)) = (a.as_ref(), b.as_ref())
                    && *v == var
                {
                    found.extend(self.value(mark).and_then(|m| m.as_float()).filter(|m| m.is_finite()));
                }
            });
        }
        found
    }

    /// The value that a condition `v == expression` gives a variable, if the expression is closed, is built of
    /// variables that are chosen, or lists the alternatives `v == a or v == b`.
    pub(super) fn solved(&self, var: AttrVar) -> Option<AttrValue> {
        let mut found = Vec::new();
        for condition in &self.rule.conditions {
            // A constant in a pattern means what people type for it; one in a condition means the whole range.
            self.alternatives(&condition.expr, var, condition.span.is_some(), &mut found);
        }
        let at = self.random.clone().below(found.len());
        found.into_iter().nth(at).flatten()
    }

    /// Adds the values that `expr` asks of a variable; `None` where one side of an `or` asks for none.
    fn alternatives(&self, expr: &Expr, var: AttrVar, whole_range: bool, found: &mut Vec<Option<AttrValue>>) {
        match expr {
            Expr::Or(a, b) => {
                let asked = [a, b].map(|side| {
                    let before = found.len();
                    self.alternatives(side, var, whole_range, found);
                    found.len() > before
                });
                if asked[0] != asked[1] {
                    found.push(None);
                }
            }
            Expr::Compare(Comparison::Eq, a, b) => match (a.as_ref(), b.as_ref()) {
                (Expr::Attr(v), e) | (e, Expr::Attr(v)) if *v == var => found.extend(self.value(e).map(Some)),
                _ => {}
            },
            Expr::Call(f, arguments) if f.name == "near" => {
                if let [Expr::Attr(v), e] | [e, Expr::Attr(v)] = &arguments[..]
                    && *v == var
                    && let Some(value) = self.value(e)
                {
                    if let (true, Some(value)) = (whole_range, value.as_float()) {
                        found.extend([1.0 - NEAR / 2.0, 1.0 + NEAR / 2.0].map(|f| Some(AttrValue::float(value * f))));
                    }
                    found.push(Some(value));
                }
            }
            _ => {}
        }
    }

    /// The value of an expression over what is chosen so far.
    fn value(&self, expr: &Expr) -> Option<AttrValue> {
        types_only(self.rule, &self.choice, expr)
    }
}
