//! Where the elements of a value can be other than 0: places along each dimension, from those of the operands. In a
//! model whose weights are 0 but for a few rows and columns, most of every value need not be looked at.

mod known;
mod places;
mod product;
mod views;

pub(super) use known::same;
pub use known::{Known, Support, Supports};
pub use places::{Dim, Dims, PlaceSet};
pub(super) use places::{common, joined, union};
pub(super) use product::{batched_product, product};
pub(super) use views::{concatenated, reshaped};

use places::both;

use super::{Call, Interval};
use crate::ir::TensorType;

/// Where both factors are other than 0.
pub(super) fn of_product(s: &Supports) -> Option<Dims> {
    let (x, y) = (s.operand(0)?, s.operand(1)?);
    let (of_x, of_y) = (x.broadcast(&s.ty.shape), y.broadcast(&s.ty.shape));
    Some(both(within(x, y, of_x), within(y, x, of_y)))
}

/// Where `x` is other than 0, unless `other` could make a NaN of 0.
fn within(x: &Known, other: &Known, dims: Dims) -> Dims {
    let zero = x.interval.is_some_and(Interval::is_zero);
    if other.is_finite() && !zero { dims } else { dims.into_iter().map(|_| None).collect() }
}

/// Where the elements of output `slot`, of type `ty`, of a call can be other than 0. `None` where that is not known.
pub fn support(call: &Call, slot: usize, operands: &[Known], ty: &TensorType) -> Option<Support> {
    let dims = (call.op.support)(&Supports { call, slot, operands, ty })?;
    let fits = |(dim, &size): (&Dim, &usize)| dim.as_ref().is_none_or(|d| d.has.len() == size);
    let fit = dims.len() == ty.rank() && dims.iter().zip(&ty.shape).all(fits);
    if fit { Support::new(dims) } else { None }
}
