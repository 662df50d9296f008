//! Places along a dimension: operators that move them as a whole, and operators that compute each by itself.

use smallvec::SmallVec;

use super::ties::{leaves_open, leaves_output_open};
use super::{Arity, Call, Digit, Draws, Elements, Moved, Movement, OpDef, Renumbering};
use crate::ir::{AttrValue, Attrs, TensorType};

/// The dimensions along which places are moved.
pub type Along = SmallVec<[usize; 2]>;

impl Call<'_> {
    /// Whether each element of the results is computed from one element of every operand, in the same way as all others.
    pub fn is_placewise(&self) -> bool {
        matches!(self.op.elements, Elements::Placewise(_)) && self.op.draws == Draws::Never && !leaves_open(self)
    }

    /// For each operand the dimension along which places of `dim` of output `slot` stand: each place is computed from the same
    /// one there, in the same way as all others. A dimension of size 1 has its one element in all places. `None` for an operand that
    /// is read in the same way for every place.
    ///
    /// Nothing where places depend on each other, or on where they stand.
    pub fn local_dims(&self, slot: usize, result: &TensorType, dim: usize) -> Option<SmallVec<[Option<usize>; 4]>> {
        if self.op.draws != Draws::Never || leaves_output_open(self, slot) {
            return None;
        }
        let all = |dim, ty: &TensorType| ty.shape.get(dim).map(|&size| Digit { dim, step: 1, size });
        let digit = all(dim, result)?;
        let below = (self.op.digits)(&Renumbering { call: self, slot, result, digit })?;
        let of_operand = |(below, ty): (Option<Digit>, &&TensorType)| match below {
            Some(below) if ty.shape.get(below.dim) != Some(&1) => {
                (Some(below) == all(below.dim, ty) && below.size == digit.size).then_some(Some(below.dim))
            }
            below => Some(below.map(|below| below.dim)),
        };
        below.into_iter().zip(self.operands).map(of_operand).collect()
    }
}

impl OpDef {
    /// Whether each element of its results is one of operand 0, mostly of another place; which one does not depend on what is there.
    pub fn only_moves(&self) -> bool {
        let Elements::Moved(moved, movement) = self.elements else { return false };
        let of_first = moved == Moved::First || moved == Moved::All && self.operands.len() == 1;
        let is_single = self.operands.first().is_some_and(|first| first.arity != Arity::Many);
        of_first && is_single && movement != Movement::Stay && !movement.adds_numbers()
    }

    /// The attributes with which this operator moves the places of `operand`, where `attrs` say how it moves those of another tensor
    /// along some dimensions: `dims` has the dimension of `operand` for each of those, and `None` where it has none.
    pub fn moving_along(
        &self,
        attrs: &Attrs,
        along: &[usize],
        dims: &[Option<usize>],
        operand: &TensorType,
    ) -> Option<Attrs> {
        let mut moving = attrs.clone();
        let kept = |list: &[i64]| list.iter().zip(dims).filter(|(_, dim)| dim.is_some()).map(|(&x, _)| x).collect();
        if let Some(at) = self.attr_index("shape") {
            let AttrValue::Ints(shape) = &attrs[at] else { return None };
            let mut sizes: SmallVec<[i64; 6]> = operand.shape.iter().map(|&size| size as i64).collect();
            for (&dim, &from) in dims.iter().zip(along).filter_map(|(dim, from)| Some((dim.as_ref()?, from))) {
                *sizes.get_mut(dim)? = *shape.get(from)?;
            }
            moving[at] = AttrValue::Ints(sizes.into_iter().collect());
        } else if let Some(at) = self.attr_index("dims") {
            if let Some(at) = self.attr_index("shifts") {
                let AttrValue::Ints(shifts) = &attrs[at] else { return None };
                moving[at] = AttrValue::Ints(kept(shifts));
            }
            moving[at] = AttrValue::Ints(dims.iter().flatten().map(|&dim| dim as i64).collect());
        } else {
            let &[Some(dim)] = dims else { return None };
            match self.attr_index("dim") {
                Some(at) => moving[at] = AttrValue::Int(i64::try_from(dim).ok()?),
                None if dim != 0 => return None,
                None => {}
            }
        }
        Some(moving)
    }
}
