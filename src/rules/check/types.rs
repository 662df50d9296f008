//! Tensors of which only the types are known.

use std::ops::ControlFlow;

use crate::eval::Constant;
use crate::ir::TensorType;
use crate::rules::terms::{Terms, Visitor};

/// Tensors of which only the types are known.
#[derive(Default)]
pub(super) struct Types(pub Vec<TensorType>);

impl Terms for Types {
    type Id = usize;

    fn visit(&self, _: usize, _: &mut Visitor<'_, usize>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn ty(&self, id: usize) -> &TensorType {
        &self.0[id]
    }

    fn constant(&self, _: usize) -> Option<&Constant> {
        None
    }
}
