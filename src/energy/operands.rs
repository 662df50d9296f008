//! Builds the operands of a key on a device: random, of realistic scale, lying in memory as the key says.

use tch::{Device, Kind, TchError, Tensor};

use super::key::{Key, KeyOperand};
use crate::ir::{DType, Layout};
use crate::ops::replay::kind;

/// Elements of memory that a tensor of this layout spans.
pub fn span(operand: &KeyOperand, layout: &Layout) -> usize {
    if operand.ty.numel() == 0 {
        return 0;
    }
    1 + operand.ty.shape.iter().zip(&layout.strides).map(|(&size, &stride)| (size - 1) * stride).sum::<usize>()
}

/// One set of operands.
pub fn build(key: &Key, device: Device) -> Result<Vec<Tensor>, TchError> {
    key.operands.iter().enumerate().map(|(i, operand)| build_one(key, i, operand, device)).collect()
}

fn build_one(key: &Key, index: usize, operand: &KeyOperand, device: Device) -> Result<Tensor, TchError> {
    // A number in the source: PyTorch keeps it on the host and hands it to the kernel as an argument.
    // The logical operators take none; what a graph gives them is a tensor on the device.
    let number = operand.ty.rank() == 0
        && key.operands.iter().any(|o| o.ty.rank() > 0)
        && !matches!(key.op.as_str(), "logical_and" | "logical_or");
    let device = if number { Device::Cpu } else { device };
    let kind = kind(operand.ty.dtype);
    let layout = operand.layout.layout(&operand.ty.shape);
    let length = [span(operand, &layout) as i64];
    let flat = match operand.ty.dtype {
        // A coin per element; `randn` has no bool.
        DType::Bool => Tensor::f_randint(2, length, (Kind::Uint8, device))?.f_to_kind(kind)?,
        DType::F8E4M3 | DType::F8E5M2 => Tensor::f_randn(length, (Kind::Float, device))?.f_to_kind(kind)?,
        dtype if dtype.is_float() => Tensor::f_randn(length, (kind, device))?,
        _ => Tensor::f_randint(index_limit(key, index), length, (kind, device))?,
    };
    let sizes: Vec<i64> = operand.ty.shape.iter().map(|&d| d as i64).collect();
    let strides: Vec<i64> = layout.strides.iter().map(|&s| s as i64).collect();
    flat.f_as_strided(sizes, strides, None)
}

/// One above the largest integer that may stand in operand `index`: indices have to hit their dimension.
fn index_limit(key: &Key, index: usize) -> i64 {
    let Some(table) = key.operands.first().filter(|_| index > 0) else { return 4 };
    let shape = &table.ty.shape;
    let dims = key.attrs.iter().find(|(name, _)| name == "dim" || name == "dims").map(|(_, value)| value);
    let dim = |d: i64| shape.get(usize::try_from(d).unwrap_or(0)).copied();
    let limit = match (key.op.as_str(), dims) {
        ("cross_entropy", _) => shape.get(usize::from(shape.len() > 1)).copied(),
        (_, Some(value)) => match (value.as_int(), value.as_ints()) {
            (Some(d), _) => dim(d),
            (_, Some(all)) => all.iter().filter_map(|&d| dim(d)).min(),
            _ => None,
        },
        _ => shape.first().copied(),
    };
    limit.map_or(4, |n| (n as i64).max(1))
}
