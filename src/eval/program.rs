//! What the evaluator needs to know of a graph, an arena or a pattern to compute elements of its values.

use std::hash::Hash;

use smallvec::SmallVec;

use super::{Constant, Draw, Interval, Support};
use crate::ir::{AttrValue, Number, TensorType};
use crate::ops::OpDef;

/// A set of values that depend on each other without cycles.
pub trait Program {
    type Id: Copy + Eq + Hash;

    /// Where the elements of a value come from.
    fn source(&self, id: Self::Id) -> Source<'_, Self::Id>;

    fn ty(&self, id: Self::Id) -> &TensorType;

    /// What all elements of a value are known to lie in.
    fn interval(&self, _: Self::Id) -> Option<Interval> {
        None
    }

    /// Where elements of a value can be other than 0.
    fn support(&self, _: Self::Id) -> Option<&Support> {
        None
    }
}

/// Where the elements of a value come from.
#[derive(Clone, Debug)]
pub enum Source<'a, Id> {
    /// A leaf with random elements; see [`super::random::element`].
    Random { seed: u64 },
    /// A leaf whose elements somebody chose.
    Drawn(&'a Draw),
    /// A leaf known as a formula.
    Constant(&'a Constant),
    /// A leaf with given elements in row-major order.
    Data(&'a [Number]),
    /// Output `slot` of a well-typed application of an operator of the table. `types` are the operands' types.
    Call {
        op: &'static OpDef,
        attrs: &'a [AttrValue],
        types: SmallVec<[&'a TensorType; 4]>,
        slot: usize,
        operands: SmallVec<[Id; 4]>,
    },
    /// Cannot be computed.
    Opaque,
}

impl<Id> Source<'_, Id> {
    /// Whether the elements are given, not computed from others.
    pub fn is_literal(&self) -> bool {
        match self {
            Source::Constant(_) | Source::Data(_) => true,
            Source::Call { operands, .. } => operands.is_empty(),
            Source::Random { .. } | Source::Drawn(_) | Source::Opaque => false,
        }
    }
}
