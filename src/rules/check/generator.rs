//! Random sizes, types and attributes for the variables of a rule, in the style that an attempt prefers.

use super::choice::Choice;
use super::named::Named;
use super::random::Random;
use crate::ir::{AttrValue, DType, Shape, TensorType};
use crate::ops::Op;
use crate::rules::matcher::from_start;
use crate::rules::rule::{AttrPattern, Rule};

/// Sizes of dims: unequal and small, 1 among them.
const SIZES: [usize; 8] = [1, 2, 3, 4, 5, 2, 3, 4];

/// How many of 100 sizes are 0 where empty tensors are wanted.
const EMPTY: usize = 30;

/// How many of 100 sizes lie beside a number that the rule names, where those are wanted, and up to which size.
const NAMED: usize = 25;

const MAX_NAMED: i64 = 300;

/// Named sizes beyond this are given to one dim of an instance, so that it stays small.
const MANY: i64 = 24;

/// A number and those beside it name a row of a table that has so many more.
const ROWS_BEYOND: usize = 4;

/// How many of 100 sizes are larger than usual beside such attributes.
const LARGE: usize = 15;

/// How many of 100 types are those that the rule names.
const NAMED_TYPES: usize = 40;
/// Of types whose range is left easily, how many of 100 are one that an attribute has already.
const SAME_TYPE: usize = 25;

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

/// Makes choices for one rule.
pub(super) struct Generator<'a> {
    pub rule: &'a Rule,
    pub random: Random,
    pub choice: Choice,
    pub(super) element: Option<usize>,
    pub(super) style: Style,
    pub(super) named: &'a Named,
    /// Whether a dim has a named size beyond [`MANY`].
    has_large: bool,
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
            has_large: false,
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

    pub(super) fn any_dtype(&mut self) -> DType {
        if !self.named.dtypes.is_empty() && self.random.chance(NAMED_TYPES) {
            return self.named.dtypes[self.random.below(self.named.dtypes.len())];
        }
        // What is cast to and fro shows what is lost on the way.
        let chosen: Vec<DType> = self.choice.attrs.iter().flatten().filter_map(AttrValue::as_dtype).collect();
        if self.style == Style::Narrow
            && let Some(dtype) = self.random.pick(&chosen)
            && self.random.chance(SAME_TYPE)
        {
            return dtype;
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
                let most = if self.has_large { MANY } else { MAX_NAMED };
                if let Some(size) = self.preferred().filter(|n| (1..=most).contains(n)) {
                    self.has_large |= size > MANY;
                    return size as usize;
                }
            }
            // Large paddings, steps and diagonals show in large tensors only.
            Style::Named | Style::Extreme if self.random.chance(LARGE) => return 6 + self.random.below(7),
            _ => {}
        }
        SIZES[self.random.below(SIZES.len())]
    }

    /// The rows of a table from which random places read: enough for places that lie beside a number that the rule names, or a few.
    pub(super) fn rows(&mut self, few: usize) -> usize {
        let named = self.named.integers.iter().copied().filter(|n| (1..=MANY).contains(n)).max();
        match (self.style, named) {
            (Style::Named, Some(named)) if self.random.chance(PREFERRED) => named as usize + ROWS_BEYOND,
            _ => few,
        }
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
