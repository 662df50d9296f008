//! Instances of a rule: types and attribute values for its variables, chosen from the result backwards.
//!
//! Starting with a random type for the whole left side, every operator is asked which operand types could
//! give it. Choices that do not fit together are thrown away; type inference has the last word.

use super::backwards;
use super::named::Named;
use super::random::Random;
use crate::ir::{AttrValue, DType, Shape, TensorType};
use crate::ops::Op;
use crate::rules::matcher::from_start;
use crate::rules::rule::{AttrPattern, Operand, Pattern, Rule};

/// Sizes of dims: unequal and small, 1 among them.
const SIZES: [usize; 8] = [1, 2, 3, 4, 5, 2, 3, 4];
/// How many of 100 sizes are 0 where empty tensors are wanted.
const EMPTY: usize = 30;
/// How many of 100 sizes lie beside a number that the rule names, where those are wanted, and up to which size.
const NAMED: usize = 25;
const MAX_NAMED: i64 = 24;
/// How many of 100 sizes are larger than usual beside such attributes.
const LARGE: usize = 15;
/// How many of 100 types are those that the rule names.
const NAMED_TYPES: usize = 40;
/// Types whose range a program leaves easily.
const NARROW: [DType; 12] = [
    DType::I8,
    DType::U8,
    DType::I16,
    DType::I32,
    DType::I8,
    DType::U8,
    DType::Bool,
    DType::Bool,
    DType::I64,
    DType::F16,
    DType::F8E4M3,
    DType::F8E5M2,
];
/// How many of 100 attributes are what the style prefers.
const PREFERRED: usize = 60;
/// Whole numbers that no program has as an attribute.
const EXTREME: [i64; 16] = [-1, -2, -3, -1, -2, -5, 4, 5, 6, 7, 9, 31, -31, 1 << 31, -(1 << 40), 1 << 40];
/// Elements of the largest tensor that is tried.
const MAX_ELEMENTS: usize = 160;

/// What the variables of a rule could be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choice {
    /// By number of the tensor variable.
    pub tensors: Vec<Option<TensorType>>,
    /// By number of the list variable.
    pub lists: Vec<Option<Vec<TensorType>>>,
    /// By number of the attribute variable.
    pub attrs: Vec<Option<AttrValue>>,
}

impl Choice {
    /// The types of all operands.
    pub fn types(&self) -> impl Iterator<Item = &TensorType> {
        self.tensors.iter().flatten().chain(self.lists.iter().flatten().flatten())
    }

    pub(super) fn types_mut(&mut self) -> impl Iterator<Item = &mut TensorType> {
        self.tensors.iter_mut().flatten().chain(self.lists.iter_mut().flatten().flatten())
    }
}

/// Makes choices for one rule.
pub(super) struct Generator<'a> {
    pub rule: &'a Rule,
    pub random: Random,
    pub choice: Choice,
    element: Option<usize>,
    pub(super) style: Style,
    pub(super) named: &'a Named,
}

/// What an attempt prefers to what programs usually have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Style {
    Usual,
    /// Some dims are empty.
    Empty,
    /// Attributes, numbers and sizes are those that the rule names, or lie beside them.
    Named,
    /// Types whose range is left easily.
    Narrow,
    /// Attributes are negative, or larger than any program has them.
    Extreme,
}

impl<'a> Generator<'a> {
    pub(super) fn new(rule: &'a Rule, seed: u64) -> Self {
        let choice = Choice {
            tensors: vec![None; rule.vars.tensors.len()],
            lists: vec![None; rule.vars.lists.len()],
            attrs: vec![None; rule.vars.attrs.len()],
        };
        Generator {
            rule,
            random: Random::new(seed),
            choice,
            element: None,
            style: Style::Usual,
            named: Named::nothing(),
        }
    }

    /// A generator that knows what the rule names, of any style.
    pub(super) fn styled(rule: &'a Rule, seed: u64, named: &'a Named, style: Style) -> Self {
        Generator { style, named, ..Generator::new(rule, seed) }
    }

