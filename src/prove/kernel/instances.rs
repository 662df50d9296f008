//! Instances of rules as plain terms.

use std::ops::ControlFlow;

use super::arena::{TermArena, TermId};
use crate::eval::Constant;
use crate::ir::{Attrs, TensorType};
use crate::ops::{Op, Sign, TypeError};
use crate::rules::{Build, Terms, Visitor};

/// Builds instances of rules as plain terms.
pub(crate) struct Instances<'a> {
    pub arena: &'a mut TermArena,
}

impl Terms for Instances<'_> {
    type Id = TermId;

    fn visit(&self, id: TermId, f: &mut Visitor<'_, TermId>) -> ControlFlow<()> {
        match self.arena.op(id) {
            Some((op, attrs, slot)) => f(op, attrs, slot as usize, &self.arena.term(id).operands),
            None => ControlFlow::Continue(()),
        }
    }

    fn ty(&self, id: TermId) -> &TensorType {
        self.arena.ty(id)
    }

    fn constant(&self, id: TermId) -> Option<&Constant> {
        self.arena.constant(id)
    }

    fn sign(&self, id: TermId) -> Sign {
        self.arena.term(id).sign
    }
}

impl Build for Instances<'_> {
    fn apply(&mut self, op: &Op, attrs: &Attrs, slot: usize, operands: &[TermId]) -> Result<TermId, TypeError> {
        self.arena.call_of_rule(op, attrs, slot as u32, operands)
    }
}
