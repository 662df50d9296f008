//! Building the terms that the sides of a rule stand for.

use smallvec::SmallVec;
use thiserror::Error;

use super::computed_number::is_held;
use super::expr::Scope;
use super::matcher::from_start;
use super::rule::{AttrPattern, Operand, Pattern, Rule};
use super::terms::Build;
use super::vars::Bindings;
use crate::ir::{AttrValue, Attrs, DType, TensorType};
use crate::ops::{self, Arithmetic, AttrKind, Op, TypeError};

/// Why a side of a rule cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BuildError {
    #[error(transparent)]
    Type(#[from] TypeError),
    #[error("`{0}` is not bound")]
    Unbound(String),
    #[error("the attribute `{attr}` of `{op}` has no value here")]
    NoValue { op: String, attr: String },
    #[error("the element type of a scalar is not known")]
    NoDType,
    #[error("{dtype} does not hold the number that is computed")]
    NotHeld { dtype: DType },
}

impl Rule {
    /// The term that the left side stands for. The other roots have to be well-typed too: the rule was tried out
    /// on no other instances.
    pub fn build_lhs<B: Build>(&self, bindings: &Bindings<B::Id>, build: &mut B) -> Result<B::Id, BuildError> {
        let mut builder = Builder { rule: self, bindings, build, element: None };
        for other in &self.context {
            builder.pattern(other, None)?;
        }
        builder.pattern(&self.lhs, None)
    }

    /// The term that the right side stands for. The lets have to be computed.
    pub fn build_rhs<B: Build>(&self, bindings: &Bindings<B::Id>, build: &mut B) -> Result<B::Id, BuildError> {
        Builder { rule: self, bindings, build, element: None }.pattern(&self.rhs, None)
    }
}

struct Builder<'a, B: Build> {
    rule: &'a Rule,
    bindings: &'a Bindings<B::Id>,
    build: &'a mut B,
    element: Option<usize>,
}

