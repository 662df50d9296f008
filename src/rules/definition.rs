//! Operators that a rule file defines by what they compute.

use std::sync::Arc;

use super::arena::Arena;
use super::rule::{AttrPattern, Bindings, Operand, Outcome, Pattern, Rule};
use super::terms::Build;
use crate::ir::{AttrValue, Attrs, TensorType};
use crate::ops::{CustomOp, Op, TypeError};

/// An operator and what it computes.
#[derive(Debug)]
pub struct Definition {
    pub op: Arc<CustomOp>,
    /// From the operator to what it computes.
    pub rule: Arc<Rule>,
}

impl Definition {
    /// The term that the operator applied to `operands` stands for.
    pub fn apply<B: Build>(&self, attrs: &Attrs, operands: &[B::Id], build: &mut B) -> Result<B::Id, TypeError> {
        let mut bindings = self.bind(attrs, operands)?;
        match self.rule.check_conditions(build, &mut bindings) {
            Outcome::Holds { .. } => {}
            Outcome::Fails => return Err(self.error("is not defined for these operands")),
        }
        self.rule.build_rhs(&bindings, build).map_err(|e| self.error(&e.to_string()))
    }

    fn bind<Id: Copy>(&self, attrs: &[AttrValue], operands: &[Id]) -> Result<Bindings<Id>, TypeError> {
        let mut bindings = Bindings::empty(&self.rule);
        let Pattern::Apply { attrs: names, operands: vars, .. } = &self.rule.lhs else {
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

    /// The type of what the operator computes; `all` are the definitions that this one may use.
    pub fn infer(
        &self,
        all: &[Arc<Definition>],
        attrs: &Attrs,
        operands: &[&TensorType],
    ) -> Result<TensorType, TypeError> {
        let mut arena = Arena::new(all);
        let leaves: Vec<_> = operands.iter().map(|&t| arena.leaf(t.clone(), Arc::from([]))).collect();
        let body = arena.apply(&Op::Custom(self.op.clone()), attrs, 0, &leaves)?;
        Ok(super::Terms::ty(&arena, body).clone())
    }

    fn error(&self, reason: &str) -> TypeError {
        TypeError::new("custom operator", format!("`{}` {reason}", self.op.name))
    }
}
