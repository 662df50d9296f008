//! Steps in a file to steps in memory. Nothing in the file is trusted.

use std::sync::Arc;

use miette::Diagnostic;
use smallvec::SmallVec;
use thiserror::Error;

use super::super::kernel::arena::{self, Operands, TermArena, TermId};
use super::super::kernel::{Lemma, Reason};
use super::format::{Head, Log, RuleName, Side, Step, Value};
use crate::ir::{AttrValue, Attrs, TensorType};
use crate::ops::{self, AttrKind, CustomOp, Op, OpDef};
use crate::rules::{Bindings, Rule, RuleSet};

/// Why a log makes no sense.
#[derive(Debug, Clone, PartialEq, Error, Diagnostic)]
pub enum LogError {
    #[error("the proof uses a rule `{0}`, which there is not")]
    #[diagnostic(code(certificate::unknown_rule))]
    UnknownRule(String),
    #[error("{what} number {number} refers to {refers}, which there is not")]
    #[diagnostic(code(certificate::reference))]
    Reference { what: &'static str, number: usize, refers: String },
    #[error("{what} number {number} makes no sense: {reason}")]
    #[diagnostic(code(certificate::nonsense))]
    Nonsense { what: &'static str, number: usize, reason: String },
}

/// What the leaves of a log's terms are.
pub trait Leaves {
    /// The type of a bound input.
    fn input(&self, number: u32) -> Option<TensorType>;
    /// A literal or a random draw.
    fn leaf(&self, side: Side, node: u32, slot: u32) -> Option<TermId>;
}

impl Log {
    /// The terms of the log, made anew in `arena`, after those that are `known`.
    ///
    /// # Errors
    /// Terms that refer to what there is not, or that have no type.
    pub fn terms(
        &self,
        arena: &mut TermArena,
        known: Vec<TermId>,
        leaves: &impl Leaves,
    ) -> Result<Vec<TermId>, LogError> {
        let values = self
            .values
            .iter()
            .enumerate()
            .map(|(number, value)| value.read().ok_or_else(|| nonsense("value", number, "its text is no number")));
        let values: Vec<AttrValue> = values.collect::<Result<_, _>>()?;
        let heads: Vec<Root> =
            self.heads.iter().enumerate().map(|(n, head)| root(n, head, &values, leaves)).collect::<Result<_, _>>()?;
        let mut terms = known;
        for (number, row) in self.terms.iter().enumerate() {
            let refers = |to: String| reference("term", number, to);
            let Some((head, operands)) = row.split_first() else {
                return Err(nonsense("term", number, "it is empty"));
            };
            let head = heads.get(*head as usize).ok_or_else(|| refers(format!("head {head}")))?;
            let operand = |o: &u32| terms.get(*o as usize).copied().ok_or_else(|| refers(format!("term {o}")));
            let operands: Operands = operands.iter().map(operand).collect::<Result<_, _>>()?;
            let built = match head {
                Root::Term(term) if operands.is_empty() => Ok(*term),
                Root::Input(input, ty) if operands.is_empty() => Ok(arena.leaf(arena::Head::Input(*input), ty, None)),
                Root::Term(_) | Root::Input(..) => return Err(nonsense("term", number, "a leaf has no operands")),
                Root::Call { op, attrs, slot, stated } => arena.call(op, attrs, *slot, &operands, stated.as_ref()),
            };
            terms.push(built.map_err(|e| nonsense("term", number, &e.to_string()))?);
        }
        Ok(terms)
    }

    /// The steps of the log about `terms`. They are read, not verified.
    ///
    /// # Errors
    /// Steps that refer to what there is not.
    pub fn lemmas(&self, terms: &[TermId], rules: &RuleSet) -> Result<Vec<Lemma>, LogError> {
        let used: Vec<&Arc<Rule>> = self.rules.iter().map(|name| find(rules, name)).collect::<Result<_, _>>()?;
        let values: Vec<Option<AttrValue>> = self.values.iter().map(Value::read).collect();
        let lemma = |(number, step): (usize, &Step)| {
            let refers = |to: String| reference("step", number, to);
            let term = |t: &u32| terms.get(*t as usize).copied().ok_or_else(|| refers(format!("term {t}")));
            let maybe = |t: &Option<u32>| t.as_ref().map(term).transpose();
            match step {
                Step::Rule { rule, before, after, tensors, lists, attrs } => {
                    let rule = used.get(*rule as usize).ok_or_else(|| refers(format!("rule {rule}")))?;
                    let vars = &rule.vars;
                    if (tensors.len(), lists.len(), attrs.len())
                        != (vars.tensors.len(), vars.lists.len(), vars.attrs.len())
                    {
                        return Err(nonsense("step", number, "its bindings are not those of the rule"));
                    }
                    let list = |l: &Option<Vec<u32>>| {
                        l.as_ref().map(|l| l.iter().map(term).collect::<Result<Vec<_>, _>>()).transpose()
                    };
                    let value = |v: &Option<u32>| {
                        let found = |n: &u32| {
                            let value = values.get(*n as usize).cloned().flatten();
                            value.ok_or_else(|| refers(format!("value {n}")))
                        };
                        v.as_ref().map(found).transpose()
                    };
                    let bindings = Bindings {
                        tensors: tensors.iter().map(maybe).collect::<Result<SmallVec<_>, _>>()?,
                        lists: lists.iter().map(list).collect::<Result<SmallVec<_>, _>>()?,
                        attrs: attrs.iter().map(value).collect::<Result<SmallVec<_>, _>>()?,
                    };
                    let reason = Reason::Rule { rule: (*rule).clone(), bindings: bindings.into() };
                    Ok(Lemma { before: term(before)?, after: term(after)?, reason })
                }
                Step::SplitSlice { before, after } => {
                    Ok(Lemma { before: term(before)?, after: term(after)?, reason: Reason::SplitSlice })
                }
                Step::PushedDown { before, after } => {
                    Ok(Lemma { before: term(before)?, after: term(after)?, reason: Reason::PushedDown })
                }
                Step::Near { before, after } => {
                    Ok(Lemma { before: term(before)?, after: term(after)?, reason: Reason::Near })
                }
                Step::Elements { before, after, leaves, tier } => {
                    let leaves = leaves.iter().map(term).collect::<Result<_, _>>()?;
                    let reason = Reason::Elements { leaves, tier: tier.read() };
                    Ok(Lemma { before: term(before)?, after: term(after)?, reason })
                }
            }
        };
        self.steps.iter().enumerate().map(lemma).collect()
    }
}

fn root(number: usize, head: &Head, values: &[AttrValue], leaves: &impl Leaves) -> Result<Root, LogError> {
    let value = |n: &u32| {
        let missing = || reference("head", number, format!("value {n}"));
        values.get(*n as usize).cloned().ok_or_else(missing)
    };
    match head {
        Head::Input(n) => {
            let ty = leaves.input(*n).ok_or_else(|| reference("head", number, format!("input {n}")))?;
            Ok(Root::Input(*n, ty))
        }
        Head::Leaf(side, node, slot) => {
            let missing = || reference("head", number, format!("output {slot} of node {node}"));
            leaves.leaf(*side, *node, *slot).map(Root::Term).ok_or_else(missing)
        }
        Head::Op { op, slot, attrs } => {
            let def = ops::find(op).ok_or_else(|| reference("head", number, format!("operator {op:?}")))?;
            let attrs = attrs.iter().map(value).collect::<Result<Attrs, _>>()?;
            if !stored_form(def, &attrs) {
                return Err(nonsense("head", number, "a dimension is counted from the end"));
            }
            Ok(Root::Call { op: Op::Table(def), attrs, slot: *slot, stated: None })
        }
        Head::Custom { op, slot, attrs, result } => {
            if ops::find(op).is_some() {
                return Err(nonsense("head", number, "an operator of the table has no stated type"));
            }
            let attrs = attrs.iter().map(|(name, n)| Ok((name.clone(), value(n)?))).collect::<Result<_, _>>()?;
            let (op, attrs) = CustomOp::called(op, attrs);
            let stated = result.read().ok_or_else(|| nonsense("head", number, "its type is too large"))?;
            Ok(Root::Call { op, attrs, slot: *slot, stated: Some(stated) })
        }
    }
}

/// A head that was read.
enum Root {
    Input(u32, TensorType),
    Term(TermId),
    Call { op: Op, attrs: Attrs, slot: u32, stated: Option<TensorType> },
}

/// Whether dimensions are non-negative, as in every graph that was read.
fn stored_form(def: &OpDef, attrs: &[AttrValue]) -> bool {
    def.attrs.iter().zip(attrs).all(|(attr, value)| match (attr.kind, value) {
        (AttrKind::Dim, AttrValue::Int(d)) => *d >= 0,
        (AttrKind::Dims, AttrValue::Ints(dims)) => dims.iter().all(|d| *d >= 0),
        _ => true,
    })
}

fn find<'r>(rules: &'r RuleSet, name: &RuleName) -> Result<&'r Arc<Rule>, LogError> {
    let mut same = rules.rules().iter().filter(|r| *r.name == *name.name && r.reversed == name.reversed);
    same.nth(name.instance as usize).ok_or_else(|| LogError::UnknownRule(name.name.clone()))
}

fn reference(what: &'static str, number: usize, refers: String) -> LogError {
    LogError::Reference { what, number, refers }
}

fn nonsense(what: &'static str, number: usize, reason: &str) -> LogError {
    LogError::Nonsense { what, number, reason: reason.to_owned() }
}