    /// A choice with the attributes filled in that conditions determine.
    pub(super) fn complete(rule: &'a Rule, choice: Choice) -> Choice {
        let mut generator = Generator { choice, ..Generator::new(rule, 0) };
        for v in 0..generator.choice.attrs.len() {
            if generator.choice.attrs[v].is_none() {
                generator.choice.attrs[v] = generator.solved(v);
            }
        }
        generator.choice
    }

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

    pub(super) fn any_dtype(&mut self) -> DType {
        if !self.named.dtypes.is_empty() && self.random.chance(NAMED_TYPES) {
            return self.named.dtypes[self.random.below(self.named.dtypes.len())];
        }
        if self.style == Style::Narrow {
            return NARROW[self.random.below(NARROW.len())];
        }
        match self.random.below(20) {
            0..=8 => DType::F32,
            9..=12 => DType::BF16,
            13 => DType::F16,
            14 => DType::F64,
            15..=17 => DType::I64,
            _ => DType::Bool,
        }
    }

    pub(super) fn size(&mut self) -> usize {
        match self.style {
            Style::Empty if self.random.chance(EMPTY) => return 0,
            Style::Named if self.random.chance(NAMED) => {
                if let Some(size) = self.preferred().filter(|n| (1..=MAX_NAMED).contains(n)) {
                    return size as usize;
                }
            }
            // Large paddings, steps and diagonals show in large tensors only.
            Style::Named | Style::Extreme if self.random.chance(LARGE) => return 6 + self.random.below(7),
            _ => {}
        }
        SIZES[self.random.below(SIZES.len())]
    }

    /// A whole number as the style prefers it.
    fn preferred(&mut self) -> Option<i64> {
        match self.style {
            Style::Named => {
                let near = self.random.below(4) as i64 - 1;
                Some(self.random.pick(&self.named.integers)?.saturating_add(near))
            }
            Style::Extreme => self.random.pick(&EXTREME),
            _ => None,
        }
    }

    /// A whole number for an attribute: what `usual` draws, or what the style prefers.
    pub(super) fn count(&mut self, usual: impl FnOnce(&mut Random) -> i64) -> i64 {
        let prefers = matches!(self.style, Style::Named | Style::Extreme) && self.random.chance(PREFERRED);
        let preferred = if prefers { self.preferred() } else { None };
        preferred.unwrap_or_else(|| usual(&mut self.random))
    }

    pub(super) fn any_shape(&mut self) -> Shape {
        let rank = [2, 3, 1, 4, 2, 3, 0, 4][self.random.below(8)];
        (0..rank).map(|_| self.size()).collect()
    }

    pub(super) fn any_type(&mut self) -> TensorType {
        TensorType { dtype: self.any_dtype(), shape: self.any_shape() }
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
                let mut call = backwards::OperandSynthesis {
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

    /// The value of an attribute, if it is fixed already. `rank` is that of the first operand.
    pub(super) fn attr(&self, op: &Op, at: usize, pattern: &AttrPattern, rank: Option<usize>) -> Option<AttrValue> {
        match pattern {
            AttrPattern::Value(v) => match rank {
                Some(rank) => Some(from_start(op, at, v, rank)),
                None => Some(v.clone()),
            },
            AttrPattern::Var(v) => self.choice.attrs[*v].clone().or_else(|| self.solved(*v)),
            AttrPattern::Expr(_) => None,
        }
    }

    /// Fixes the value of an attribute; `None` if it is fixed to something else.
    pub(super) fn set_attr(
        &mut self,
        op: &Op,
        at: usize,
        pattern: &AttrPattern,
        rank: usize,
        value: AttrValue,
    ) -> Option<()> {
        match pattern {
            AttrPattern::Value(v) => from_start(op, at, v, rank).is_same(&value).then_some(()),
            AttrPattern::Var(v) => match &self.choice.attrs[*v] {
                Some(known) => known.is_same(&value).then_some(()),
                None => {
                    self.choice.attrs[*v] = Some(value);
                    Some(())
                }
            },
            AttrPattern::Expr(_) => None,
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
