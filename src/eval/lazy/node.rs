//! Values of a program as the evaluator sees them.

use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use crate::eval::{Constant, Draw, Interval, Support};
use crate::ir::{AttrValue, Number, TensorType};
use crate::ops::{Call, OpDef};

/// A value of the program, looked up once.
pub(super) struct Node<'p, Id> {
    pub id: Id,
    pub number: u32,
    pub ty: &'p TensorType,
    pub interval: Option<Interval>,
    pub support: Option<&'p Support>,
    pub kind: Computation<'p, Id>,
}

impl<Id> Node<'_, Id> {
    /// Whether its elements are given, not computed from others.
    pub(super) fn is_literal(&self) -> bool {
        match &self.kind {
            Computation::Constant(_) | Computation::Data(_) => true,
            Computation::Call(application) => application.operands.is_empty(),
            Computation::Random { .. } | Computation::Drawn(_) | Computation::Opaque => false,
        }
    }
}

pub(super) enum Computation<'p, Id> {
    Random { seed: u64 },
    Drawn(&'p Draw),
    Constant(&'p Constant),
    Data(&'p [Number]),
    Call(Application<'p, Id>),
    Opaque,
}

pub(super) type Operands<'p, Id> = SmallVec<[Arc<Node<'p, Id>>; 4]>;

pub(super) struct Application<'p, Id> {
    pub op: &'static OpDef,
    pub attrs: &'p [AttrValue],
    pub types: SmallVec<[&'p TensorType; 4]>,
    pub slot: usize,
    pub operands: SmallVec<[Id; 4]>,
    /// The operands' nodes, once they are needed.
    pub nodes: OnceLock<Operands<'p, Id>>,
}

impl<Id> Application<'_, Id> {
    pub(super) fn call(&self) -> Call<'_> {
        Call { op: self.op, attrs: self.attrs, operands: &self.types }
    }
}
