//! What the rule language needs to know about the store of terms that rules match and build.

use std::fmt::Debug;
use std::hash::Hash;
use std::ops::ControlFlow;

use crate::eval::Constant;
use crate::ir::{Attrs, TensorType};
use crate::ops::{Op, Sign, TypeError};

/// What [`Terms::visit`] calls for every form of a term: operator, attributes, output slot, operands.
pub(crate) type Visitor<'a, Id> = dyn FnMut(&Op, &Attrs, usize, &[Id]) -> ControlFlow<()> + 'a;

/// A store of terms. In an e-graph one id has many forms, in a term arena exactly one.
pub trait Terms {
    type Id: Copy + Eq + Hash + Debug;

    /// Calls `f` for every form of `id` until it breaks. Leaves have none.
    fn visit(&self, id: Self::Id, f: &mut Visitor<'_, Self::Id>) -> ControlFlow<()>;

    fn ty(&self, id: Self::Id) -> &TensorType;

    /// The value of `id`, if it does not depend on inputs and is known.
    fn constant(&self, id: Self::Id) -> Option<&Constant>;

    /// What is known of the elements of `id`, for all real numbers that the inputs can be.
    fn sign(&self, _: Self::Id) -> Sign {
        Sign::Unknown
    }
}

/// A store of terms that can grow.
pub trait Build: Terms {
    /// The term that applies `op` to `operands` and takes output `slot`. Scalars are built as `number`.
    fn apply(&mut self, op: &Op, attrs: &Attrs, slot: usize, operands: &[Self::Id]) -> Result<Self::Id, TypeError>;
}
