//! The terms that formulas are about, down to the leaves.
//!
//! A leaf has elements of its own: what it is computed from, and its value if it is a constant, cannot be asked for here, so that
//! nothing that is said of elements depends on it.

use std::cell::{Cell, RefCell};

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::super::arena::{Head, TermArena, TermId};
use super::mode::{Mode, Way};
use crate::eval::Constant;
use crate::ir::{Attrs, TensorType};
use crate::ops::{Call, Elements, Moved, Op, OpDef, RowFunction, Sign, is_number};

/// Terms of an arena, down to the leaves.
pub(super) struct Scope<'a> {
    arena: &'a TermArena,
    leaves: &'a Leaves,
    /// Whether any leaf is a constant.
    constant_leaves: bool,
    /// By constant, as far as it was asked for: whether it is a leaf or computed from one.
    reads_leaves: RefCell<FxHashMap<TermId, bool>>,
    /// Whether something was met that can be written down case by case.
    has_cases: Cell<bool>,
}

/// What a term is, as far as it is looked at.
pub(super) enum Seen<'a> {
    /// Its elements stand for themselves.
    Leaf,
    Known(Known<'a>),
    Result(Applied<'a>),
}

/// A value that depends on no input and on no leaf.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    pub value: &'a Constant,
    /// Whether PyTorch computes it bit for bit.
    pub exact: bool,
    /// Whether it is a number, which operators read as such.
    pub is_number: bool,
}

/// An output of an operator of the table, with its operands.
pub(super) struct Applied<'a> {
    pub op: &'static OpDef,
    pub attrs: &'a Attrs,
    pub slot: u32,
    pub operands: &'a [TermId],
    types: SmallVec<[&'a TensorType; 4]>,
    pub result: &'a TensorType,
}

impl Applied<'_> {
    pub(super) fn call(&self) -> Call<'_> {
        Call { op: self.op, attrs: self.attrs, operands: &self.types }
    }

    /// Where its elements come from, as far as formulas of this mode look.
    pub(super) fn elements(&self, way: Way) -> Elements {
        let elements = self.call().elements();
        let of_reals = matches!(
            elements,
            Elements::Lane(
                RowFunction::RunningSum
                    | RowFunction::RunningProduct
                    | RowFunction::RunningMax
                    | RowFunction::RunningMin
            ) | Elements::Convolution
                | Elements::Attention
        );
        let of_cases = elements == Elements::OneHot;
        let other_output = self.slot != 0 && !matches!(elements, Elements::Moved(Moved::All, _));
        if of_reals && way.mode != Mode::Reals || of_cases && !way.cases || other_output {
            Elements::Unknown
        } else {
            elements
        }
    }
}

impl<'a> Scope<'a> {
    pub(super) fn new(arena: &'a TermArena, leaves: &'a Leaves) -> Self {
        let constant_leaves = leaves.iter().any(|&leaf| arena.value(leaf).is_some());
        Scope { arena, leaves, constant_leaves, reads_leaves: RefCell::default(), has_cases: Cell::default() }
    }

    pub(super) fn note_cases(&self) {
        self.has_cases.set(true);
    }

    pub(super) fn has_cases(&self) -> bool {
        self.has_cases.get()
    }

    pub(super) fn ty(&self, term: TermId) -> &'a TensorType {
        self.arena.ty(term)
    }

    /// What is known of the elements of a term.
    pub(super) fn sign(&self, term: TermId) -> Sign {
        self.arena.term(term).sign
    }

    pub(super) fn seen(&self, term: TermId) -> Seen<'a> {
        if self.leaves.contains(&term) {
            return Seen::Leaf;
        }
        if let Some(known) = self.known(term) {
            return Seen::Known(known);
        }
        match self.arena.head(term) {
            Head::Apply { op: Op::Table(op), attrs, slot } => {
                let operands = &self.arena.term(term).operands;
                let types = operands.iter().map(|&operand| self.ty(operand)).collect();
                Seen::Result(Applied { op, attrs, slot: *slot, operands, types, result: self.ty(term) })
            }
            _ => Seen::Leaf,
        }
    }

    /// The value of a term that depends on no input and on no leaf.
    pub(super) fn known(&self, term: TermId) -> Option<Known<'a>> {
        let value = self.arena.value(term)?;
        if self.constant_leaves && self.reads_leaf(term) {
            return None;
        }
        let exact = self.arena.constant(term).is_some();
        let is_number = matches!(self.arena.op(term), Some((Op::Table(def), ..)) if is_number(def));
        Some(Known { value, exact, is_number })
    }

    /// Whether a constant is a leaf or computed from one.
    fn reads_leaf(&self, constant: TermId) -> bool {
        let mut found = self.reads_leaves.borrow_mut();
        let mut stack = vec![constant];
        while let Some(&term) = stack.last() {
            let operands = &self.arena.term(term).operands;
            let before = stack.len();
            if !found.contains_key(&term) && !self.leaves.contains(&term) {
                stack.extend(operands.iter().filter(|operand| !found.contains_key(operand)));
            }
            if stack.len() == before {
                let reads = self.leaves.contains(&term) || operands.iter().any(|operand| found[operand]);
                found.entry(term).or_insert(reads);
                stack.pop();
            }
        }
        found[&constant]
    }
}

/// Terms that are not looked into.
pub(crate) type Leaves = FxHashSet<TermId>;
