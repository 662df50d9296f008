//! Types as MLIR writes them.

use smallvec::SmallVec;

use crate::ir::{DType, TensorType};

/// The type of a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Type<'s> {
    Tensor(TensorType),
    /// Of complex numbers: the type of each part.
    Complex(TensorType),
    /// A type that the IR lacks: tokens, tuples, quantised elements, sizes that are not known.
    Foreign(&'s str),
}

impl Type<'_> {
    pub(super) fn tensor(&self) -> Option<&TensorType> {
        match self {
            Type::Tensor(ty) => Some(ty),
            Type::Complex(_) | Type::Foreign(_) => None,
        }
    }
}

/// Reads a type such as `tensor<2x3xf32>`.
pub(super) fn read(text: &str) -> Type<'_> {
    tensor(text).unwrap_or(Type::Foreign(text))
}

fn tensor(text: &str) -> Option<Type<'_>> {
    let (sizes, element) = parts(text)?;
    let part = element.strip_prefix("complex<").and_then(|e| e.strip_suffix('>'));
    let ty = TensorType::new(dtype(part.unwrap_or(element))?, sizes).ok()?;
    match part {
        None => Some(Type::Tensor(ty)),
        Some(_) => matches!(ty.dtype, DType::F32 | DType::F64).then_some(Type::Complex(ty)),
    }
}

/// The sizes and the element type of `tensor<2x3xf32>`. A size that is not known, and any text that is no tensor type, gives
/// `None`.
pub(super) fn parts(text: &str) -> Option<(SmallVec<[usize; 4]>, &str)> {
    let mut rest = text.strip_prefix("tensor<")?.strip_suffix('>')?.trim();
    let mut sizes = SmallVec::new();
    while rest.starts_with(|c: char| c.is_ascii_digit()) {
        let (size, behind) = rest.split_once('x')?;
        sizes.push(size.parse().ok()?);
        rest = behind;
    }
    // Behind a comma stands an encoding, which changes no element.
    Some((sizes, rest.split(',').next()?.trim()))
}

/// The element type that MLIR calls `name`.
pub(super) fn dtype(name: &str) -> Option<DType> {
    Some(match name {
        "f64" => DType::F64,
        "f32" => DType::F32,
        "f16" => DType::F16,
        "bf16" => DType::BF16,
        "f8E4M3FN" => DType::F8E4M3,
        "f8E5M2" => DType::F8E5M2,
        "i64" | "si64" => DType::I64,
        "i32" | "si32" => DType::I32,
        "i16" | "si16" => DType::I16,
        "i8" | "si8" => DType::I8,
        "ui64" => DType::U64,
        "ui32" => DType::U32,
        "ui16" => DType::U16,
        "ui8" => DType::U8,
        "i1" => DType::Bool,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn tensors_have_sizes_and_an_element_type() {
        let read = |text| super::read(text).tensor().map(ToString::to_string);
        assert_eq!(read("tensor<2x3xf32>").as_deref(), Some("f32[2, 3]"));
        assert_eq!(read("tensor<i1>").as_deref(), Some("bool[]"));
        assert_eq!(read("tensor<4xbf16, #stablehlo.bounds<?>>").as_deref(), Some("bf16[4]"));
        for foreign in
            ["tensor<?xf32>", "tensor<2xcomplex<i32>>", "tensor<99999999999999999999xf32>", "!stablehlo.token"]
        {
            assert_eq!(read(foreign), None, "{foreign}");
        }
    }
}
