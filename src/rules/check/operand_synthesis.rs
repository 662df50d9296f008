//! An operator whose operands are chosen for a wanted result: what is known of them, and the attributes that go with it.

use super::generator::Generator;
use crate::ir::{AttrValue, DType, Shape, TensorType};
use crate::ops::{Op, OpDef};
use crate::rules::rule::AttrPattern;

/// An operator whose result is to have type `ty`.
pub(super) struct OperandSynthesis<'w, 'a> {
    pub generator: &'w mut Generator<'a>,
    pub op: &'static OpDef,
    pub attrs: &'w [AttrPattern],
    pub ty: TensorType,
    pub slot: usize,
    /// Operand types that are fixed already.
    pub known: &'w [Option<TensorType>],
    /// Which operands are numbers.
    pub scalars: &'w [bool],
}

pub(super) fn tensor(dtype: DType, shape: impl Into<Shape>) -> TensorType {
    TensorType { dtype, shape: shape.into() }
}

impl OperandSynthesis<'_, '_> {
    pub(super) fn dtype_of_known(&self) -> Option<DType> {
        self.known.iter().flatten().map(|t| t.dtype).next()
    }

    pub(super) fn operand_dtype(&mut self) -> DType {
        self.dtype_of_known().unwrap_or_else(|| self.generator.any_dtype())
    }

    pub(super) fn index_of(&self, name: &str) -> Option<usize> {
        self.op.attr_index(name)
    }

    /// The attribute, if it is fixed already.
    pub(super) fn fixed(&self, name: &str, rank: Option<usize>) -> Option<AttrValue> {
        let at = self.index_of(name)?;
        self.generator.attr(&Op::Table(self.op), at, &self.attrs[at], rank)
    }

    pub(super) fn set(&mut self, name: &str, rank: usize, value: AttrValue) -> Option<()> {
        let at = self.index_of(name)?;
        self.generator.set_attr(&Op::Table(self.op), at, &self.attrs[at], rank, value)
    }

    /// A shape that broadcasts to the wanted one.
    pub(super) fn narrower(&mut self) -> Shape {
        let full = self.ty.shape.clone();
        let random = &mut self.generator.random;
        match random.below(10) {
            0..=4 => full,
            5 => Shape::from_slice(&full[random.below(full.len() + 1)..]),
            6 | 7 => {
                let mut shape = full;
                if let Some(last) = shape.last_mut() {
                    *last = 1;
                }
                shape
            }
            8 => full.last().map(|&d| Shape::from_slice(&[d])).unwrap_or_default(),
            _ => full.iter().map(|&d| if random.chance(50) { 1 } else { d }).collect(),
        }
    }
}
