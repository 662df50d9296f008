//! Instances of a rule: types and attribute values for its variables, chosen from the result backwards.
//!
//! Starting with a random type for the whole left side, every operator is asked which operand types could
//! give it. Choices that do not fit together are thrown away; type inference has the last word.

use super::choice::Choice;
use super::generator::Generator;
use super::operand_synthesis::OperandSynthesis;
use crate::ir::{AttrValue, Shape, TensorType};
use crate::ops::Op;
use crate::rules::rule::{AttrPattern, Operand, Pattern};

/// Elements of the largest tensor that is tried.
const MAX_ELEMENTS: usize = 160;

impl Generator<'_> {
    /// One attempt at an instance.
    pub(super) fn attempt(mut self) -> Option<Choice> {
        let ty = self.any_type();
        let rule = self.rule;
        self.want(&rule.lhs, &ty)?;
        for other in &rule.context {
            let ty = self.similar(&ty);
            self.want(other, &ty)?;
        }
        // A variable that only a defined operator's head mentions, or only conditions, is still open.
        for v in 0..self.choice.attrs.len() {
            if self.choice.attrs[v].is_none() && !self.rule.lets.iter().any(|(l, _)| *l == v) {
                self.choice.attrs[v] = Some(AttrValue::float(self.number(Some(v))));
            }
        }
        Some(self.choice)
    }

    /// A type for another root: like that of the first one in most dims.
    fn similar(&mut self, ty: &TensorType) -> TensorType {
        let mut similar = ty.clone();
        match self.random.below(10) {
            0..=5 => {
                let d = self.random.below(ty.rank());
                if let Some(size) = similar.shape.get_mut(d) {
                    *size = self.size();
                }
            }
            6..=8 => {}
            _ => return self.any_type(),
        }
        similar
    }

    /// Makes `pattern` give `ty`; `None` if that attempt fails.
    pub(super) fn want(&mut self, pattern: &Pattern, ty: &TensorType) -> Option<()> {
        // Extreme attributes ask for operands so large that their elements cannot be counted.
        let elements = ty.shape.iter().try_fold(1_usize, |n, &size| n.checked_mul(size));
        if elements.is_none_or(|n| n > MAX_ELEMENTS) {
            return None;
        }
        match pattern {
            Pattern::Tensor(v) => agree(&mut self.choice.tensors[*v], ty),
            Pattern::Element(l) => {
                let list = self.choice.lists[*l].get_or_insert_default();
                match (list.get(self.element?), self.element? == list.len()) {
                    (Some(known), _) => (known == ty).then_some(()),
                    (None, true) => {
                        list.push(ty.clone());
                        Some(())
                    }
                    (None, false) => None,
                }
            }
            Pattern::Scalar(value) => {
                if ty.rank() != 0 {
                    return None;
                }
                if let AttrPattern::Var(v) = value
                    && self.choice.attrs[*v].is_none()
                {
                    let number = self.number(Some(*v));
                    self.choice.attrs[*v] = Some(self.solved(*v).unwrap_or(AttrValue::float(number)));
                }
                Some(())
            }
            Pattern::Apply { op: Op::Table(def), slot, attrs, operands } => {
                let count = operands.iter().filter(|o| matches!(o, Operand::Each(_))).count();
                let repeats = if count > 0 { self.repeats(operands) } else { 0 };
                let mut plan: Vec<(&Pattern, Option<usize>)> = Vec::new();
                for operand in operands {
                    match operand {
                        Operand::One(p) => plan.push((p, self.element)),
                        Operand::Each(p) => plan.extend((0..repeats).map(|i| (p, Some(i)))),
                    }
                }
                let known: Vec<Option<TensorType>> = plan.iter().map(|(p, e)| self.known(p, *e)).collect();
                let scalars: Vec<bool> = plan.iter().map(|(p, _)| is_number(p)).collect();
                let mut call = OperandSynthesis {
                    generator: self,
                    op: def,
                    attrs,
                    ty: ty.clone(),
                    slot: *slot,
                    known: &known,
                    scalars: &scalars,
                };
                let types = call.operand_types()?;
                self.all(&plan, &types)
            }
            // What a defined operator takes is not known from what it gives.
            Pattern::Apply { operands, .. } => {
                for operand in operands {
                    let (Operand::One(p) | Operand::Each(p)) = operand;
                    let other = self.any_type();
                    let dtype = if self.random.chance(80) { ty.dtype } else { other.dtype };
                    let shape = if self.random.chance(60) { self.vector_or(ty) } else { other.shape };
                    self.want(p, &TensorType { dtype, shape })?;
                }
                Some(())
            }
        }
    }

    /// The shape of `ty`, or of a vector that fits its last dim.
    fn vector_or(&mut self, ty: &TensorType) -> Shape {
        match ty.shape.last() {
            Some(&last) if self.random.chance(40) => Shape::from_slice(&[last]),
            _ => ty.shape.clone(),
        }
    }

    fn all(&mut self, plan: &[(&Pattern, Option<usize>)], types: &[TensorType]) -> Option<()> {
        if plan.len() != types.len() {
            return None;
        }
        for (&(pattern, element), ty) in plan.iter().zip(types) {
            let outer = std::mem::replace(&mut self.element, element);
            let done = self.want(pattern, ty);
            self.element = outer;
            done?;
        }
        Some(())
    }

    /// How many elements the lists inside have; all lists of a rule that are open get the same.
    fn repeats(&mut self, operands: &[Operand]) -> usize {
        let mut lists = Vec::new();
        for operand in operands {
            if let Operand::Each(p) = operand {
                p.elements(&mut lists);
            }
        }
        let known = lists.iter().find_map(|&l| self.choice.lists[l].as_ref().map(Vec::len));
        known.unwrap_or_else(|| 1 + self.random.below(3))
    }

    /// The type of an operand that was chosen before.
    fn known(&self, pattern: &Pattern, element: Option<usize>) -> Option<TensorType> {
        match pattern {
            Pattern::Tensor(v) => self.choice.tensors[*v].clone(),
            Pattern::Element(l) => self.choice.lists[*l].as_ref()?.get(element?).cloned(),
            _ => None,
        }
    }
}

/// Whether a pattern is a number, or computed of numbers alone.
fn is_number(pattern: &Pattern) -> bool {
    match pattern {
        Pattern::Scalar(_) => true,
        Pattern::Tensor(_) | Pattern::Element(_) => false,
        Pattern::Apply { operands, .. } => {
            !operands.is_empty() && operands.iter().all(|o| matches!(o, Operand::One(p) if is_number(p)))
        }
    }
}

fn agree(slot: &mut Option<TensorType>, ty: &TensorType) -> Option<()> {
    match slot {
        Some(known) => (known == ty).then_some(()),
        None => {
            *slot = Some(ty.clone());
            Some(())
        }
    }
}
