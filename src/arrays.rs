//! Tensors as `.npy` files, which NumPy reads and writes.

use std::io::{self, Read, Write};

use npyz::{DType as NpyType, NpyHeader, Order, TypeChar, WriterBuilder};

use crate::elements;
use crate::ir::{DType, Number, Shape, TensorType, flat_index, unflatten};

/// A tensor with its elements in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    pub ty: TensorType,
    pub data: Vec<Number>,
}

/// The most bytes of elements that are read.
const MAX_BYTES: usize = 4 << 30;

fn invalid(reason: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason.into())
}

/// The element type of a file. NumPy has no name for narrow floats of some kinds, which are kept as raw bytes: these are of the
/// type that is wanted.
fn dtype(header: &NpyHeader, wanted: Option<DType>) -> io::Result<DType> {
    let NpyType::Plain(ty) = header.dtype() else { return Err(invalid("holds records, not numbers")) };
    let unknown = || invalid(format!("holds elements of the type {ty}, which is not supported"));
    if ty.size_field() > 1 && ty.to_string().starts_with('>') {
        return Err(invalid("holds big-endian numbers"));
    }
    Ok(match (ty.type_char(), ty.size_field()) {
        (TypeChar::Bool, _) => DType::Bool,
        (TypeChar::Int, 1) => DType::I8,
        (TypeChar::Int, 2) => DType::I16,
        (TypeChar::Int, 4) => DType::I32,
        (TypeChar::Int, 8) => DType::I64,
        (TypeChar::Uint, 1) => match wanted {
            Some(wanted) if wanted.is_float() && wanted.bytes() == 1 => wanted,
            _ => DType::U8,
        },
        (TypeChar::Uint, 2) => DType::U16,
        (TypeChar::Uint, 4) => DType::U32,
        (TypeChar::Uint, 8) => DType::U64,
        (TypeChar::Float, 2) => DType::F16,
        (TypeChar::Float, 4) => DType::F32,
        (TypeChar::Float, 8) => DType::F64,
        (TypeChar::RawData, size) => wanted.filter(|w| w.is_float() && w.bytes() as u64 == size).ok_or_else(unknown)?,
        _ => return Err(unknown()),
    })
}

/// Reads a tensor. `wanted` tells narrow float types apart that NumPy keeps as raw bytes.
///
/// # Errors
/// As `source`, and for what is no array of numbers that an element type here holds.
pub fn read(mut source: impl Read, wanted: Option<DType>) -> io::Result<Array> {
    let header = NpyHeader::from_reader(&mut source)?;
    let dtype = dtype(&header, wanted)?;
    let shape: Option<Shape> = header.shape().iter().map(|&d| usize::try_from(d).ok()).collect();
    let ty =
        TensorType::new(dtype, shape.ok_or_else(|| invalid("is too large"))?).map_err(|e| invalid(e.to_string()))?;
    if ty.bytes() > MAX_BYTES {
        return Err(invalid("is too large"));
    }
    let mut bytes = Vec::new();
    source.take(ty.bytes() as u64).read_to_end(&mut bytes)?;
    if bytes.len() != ty.bytes() {
        return Err(invalid(format!("holds {} bytes of elements, {ty} takes {}", bytes.len(), ty.bytes())));
    }
    let data = elements::elements(dtype, &bytes).ok_or_else(|| invalid("holds numbers from 2^63 on"))?;
    if header.order() == Order::C || ty.rank() < 2 {
        return Ok(Array { ty, data });
    }
    let turned: Shape = ty.shape.iter().rev().copied().collect();
    let at = |flat: usize| -> Option<Number> {
        let index: Shape = unflatten(&ty.shape, flat).into_iter().rev().collect();
        data.get(flat_index(&turned, &index)).copied()
    };
    let data = (0..ty.numel()).map(at).collect::<Option<Vec<Number>>>().ok_or_else(|| invalid("is cut off"))?;
    Ok(Array { ty, data })
}

/// Writes a tensor. Floats that NumPy has no type for are written as `f32`, which holds all their values.
///
/// # Errors
/// As `target`.
pub fn write(target: impl Write, array: &Array) -> io::Result<()> {
    let shape: Vec<u64> = array.ty.shape.iter().map(|&d| d as u64).collect();
    let data = &array.data;
    let ints = || data.iter().map(|n| n.to_i64().unwrap_or(0));
    match array.ty.dtype {
        DType::F64 => written(target, &shape, data.iter().map(|n| n.to_f64())),
        d if d.is_float() => written(target, &shape, data.iter().map(|n| n.to_f64() as f32)),
        DType::I64 => written(target, &shape, ints()),
        DType::I32 => written(target, &shape, ints().map(|v| v as i32)),
        DType::I16 => written(target, &shape, ints().map(|v| v as i16)),
        DType::I8 => written(target, &shape, ints().map(|v| v as i8)),
        DType::U64 => written(target, &shape, ints().map(|v| v as u64)),
        DType::U32 => written(target, &shape, ints().map(|v| v as u32)),
        DType::U16 => written(target, &shape, ints().map(|v| v as u16)),
        DType::U8 => written(target, &shape, ints().map(|v| v as u8)),
        _ => written(target, &shape, data.iter().map(|n| n.is_true())),
    }
}

fn written<T: npyz::AutoSerialize>(
    target: impl Write,
    shape: &[u64],
    values: impl Iterator<Item = T>,
) -> io::Result<()> {
    let mut array = npyz::WriteOptions::new().default_dtype().shape(shape).writer(target).begin_nd()?;
    array.extend(values)?;
    array.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for dtype in DType::ALL {
            let ty = TensorType::new(dtype, Shape::from_slice(&[2, 3])).unwrap();
            let data: Vec<Number> = (0..6).map(|i| dtype.store(Number::Int(i % 2)).unwrap()).collect();
            let mut bytes = Vec::new();
            write(&mut bytes, &Array { ty: ty.clone(), data: data.clone() }).unwrap();
            let back = read(bytes.as_slice(), None).unwrap();
            assert_eq!((back.ty.shape.clone(), &back.data), (ty.shape.clone(), &data), "{dtype}");
            assert!(read(&bytes[..bytes.len() - 1], None).is_err());
        }
    }
}
