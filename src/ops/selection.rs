//! Places along one dimension: operators that take some of them, and operators that compute each by itself.

use smallvec::SmallVec;

use super::ties::leaves_open;
use super::{Call, Digit, Draws, OpDef, Renumbering};
use crate::ir::{AttrValue, Attrs, TensorType};

impl Call<'_> {
    /// For each operand the dimension along which places of `dim` of output `slot` stand: each place is computed from the same
    /// one there, in the same way as all others. `None` for an operand that is read in the same way for every place.
    ///
    /// Nothing where places depend on each other, or on where they stand.
    pub fn local_dims(&self, slot: usize, result: &TensorType, dim: usize) -> Option<SmallVec<[Option<usize>; 4]>> {
        if self.op.draws != Draws::Never || leaves_open(self) {
            return None;
        }
        let all = |dim, ty: &TensorType| ty.shape.get(dim).map(|&size| Digit { dim, step: 1, size });
        let digit = all(dim, result)?;
        let below = (self.op.digits)(&Renumbering { call: self, slot, result, digit })?;
        let of_operand = |(below, ty): (Option<Digit>, &&TensorType)| match below {
            Some(below) if ty.shape.get(below.dim) != Some(&1) => {
                (Some(below) == all(below.dim, ty) && below.size == digit.size).then_some(Some(below.dim))
            }
            _ => Some(None),
        };
        below.into_iter().zip(self.operands).map(of_operand).collect()
    }
}

impl OpDef {
    /// The attributes with which this operator, which takes places along one dimension, takes them along `dim`.
    pub fn selecting_along(&self, attrs: &Attrs, dim: usize) -> Option<Attrs> {
        let mut attrs = attrs.clone();
        let dim = i64::try_from(dim).ok()?;
        match (self.attr_index("dim"), self.attr_index("dims")) {
            (Some(at), _) => attrs[at] = AttrValue::Int(dim),
            (None, Some(at)) => attrs[at] = AttrValue::Ints([dim].into_iter().collect()),
            (None, None) if dim != 0 => return None,
            (None, None) => {}
        }
        Some(attrs)
    }
}
