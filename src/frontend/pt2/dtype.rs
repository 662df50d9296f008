//! Element types by the codes of the schema's `ScalarType`.

use super::argument::Size;
use super::lowering::Refusal;
use super::schema::{STRIDED, TensorMeta};
use crate::ir::{DType, Layout, Shape, TensorType};

/// The element type with that code.
pub(super) fn dtype(code: i64) -> Result<DType, Refusal> {
    let name = match code {
        1 => return Ok(DType::U8),
        2 => return Ok(DType::I8),
        3 => return Ok(DType::I16),
        4 => return Ok(DType::I32),
        5 => return Ok(DType::I64),
        6 => return Ok(DType::F16),
        7 => return Ok(DType::F32),
        8 => return Ok(DType::F64),
        12 => return Ok(DType::Bool),
        13 => return Ok(DType::BF16),
        29 => return Ok(DType::F8E4M3),
        30 => return Ok(DType::F8E5M2),
        9..=11 => "of complex numbers",
        28 => "uint16",
        31 => "float8_e4m3fnuz",
        32 => "float8_e5m2fnuz",
        _ => return Err(Refusal::new(format!("has the unknown element type code {code}"))),
    };
    let known: Vec<&str> = DType::ALL.iter().map(|d| d.name()).collect();
    Err(Refusal::new(format!("has the element type {name}, which is not supported"))
        .help(format!("supported are {}", known.join(", "))))
}

/// The element type of the parts of complex numbers, if the code is one of these.
pub(super) fn complex_part(code: i64) -> Option<DType> {
    match code {
        9 => Some(DType::F16),
        10 => Some(DType::F32),
        11 => Some(DType::F64),
        _ => None,
    }
}

/// The type that the description states. Complex numbers are pairs in a last dimension, which is how they lie in memory.
pub(super) fn tensor_type(meta: &TensorMeta) -> Result<TensorType, Refusal> {
    if meta.layout != STRIDED {
        return Err(Refusal::new(format!("has the sparse memory layout code {}", meta.layout))
            .help("only dense tensors are supported"));
    }
    let mut shape = meta.sizes.iter().map(size).collect::<Result<Shape, _>>()?;
    let dtype = match complex_part(meta.dtype) {
        Some(part) => {
            shape.push(2);
            part
        }
        None => dtype(meta.dtype)?,
    };
    TensorType::new(dtype, shape).map_err(|e| Refusal::new(format!("is too large: {e}")))
}

fn size(size: &Size) -> Result<usize, Refusal> {
    match size {
        Size::Int(n) => usize::try_from(*n).map_err(|_| Refusal::new(format!("has the negative size {n}"))),
        Size::Symbolic(expression) => Err(Refusal::symbolic(expression)),
    }
}

/// Where the elements lie in their storage, where the description states it in plain numbers.
pub(super) fn layout(meta: &TensorMeta) -> Option<Layout> {
    let offset = match &meta.storage_offset {
        Some(Size::Int(n)) => usize::try_from(*n).ok()?,
        Some(Size::Symbolic(_)) => return None,
        None => 0,
    };
    let is_complex = complex_part(meta.dtype).is_some();
    let strides = strides(meta).filter(|s| s.len() == meta.sizes.len() + usize::from(is_complex))?;
    let offset = if is_complex { offset.checked_mul(2)? } else { offset };
    Some(Layout { strides: strides.into(), offset })
}

/// The strides that the description states, where they are plain numbers; of complex numbers, those of their parts.
pub(super) fn strides(meta: &TensorMeta) -> Option<Vec<usize>> {
    let stride = |s: &Size| match s {
        Size::Int(n) => usize::try_from(*n).ok(),
        Size::Symbolic(_) => None,
    };
    let strides: Vec<usize> = meta.strides.iter().map(stride).collect::<Option<_>>()?;
    match complex_part(meta.dtype) {
        None => Some(strides),
        Some(_) => strides.into_iter().map(|s| s.checked_mul(2)).chain([Some(1)]).collect(),
    }
}
