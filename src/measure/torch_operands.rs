//! Operands as tensors of libtorch.

use tch::{Device, Kind, TchError, Tensor};

use super::operands::{Contents, Operand};
use crate::ir::DType;
use crate::ops::tensors::kind;

/// One operand on `device`, or on the host where it belongs there.
pub(super) fn made(operand: &Operand, device: Device) -> Result<Tensor, TchError> {
    let device = if operand.on_host { Device::Cpu } else { device };
    let kind = kind(operand.dtype);
    let length = [operand.span as i64];
    let flat = match operand.contents {
        Contents::Starts(rows) => return parts(operand, rows, false, device),
        Contents::Ends(rows) => return parts(operand, rows, true, device),
        Contents::Normal { mean, deviation } => {
            let drawn = if matches!(operand.dtype, DType::F8E4M3 | DType::F8E5M2) { Kind::Float } else { kind };
            let flat = Tensor::f_randn(length, (drawn, device))?;
            // Numbers as tensors: the calls that take numbers panic where memory runs out.
            let flat = if deviation == 1.0 { flat } else { flat.f_mul(&number(deviation)?)? };
            let flat = if mean == 0.0 { flat } else { flat.f_add(&number(mean)?)? };
            flat.f_to_kind(kind)?
        }
        // `randn` has no bool.
        Contents::Below(limit) if operand.dtype == DType::Bool => {
            Tensor::f_randint(limit, length, (Kind::Uint8, device))?.f_to_kind(kind)?
        }
        Contents::Below(limit) => Tensor::f_randint(limit, length, (kind, device))?,
    };
    let strides: Vec<i64> = operand.strides.iter().map(|&s| s as i64).collect();
    flat.f_as_strided(sizes(operand), strides, None)
}

fn sizes(operand: &Operand) -> Vec<i64> {
    operand.shape.iter().map(|&d| d as i64).collect()
}

fn number(value: f64) -> Result<Tensor, TchError> {
    Tensor::f_from_slice(&[value])?.f_squeeze()
}

/// Positions in ascending order that divide `rows` into parts of one size: where each one starts, or ends.
fn parts(operand: &Operand, rows: usize, ends: bool, device: Device) -> Result<Tensor, TchError> {
    let count = operand.shape.iter().product::<usize>().max(1);
    let positions: Vec<i64> = (0..count).map(|i| ((i + usize::from(ends)) * rows / count) as i64).collect();
    Tensor::f_from_slice(&positions)?.f_reshape(sizes(operand))?.f_to_kind(kind(operand.dtype))?.f_to_device(device)
}
