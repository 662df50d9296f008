//! Operators that a rule file defines by what they compute.

use std::sync::Arc;

use super::rule::{AttrPattern, Operand, Outcome, Pattern, Rule};
use super::terms::Build;
use super::vars::{Bindings, TensorVar};
use crate::ir::{AttrValue, Attrs};
use crate::ops::{CustomOp, TypeError};

/// An operator and what it computes.
#[derive(Debug)]
pub struct Definition {
    pub op: Arc<CustomOp>,
    /// From each output of the operator to what it computes.
    pub rules: Vec<Arc<Rule>>,
}

/// Definitions that many instances of rules look into.
pub(crate) type Definitions = Arc<Vec<Arc<Definition>>>;

/// The definition of the operator with this name and these attributes.
pub(super) fn definition_of<'d>(definitions: &'d Definitions, op: &CustomOp) -> Option<&'d Arc<Definition>> {
    definitions.iter().find(|d| *d.op == *op)
}

impl Definition {
    /// The term that output `slot` of the operator applied to `operands` stands for.
    pub fn apply<B: Build>(
        &self,
        attrs: &Attrs,
        slot: usize,
        operands: &[B::Id],
        build: &mut B,
    ) -> Result<B::Id, TypeError> {
        let rule = self.rules.get(slot).ok_or_else(|| self.error(&format!("has no output {slot}")))?;
        let mut bindings = self.bind(rule, attrs, operands)?;
        match rule.check_conditions(build, &mut bindings) {
            Outcome::Holds { .. } => {}
            Outcome::Open | Outcome::Fails => return Err(self.error("is not defined for these operands")),
        }
        rule.build_rhs(&bindings, build).map_err(|e| self.error(&e.to_string()))
    }

    /// Whether output `slot` depends on what operand number `place` holds. A definition may leave operands out: the memory that an
    /// operator overwrites, or what another output is made of.
    pub fn reads(&self, slot: usize, place: usize) -> bool {
        let Some(rule) = self.rules.get(slot) else { return true };
        match &rule.lhs {
            Pattern::Apply { operands, .. } => match operands.get(place) {
                Some(Operand::One(Pattern::Tensor(v))) => mentions(&rule.rhs, *v),
                _ => true,
            },
            _ => true,
        }
    }

    fn bind<Id: Copy>(&self, rule: &Rule, attrs: &[AttrValue], operands: &[Id]) -> Result<Bindings<Id>, TypeError> {
        let mut bindings = Bindings::empty(&rule.vars);
        let Pattern::Apply { attrs: names, operands: vars, .. } = &rule.lhs else {
            return Err(self.error("is not defined as an operator"));
        };
        if names.len() != attrs.len() || vars.len() != operands.len() {
            return Err(self.error(&format!("takes {} operands, {} are given", vars.len(), operands.len())));
        }
        for (name, value) in names.iter().zip(attrs) {
            if let AttrPattern::Var(v) = name {
                bindings.attrs[*v] = Some(value.clone());
            }
        }
        for (var, &id) in vars.iter().zip(operands) {
            if let Operand::One(Pattern::Tensor(v)) = var {
                bindings.tensors[*v] = Some(id);
            }
        }
        Ok(bindings)
    }

    fn error(&self, reason: &str) -> TypeError {
        TypeError::new("custom operator", format!("`{}` {reason}", self.op.name))
    }
}

fn mentions(pattern: &Pattern, var: TensorVar) -> bool {
    match pattern {
        Pattern::Tensor(v) => *v == var,
        Pattern::Element(_) | Pattern::Scalar(_) => false,
        Pattern::Apply { operands, .. } => operands.iter().any(|(Operand::One(p) | Operand::Each(p))| mentions(p, var)),
    }
}
