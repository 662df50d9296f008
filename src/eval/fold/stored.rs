//! Results as tensors hold them.

use crate::ir::{Number, TensorType};
use crate::ops::{Call, is_number};

/// What a tensor of type `ty` gives back for the result of an operator. A number beside a tensor stays as it is written;
/// whoever computes with it rounds it.
pub fn stored(call: &Call, value: Number, ty: &TensorType) -> Option<Number> {
    if is_number(call.op) { Some(value) } else { ty.dtype.store(value) }
}
