//! Which names of a rule are tensors, which are lists of tensors, and which are attributes.

use std::collections::BTreeSet;

use super::ast::{Clauses, Element, Expr, ExprKind};
use super::functions;
use crate::ir::DType;

/// The names of a rule by kind. A name that is an attribute anywhere is an attribute everywhere.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub attrs: BTreeSet<String>,
    pub lists: BTreeSet<String>,
    pub lets: BTreeSet<String>,
}

/// Words that stand for a value wherever they are not bound.
pub(super) fn is_value_word(name: &str) -> bool {
    matches!(name, "true" | "false" | "none" | "inf" | "nan") || name.parse::<DType>().is_ok()
}

impl Names {
    /// Collects the names of a rule's sides and clauses.
    pub(super) fn of(sides: &[&Expr], clauses: &Clauses) -> Self {
        let mut names = Names::default();
        for side in sides {
            names.operand(side);
        }
        for (name, value) in &clauses.lets {
            names.attrs.insert(name.text.clone());
            names.lets.insert(name.text.clone());
            names.attribute(value);
        }
        for e in clauses.conditions.iter().chain(&clauses.guards).chain(&clauses.assumptions) {
            names.attribute(e);
        }
        names
    }

    /// Names inside of something that stands for a tensor.
    fn operand(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Call(call) => {
                call.operands.iter().for_each(|e| self.element(e));
                call.attrs.iter().for_each(|(_, e)| self.attribute(e));
            }
            ExprKind::List(items) => items.iter().for_each(|e| self.element(e)),
            ExprKind::Name(_) | ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Str(_) => {}
            // Arithmetic in operand position computes a scalar.
            _ => self.attribute(expr),
        }
    }

    fn element(&mut self, element: &Element) {
        if let (true, ExprKind::Name(name)) = (element.each, &element.expr.kind) {
            self.lists.insert(name.clone());
        }
        self.operand(&element.expr);
    }

    /// Names inside of an attribute expression; the tensor that a function looks at is none.
    fn attribute(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Name(name) if !is_value_word(name) => {
                self.attrs.insert(name.clone());
            }
            ExprKind::Call(call) => {
                let tensors = usize::from(
                    functions::tensor_function(&call.name.text).is_some()
                        || call.name.text == "len" && matches!(&call.operands[..], [e] if self.is_list(&e.expr)),
                );
                call.operands.iter().skip(tensors).for_each(|e| self.attribute(&e.expr));
            }
            ExprKind::List(items) => items.iter().for_each(|e| self.attribute(&e.expr)),
            ExprKind::Index(a, b) | ExprKind::Binary(_, a, b) => {
                self.attribute(a);
                self.attribute(b);
            }
            ExprKind::Slice(a, from, to) => {
                self.attribute(a);
                from.iter().chain(to).for_each(|e| self.attribute(e));
            }
            ExprKind::Neg(e) | ExprKind::Not(e) => self.attribute(e),
            _ => {}
        }
    }

    fn is_list(&self, expr: &Expr) -> bool {
        matches!(&expr.kind, ExprKind::Name(n) if self.lists.contains(n))
    }
}
