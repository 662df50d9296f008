//! Values of a program as the evaluator sees them: looked up once, and one for all that hold the same elements.

use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use super::LazyEvaluator;
use crate::eval::{Constant, Draw, Interval, Program, Source, Support};
use crate::ir::{AttrValue, Number, TensorType};
use crate::ops::{Arithmetic, Call, Elements, Movement, OpDef};

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
    nodes: OnceLock<Operands<'p, Id>>,
}

impl<Id> Application<'_, Id> {
    pub(super) fn call(&self) -> Call<'_> {
        Call { op: self.op, attrs: self.attrs, operands: &self.types }
    }
}

impl<'p, P: Program> LazyEvaluator<'p, P> {
    pub(super) fn node(&mut self, id: P::Id) -> Arc<Node<'p, P::Id>> {
        let number = self.number(id);
        Arc::clone(&self.nodes[number as usize])
    }

    pub(super) fn operands<'a>(&mut self, application: &'a Application<'p, P::Id>) -> &'a Operands<'p, P::Id> {
        application.nodes.get_or_init(|| application.operands.iter().map(|&o| self.node(o)).collect())
    }

    fn number(&mut self, id: P::Id) -> u32 {
        if let Some(&number) = self.ids.get(&id) {
            return number;
        }
        if let Some(same) = self.same(id) {
            let number = self.number(same);
            self.ids.insert(id, number);
            return number;
        }
        let ty = self.program.ty(id);
        let kind = match self.program.source(id) {
            Source::Random { seed } => Computation::Random { seed },
            Source::Drawn(draw) => Computation::Drawn(draw),
            Source::Constant(constant) => Computation::Constant(constant),
            Source::Data(data) => Computation::Data(data),
            Source::Call { op, attrs, types, slot, operands } => {
                Computation::Call(Application { op, attrs, types, slot, operands, nodes: OnceLock::new() })
            }
            Source::Opaque => Computation::Opaque,
        };
        let number = self.nodes.len() as u32;
        let interval = self.program.interval(id);
        let support = self.program.support(id);
        self.nodes.push(Arc::new(Node { id, number, ty, interval, support, kind }));
        self.ids.insert(id, number);
        number
    }

    /// The operand that a value has the elements of, in the same places.
    fn same(&self, id: P::Id) -> Option<P::Id> {
        let mut found = None;
        let mut id = id;
        // A residual stream past many branches that are 0 is a long chain.
        while let Source::Call { op, attrs, types, operands, .. } = self.program.source(id) {
            let to = self.program.ty(id);
            let call = Call { op, attrs, operands: &types };
            let real = |ty: &TensorType| ty.dtype.is_float() && !self.rounding;
            let zero =
                |i: usize| operands.get(i).is_some_and(|&o| self.program.interval(o).is_some_and(Interval::is_zero));
            let as_is = |i: usize| types.get(i).is_some_and(|ty| ty.shape == to.shape);
            let place = match call.elements() {
                Elements::Moved(_, Movement::Stay) => 0,
                Elements::Placewise(Arithmetic::Cast) if real(to) && real(types[0]) => 0,
                Elements::Placewise(Arithmetic::Add) if real(to) && zero(0) && as_is(1) => 1,
                Elements::Placewise(Arithmetic::Add) if real(to) && zero(1) && as_is(0) => 0,
                _ => break,
            };
            id = *operands.get(place)?;
            found = Some(id);
        }
        found
    }
}
