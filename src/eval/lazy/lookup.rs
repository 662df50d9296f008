//! Looks values of a program up once, and takes one for all that hold the same elements.

use std::sync::{Arc, OnceLock};

use super::LazyEvaluator;
use super::node::{Application, Computation, Node, Operands};
use crate::eval::{Interval, Program, Source};
use crate::ir::TensorType;
use crate::ops::{Arithmetic, Call, Elements, Movement};

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
            // The sum with a 0 that the program names is no zero of negative sign, which the other operand may be.
            let is_zero = |&o: &P::Id| {
                self.program.interval(o).is_some_and(Interval::is_zero) && !self.program.source(o).is_literal()
            };
            let zero = |i: usize| operands.get(i).is_some_and(is_zero);
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
