//! Tensors of the file: their types, where their elements lie, and how these are read.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

use prost::bytes::Bytes;

use super::proto::{self, entry};
use crate::elements::elements;
use crate::frontend::builder::Refusal;
use crate::ir::{DType, Number, Shape, TensorType};

/// Constants with more elements than this are not looked into.
pub(super) const MAX_KNOWN: usize = 1 << 16;

/// `data_location` of tensors whose elements lie in another file.
const EXTERNAL: i32 = 1;

/// The element type with that code, and how many bits an element has.
pub(super) fn dtype(code: i32) -> Result<(DType, u32), Refusal> {
    let (dtype, bits) = match code {
        1 => (DType::F32, 32),
        2 => (DType::U8, 8),
        3 => (DType::I8, 8),
        4 => (DType::U16, 16),
        5 => (DType::I16, 16),
        6 => (DType::I32, 32),
        7 => (DType::I64, 64),
        9 => (DType::Bool, 8),
        10 => (DType::F16, 16),
        11 => (DType::F64, 64),
        12 => (DType::U32, 32),
        13 => (DType::U64, 64),
        16 => (DType::BF16, 16),
        17 => (DType::F8E4M3, 8),
        19 => (DType::F8E5M2, 8),
        // Integers of 4 bits are held as integers of 8: nothing computes with them before they are dequantised.
        21 => (DType::U8, 4),
        22 => (DType::I8, 4),
        _ => {
            let name = match code {
                0 => return Err(Refusal::new("states no element type")),
                8 => "string",
                14 | 15 => "complex numbers",
                18 | 20 => "8-bit floats without negative zero",
                23 | 24 | 27 | 28 => "floats of a scaled block",
                25 | 26 => "2-bit integers",
                _ => return Err(Refusal::new(format!("has the unknown element type code {code}"))),
            };
            return Err(Refusal::new(format!("has the element type {name}, which is not supported")));
        }
    };
    Ok((dtype, bits))
}

/// A shape from sizes that have to be 0 or more.
pub(super) fn shape(dims: &[i64]) -> Result<Shape, Refusal> {
    let sizes: Option<Shape> = dims.iter().map(|&d| usize::try_from(d).ok()).collect();
    sizes.ok_or_else(|| Refusal::new(format!("has the shape {dims:?}")))
}

/// A type that is not too large.
pub(super) fn tensor_type(dtype: DType, shape: Shape) -> Result<TensorType, Refusal> {
    TensorType::new(dtype, shape).map_err(|e| Refusal::new(format!("is too large: {e}")))
}

/// The type of a tensor of the file.
pub(super) fn type_of(tensor: &proto::Tensor) -> Result<TensorType, Refusal> {
    let (dtype, _) = dtype(tensor.data_type.unwrap_or(0))?;
    tensor_type(dtype, shape(&tensor.dims)?)
}

/// Where the elements of a tensor lie.
pub(super) enum DataLocation {
    /// In the file itself.
    Inside,
    /// In another file, from an offset on.
    Outside { file: PathBuf, offset: u64 },
}

/// Where the elements lie. `folder` is that of the model.
///
/// # Errors
/// If the other file is named by a path that leads out of the folder.
pub(super) fn place(tensor: &proto::Tensor, folder: &Path) -> Result<DataLocation, Refusal> {
    if tensor.data_location != Some(EXTERNAL) {
        return Ok(DataLocation::Inside);
    }
    let location = entry(&tensor.external_data, "location").unwrap_or("");
    let path = Path::new(location);
    let inside =
        !location.is_empty() && path.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
    if !inside {
        return Err(Refusal::new(format!(
            "has its elements in `{location}`, which is no path below the model's folder"
        )));
    }
    let offset = entry(&tensor.external_data, "offset").map_or(Ok(0), str::parse);
    let offset = offset.map_err(|_| Refusal::new("has an offset in another file that is no number"))?;
    Ok(DataLocation::Outside { file: folder.join(path), offset })
}

/// The bytes of a tensor's elements, little-endian and one after another.
///
/// # Errors
/// If there are more or fewer than its type takes, or the file that holds them cannot be read.
pub(super) fn bytes(tensor: &proto::Tensor, ty: &TensorType, folder: &Path) -> Result<Bytes, Refusal> {
    let (_, bits) = dtype(tensor.data_type.unwrap_or(0))?;
    let wanted = if bits == 4 { ty.numel().div_ceil(2) } else { ty.bytes() };
    let given: Bytes = match place(tensor, folder)? {
        DataLocation::Outside { file, offset } => {
            let mut bytes = Vec::new();
            let read = open(&file, offset).and_then(|f| f.take(wanted as u64).read_to_end(&mut bytes));
            read.map_err(|e| missing(&file, &e))?;
            bytes.into()
        }
        DataLocation::Inside => match &tensor.raw_data {
            Some(raw) => raw.clone(),
            None => typed(tensor, ty.dtype, bits)?,
        },
    };
    if given.len() != wanted {
        let reason = format!("holds {} bytes of elements, its type {ty} takes {wanted}", given.len());
        return Err(Refusal::new(reason).help("the file is damaged"));
    }
    Ok(if bits == 4 { unpacked(&given, ty) } else { given })
}