impl<B: Build> Builder<'_, B> {
    /// `dtype` is the element type that a scalar in this place has.
    fn pattern(&mut self, pattern: &Pattern, dtype: Option<DType>) -> Result<B::Id, BuildError> {
        match pattern {
            Pattern::Tensor(v) => {
                let bound = self.bindings.tensors.get(*v).copied().flatten();
                bound.ok_or_else(|| unbound(&self.rule.vars.tensors, *v))
            }
            Pattern::Element(l) => {
                let list = self.bindings.lists.get(*l).and_then(Option::as_ref);
                let item = list.zip(self.element).and_then(|(list, i)| list.get(i)).copied();
                item.ok_or_else(|| unbound(&self.rule.vars.lists, *l))
            }
            Pattern::Scalar(value) => {
                let dtype = dtype.ok_or(BuildError::NoDType)?;
                if let AttrPattern::Expr(expr) = value
                    && !is_held(expr, &self.scope(), dtype)
                {
                    return Err(BuildError::NotHeld { dtype });
                }
                let value = self.attr(value).and_then(|v| v.as_number());
                let value = value.ok_or(BuildError::NoValue { op: "number".into(), attr: "value".into() })?;
                let (number, attrs) = ops::number(value, dtype);
                Ok(self.build.apply(&Op::Table(number), &attrs, 0, &[])?)
            }
            Pattern::Apply { op, slot, attrs, operands } => {
                let operands = self.operands(op, operands, dtype)?;
                let rank = operands.first().map_or(0, |&id| self.build.ty(id).rank());
                let mut attrs: Attrs =
                    attrs.iter().enumerate().map(|(i, a)| self.apply_attr(op, i, a, rank)).collect::<Result<_, _>>()?;
                if let Some(def) = op.def() {
                    let types: SmallVec<[&TensorType; 4]> = operands.iter().map(|&id| self.build.ty(id)).collect();
                    ops::canonical_attrs(def, &mut attrs, &types);
                }
                Ok(self.build.apply(op, &attrs, *slot, &operands)?)
            }
        }
    }

    /// Scalars take the element type of the first operand that is not one, so those are built first.
    fn operands(
        &mut self,
        op: &Op,
        patterns: &[Operand],
        dtype: Option<DType>,
    ) -> Result<SmallVec<[B::Id; 4]>, BuildError> {
        let mut plan: SmallVec<[(&Pattern, Option<usize>); 4]> = SmallVec::new();
        for operand in patterns {
            match operand {
                Operand::One(p) => plan.push((p, self.element)),
                Operand::Each(p) => plan.extend((0..self.count(p)?).map(|i| (p, Some(i)))),
            }
        }
        let mut built: SmallVec<[Option<B::Id>; 4]> = SmallVec::from_elem(None, plan.len());
        let mut hint = None;
        for later in [false, true] {
            for (i, &(pattern, element)) in plan.iter().enumerate() {
                if pattern.takes_any_dtype() != later {
                    continue;
                }
                let outer = std::mem::replace(&mut self.element, element);
                let id = self.pattern(pattern, hint.or(dtype));
                self.element = outer;
                let id = id?;
                if hint.is_none() && !(op.arithmetic() == Arithmetic::Select && i == 0) {
                    hint = Some(self.build.ty(id).dtype);
                }
                built[i] = Some(id);
            }
        }
        Ok(built.into_iter().flatten().collect())
    }

    /// How many elements the lists in `pattern` have.
    fn count(&self, pattern: &Pattern) -> Result<usize, BuildError> {
        let mut lists = Vec::new();
        pattern.elements(&mut lists);
        let len = |&l: &usize| self.bindings.lists.get(l).and_then(Option::as_ref).map(Vec::len);
        let first = lists.first().ok_or_else(|| BuildError::Unbound("...".into()))?;
        match len(first) {
            Some(n) if lists.iter().all(|l| len(l) == Some(n)) => Ok(n),
            _ => Err(unbound(&self.rule.vars.lists, *first)),
        }
    }

    fn attr(&self, pattern: &AttrPattern) -> Option<AttrValue> {
        match pattern {
            AttrPattern::Value(v) => Some(v.clone()),
            AttrPattern::Var(v) => self.bindings.attrs.get(*v).cloned().flatten(),
            AttrPattern::Expr(e) => e.eval(&self.scope()).ok(),
        }
    }

    fn scope(&self) -> Scope<'_, B> {
        Scope { terms: &*self.build, bindings: self.bindings, element: self.element }
    }

    fn apply_attr(&self, op: &Op, at: usize, pattern: &AttrPattern, rank: usize) -> Result<AttrValue, BuildError> {
        let name = || op.attr_name(at).unwrap_or("?").to_owned();
        let value = self.attr(pattern).ok_or_else(|| BuildError::NoValue { op: op.name().to_owned(), attr: name() })?;
        let value = from_start(op, at, &value, rank);
        let kind = op.def().and_then(|def| def.attrs.get(at)).map(|a| a.kind);
        Ok(match (kind, &value) {
            (Some(AttrKind::Float), AttrValue::Int(v)) => AttrValue::float(*v as f64),
            // A scalar that was read from the graph is a float even where it counts something.
            (Some(AttrKind::Int | AttrKind::Dim), AttrValue::Float(v)) if v.0 == v.0.trunc() && v.0.abs() < 9e15 => {
                AttrValue::Int(v.0 as i64)
            }
            _ => value,
        })
    }
}

impl Pattern {
    /// Whether this is a scalar, or elementwise arithmetic on nothing but scalars, whose element type
    /// comes from where it is used.
    pub fn takes_any_dtype(&self) -> bool {
        match self {
            Pattern::Scalar(_) => true,
            Pattern::Tensor(_) | Pattern::Element(_) => false,
            Pattern::Apply { op, operands, .. } => {
                let values = match op.arithmetic() {
                    Arithmetic::Select => operands.get(1..),
                    Arithmetic::Add | Arithmetic::Sub | Arithmetic::Mul | Arithmetic::Div | Arithmetic::Neg => {
                        Some(operands.as_slice())
                    }
                    _ => None,
                };
                let any = |o: &Operand| matches!(o, Operand::One(p) if p.takes_any_dtype());
                values.is_some_and(|v| !v.is_empty() && v.iter().all(any))
            }
        }
    }
}

fn unbound(names: &[std::sync::Arc<str>], var: usize) -> BuildError {
    BuildError::Unbound(names.get(var).map_or_else(|| format!("variable {var}"), std::string::ToString::to_string))
}
