//! Element types by the codes of the schema's `ScalarType`.

use super::argument::Size;
use super::schema::{STRIDED, TensorMeta};
use super::site::Refusal;
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
        9 => "complex32",
        10 => "complex64",
        11 => "complex128",
        28 => "uint16",
        31 => "float8_e4m3fnuz",
        32 => "float8_e5m2fnuz",
        _ => return Err(Refusal::new(format!("has the unknown element type code {code}"))),
    };
    let known: Vec<&str> = DType::ALL.iter().map(|d| d.name()).collect();
    Err(Refusal::new(format!("has the element type {name}, which is not supported"))
        .help(format!("supported are {}", known.join(", "))))
}

/// The type that the description states.
pub(super) fn tensor_type(meta: &TensorMeta) -> Result<TensorType, Refusal> {
    if meta.layout != STRIDED {
        return Err(Refusal::new(format!("has the sparse memory layout code {}", meta.layout))
            .help("only dense tensors are supported"));
    }
    let dtype = dtype(meta.dtype)?;
    let shape = meta.sizes.iter().map(size).collect::<Result<Shape, _>>()?;
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
    let strides = strides(meta).filter(|s| s.len() == meta.sizes.len())?;
    Some(Layout { strides: strides.into(), offset })
}

/// The strides that the description states, where they are plain numbers.
pub(super) fn strides(meta: &TensorMeta) -> Option<Vec<usize>> {
    let stride = |s: &Size| match s {
        Size::Int(n) => usize::try_from(*n).ok(),
        Size::Symbolic(_) => None,
    };
    meta.strides.iter().map(stride).collect()
}