/// The refusal for elements that lie in a file that cannot be read.
fn missing(file: &Path, error: &io::Error) -> Refusal {
    Refusal::new(format!("has its elements in `{}`, which cannot be read: {error}", file.display()))
        .help("put that file beside the model")
}

/// The file, at that offset.
pub(super) fn open(file: &Path, offset: u64) -> io::Result<File> {
    let mut file = File::open(file)?;
    file.seek(SeekFrom::Start(offset))?;
    Ok(file)
}

/// Two elements a byte, the low half first.
fn unpacked(bytes: &[u8], ty: &TensorType) -> Bytes {
    let halves = bytes.iter().flat_map(|b| [b & 0xf, b >> 4]).take(ty.numel());
    let signed = ty.dtype == DType::I8;
    halves.map(|h| if signed && h > 7 { h | 0xf0 } else { h }).collect()
}

/// The elements from the lists that hold them by kind of number.
fn typed(tensor: &proto::Tensor, dtype: DType, bits: u32) -> Result<Bytes, Refusal> {
    let ints = || tensor.int32_data.iter();
    Ok(match dtype {
        _ if bits == 4 => ints().map(|&v| v as u8).collect(),
        DType::F32 => tensor.float_data.iter().flat_map(|v| v.to_le_bytes()).collect(),
        DType::F64 => tensor.double_data.iter().flat_map(|v| v.to_le_bytes()).collect(),
        DType::I64 => tensor.int64_data.iter().flat_map(|v| v.to_le_bytes()).collect(),
        DType::U64 => tensor.uint64_data.iter().flat_map(|v| v.to_le_bytes()).collect(),
        DType::U32 => tensor.uint64_data.iter().flat_map(|&v| (v as u32).to_le_bytes()).collect(),
        DType::I32 => ints().flat_map(|v| v.to_le_bytes()).collect(),
        DType::I16 | DType::U16 | DType::F16 | DType::BF16 => ints().flat_map(|&v| (v as u16).to_le_bytes()).collect(),
        DType::I8 | DType::U8 | DType::Bool | DType::F8E4M3 | DType::F8E5M2 => ints().map(|&v| v as u8).collect(),
    })
}

/// The elements of a tensor. `None` where there are too many to look at, or one is beyond what this tool holds.
///
/// # Errors
/// As [`bytes`].
pub(super) fn known(tensor: &proto::Tensor, ty: &TensorType, folder: &Path) -> Result<Option<Vec<Number>>, Refusal> {
    if ty.numel() > MAX_KNOWN {
        return Ok(None);
    }
    Ok(elements(ty.dtype, &bytes(tensor, ty, folder)?))
}

/// The tensor with the elements that `sparse` holds, and 0 elsewhere.
///
/// # Errors
/// If positions lie outside, or it is too large to be held.
pub(super) fn dense(sparse: &proto::SparseTensor, folder: &Path) -> Result<(TensorType, Vec<Number>), Refusal> {
    let lacks = || Refusal::new("is sparse and lacks its values or their positions").help("the file is damaged");
    let (values, indices) = (sparse.values.as_ref().ok_or_else(lacks)?, sparse.indices.as_ref().ok_or_else(lacks)?);
    let (dtype, _) = dtype(values.data_type.unwrap_or(0))?;
    let ty = tensor_type(dtype, shape(&sparse.dims)?)?;
    if ty.numel() > MAX_KNOWN {
        return Err(Refusal::new(format!("is sparse and large: {ty}")));
    }
    let read = |tensor: &proto::Tensor| known(tensor, &type_of(tensor)?, folder)?.ok_or_else(lacks);
    let (numbers, places) = (read(values)?, read(indices)?);
    let zero = if dtype.is_float() { Number::float(0.0) } else { Number::ZERO };
    let mut data = vec![zero; ty.numel()];
    let rank = if indices.dims.len() == 2 { ty.rank() } else { 1 };
    let sizes: Shape = if rank == 1 && ty.rank() != 1 { Shape::from_elem(ty.numel(), 1) } else { ty.shape.clone() };
    if places.len() != numbers.len() * rank {
        return Err(lacks());
    }
    for (number, at) in numbers.iter().zip(places.chunks(rank.max(1))) {
        let flat = at.iter().zip(&sizes).try_fold(0_usize, |flat, (place, &size)| {
            let place = usize::try_from(place.to_i64()?).ok().filter(|&p| p < size)?;
            Some(flat * size + place)
        });
        let slot = flat.and_then(|flat| data.get_mut(flat)).ok_or_else(lacks)?;
        *slot = *number;
    }
    Ok((ty, data))
}
