//! Calls of the same operators on libtorch: the second opinion for the reference evaluator, and what energy is measured on.

use tch::{Device, Kind, Tensor};

pub use super::replay_error::ReplayError;
use super::tensors::kind;
use super::{Call, scalars};
use crate::ir::{DType, Number};

/// What a step of a call on libtorch gives.
pub type Replayed<T> = Result<T, ReplayError>;

/// Runs a well-typed call on libtorch, one result per output slot. `device` is where tensors without operands are made.
pub fn replay(call: &Call, operands: &[Tensor], device: Device) -> Replayed<Vec<Tensor>> {
    let step = call.op.replay.ok_or(ReplayError::Unknown(call.op.name))?;
    let run = |operands: &[Tensor]| step(&Run { c: call, operands, device });
    let is_parameter = |i: usize| call.operands.get(i).is_some_and(|ty| call.op.takes_parameter(i, ty));
    if !(0..operands.len()).any(is_parameter) {
        return run(operands);
    }
    let parameter = |(i, x): (usize, &Tensor)| match is_parameter(i) {
        true => x.f_detach()?.f_set_requires_grad(true),
        false => Ok(x.shallow_clone()),
    };
    let operands = operands.iter().enumerate().map(parameter).collect::<Result<Vec<_>, _>>()?;
    tch::no_grad(|| run(&operands))
}

/// A call with its operands on a device.
pub struct Run<'a> {
    pub c: &'a Call<'a>,
    pub operands: &'a [Tensor],
    pub device: Device,
}

impl Run<'_> {
    pub fn x(&self) -> Replayed<&Tensor> {
        self.operand(0)
    }

    pub fn y(&self) -> Replayed<&Tensor> {
        self.operand(1)
    }

    pub fn operand(&self, i: usize) -> Replayed<&Tensor> {
        self.operands.get(i).ok_or_else(|| self.lacks_operand())
    }

    /// An optional operand.
    pub fn given(&self, i: usize) -> Option<&Tensor> {
        self.operands.get(i)
    }

    pub fn lacks_operand(&self) -> ReplayError {
        ReplayError::Operand(self.c.op.name)
    }

    /// An attribute as libtorch wants it for `x`: whole for integers, which a float would promote.
    pub fn scalar(&self, name: &str, dtype: DType) -> Number {
        self.c.number(name, dtype.accumulator()).unwrap_or_else(|| Number::float(self.c.float(name)))
    }

    /// An attribute that the bindings take as a double only.
    pub fn double(&self, name: &str, dtype: DType) -> Replayed<f64> {
        let number = self.scalar(name, dtype);
        let double = number.to_f64();
        let kept =
            matches!(number, Number::Float(_)) || Number::float(double).to_i64().map(Number::Int) == Some(number);
        if kept { Ok(double) } else { Err(ReplayError::Unknown(self.c.op.name)) }
    }

    /// The element type of an operand.
    pub fn dtype(&self, i: usize) -> Replayed<DType> {
        self.c.operands.get(i).map(|t| t.dtype).ok_or_else(|| self.lacks_operand())
    }

    /// The attribute `dtype`, as libtorch has it.
    pub fn kind(&self) -> Replayed<Kind> {
        self.c.dtype("dtype").map(kind).ok_or_else(|| self.lacks_operand())
    }

    /// An attribute in the element type of a new tensor.
    pub fn created(&self, name: &str) -> Number {
        self.scalar(name, self.c.dtype("dtype").unwrap_or(DType::F64))
    }

    /// A new tensor of the attribute `value`, as libtorch's own `full` makes it.
    pub fn full(&self, shape: &[i64]) -> Replayed<Tensor> {
        let empty = Tensor::f_empty(shape, (self.kind()?, self.device))?;
        Ok(scalars::fill(empty, self.created("value"))?)
    }

    /// The index tensors, which start at operand `first`, by the dimension that they index.
    pub fn indices(&self, first: usize) -> Replayed<Vec<Option<&Tensor>>> {
        let mut indices: Vec<Option<&Tensor>> = vec![None; self.x()?.dim()];
        for (&dim, index) in self.c.ints("dims").iter().zip(self.operands.iter().skip(first)) {
            let place = usize::try_from(dim).ok().and_then(|d| indices.get_mut(d));
            *place.ok_or_else(|| self.lacks_operand())? = Some(index);
        }
        Ok(indices)
    }
}
