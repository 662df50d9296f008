//! Fused attention over queries, keys and values that are mostly 0.

use super::LazyEvaluator;
use super::node::{Node, Operands};
use crate::eval::{PlaceSet, Program};
use crate::ir::Number;
use crate::ops::{Call, Elements, EvalError, Nonzero, attend};

impl<'p, P: Program> LazyEvaluator<'p, P> {
    /// A row of fused attention without the products with 0. `None` for other operators, and where something may not be
    /// finite.
    pub(super) fn attention(
        &mut self,
        call: &Call,
        node: &Node<'p, P::Id>,
        operands: &Operands<'p, P::Id>,
        index: &[usize],
    ) -> Result<Option<Vec<f64>>, EvalError> {
        // Bounds on the result are known only where all that went in is finite.
        let (Elements::Attention, Some(_), [q, k, v, ..]) = (call.op.elements, node.interval, &operands[..]) else {
            return Ok(None);
        };
        fn along<'a, Id>(operand: &'a Node<'_, Id>, from_last: usize) -> Option<&'a PlaceSet> {
            operand.support?.dim(operand.ty.rank().checked_sub(from_last)?)
        }
        let inner = match (along(q, 1), along(k, 1)) {
            (Some(q), Some(k)) => Some(q.list().iter().copied().filter(|&place| k.contains(place)).collect()),
            (q, k) => q.or(k).map(|places| places.list().to_vec()),
        };
        let (keys, values) = (along(k, 2), along(v, 2));
        let nonzero = Nonzero {
            inner: inner.as_deref(),
            value: along(v, 1).map(PlaceSet::list),
            keys: &|position| keys.is_none_or(|k| k.contains(position)),
            values: &|position| values.is_none_or(|v| v.contains(position)),
        };
        let mut fetch = self.fetch(call, operands);
        attend(call, index, Some(&nonzero), &mut |o, at| fetch(o, at).map(Number::to_f64)).map(Some)
    }
}
