//! Tensors of libtorch: their types, and how their elements get in and out.

use tch::{Device, Kind, Tensor};

use super::replay_error::ReplayError;
use crate::ir::{DType, Number, Shape, TensorType};

type Result<T> = std::result::Result<T, ReplayError>;

/// libtorch's name of an element type. It has few operators for the wider unsigned types: a signed type that holds their
/// numbers stands for them, and a result of such a type is refused as one of another type than was wanted.
pub fn kind(dtype: DType) -> Kind {
    match dtype {
        DType::F64 => Kind::Double,
        DType::F32 => Kind::Float,
        DType::F16 => Kind::Half,
        DType::BF16 => Kind::BFloat16,
        DType::F8E4M3 => Kind::Float8e4m3fn,
        DType::F8E5M2 => Kind::Float8e5m2,
        DType::I64 | DType::U64 | DType::U32 => Kind::Int64,
        DType::I32 | DType::U16 => Kind::Int,
        DType::I16 => Kind::Int16,
        DType::I8 => Kind::Int8,
        DType::U8 => Kind::Uint8,
        DType::Bool => Kind::Bool,
    }
}

/// A tensor of type `ty` on `device` with the given elements in row-major order.
pub fn upload(ty: &TensorType, elements: &[Number], device: Device) -> Result<Tensor> {
    let sizes: Vec<i64> = ty.shape.iter().map(|&d| d as i64).collect();
    // Through i64 for integers: libtorch may refuse a float that is out of range.
    let flat = if ty.dtype.is_float() {
        let floats: Vec<f64> = elements.iter().map(|v| v.to_f64()).collect();
        Tensor::f_from_slice(&floats)?
    } else {
        let whole: Vec<i64> = elements.iter().filter_map(|v| v.to_i64()).collect();
        Tensor::f_from_slice(&whole)?
    };
    Ok(flat.f_reshape(&sizes[..])?.f_to_kind(kind(ty.dtype))?.f_to_device(device)?)
}

/// The elements of a tensor in row-major order.
pub fn elements(tensor: &Tensor) -> Result<Vec<Number>> {
    let flat = tensor.f_to_device(Device::Cpu)?.f_contiguous()?;
    let count = flat.numel();
    if type_of(tensor).is_some_and(|ty| ty.dtype.is_float()) {
        let mut elements = vec![0.0; count];
        flat.f_to_kind(Kind::Double)?.f_copy_data(&mut elements, count)?;
        return Ok(elements.into_iter().map(Number::float).collect());
    }
    let mut elements = vec![0_i64; count];
    flat.f_to_kind(Kind::Int64)?.f_copy_data(&mut elements, count)?;
    Ok(elements.into_iter().map(Number::Int).collect())
}

/// The type of a tensor; `None` for element types that this tool does not know.
pub fn type_of(tensor: &Tensor) -> Option<TensorType> {
    let dtype = DType::ALL.into_iter().find(|&d| tensor.f_kind().is_ok_and(|k| k == kind(d)))?;
    let shape: Option<Shape> = tensor.size().into_iter().map(|d| usize::try_from(d).ok()).collect();
    TensorType::new(dtype, shape?).ok()
}
