//! Data of small lifted constants, however it lies in its storage.

use std::io::{Read, Seek};
use std::path::Path;

use rustc_hash::FxHashMap;

use super::archive::Archive;
use super::dtype;
use super::program::json_error;
use super::schema::{ExportedProgram, InputSpec, Payload, PayloadConfig};
use crate::elements::elements;
use crate::frontend::LoadError;
use crate::ir::{Layout, Number, TensorType};

/// Constants with more elements than this stay inputs.
const MAX_ELEMENTS: usize = 1 << 16;

/// Elements of the constants whose data the archive holds, by name, in row-major order.
#[derive(Default)]
pub(super) struct Constants {
    data: FxHashMap<String, Vec<Number>>,
}

impl Constants {
    /// Reads the constants that `program` names, where they are small and stored as plain bytes.
    pub(super) fn read<R: Read + Seek>(
        path: &Path,
        archive: &mut Archive<R>,
        model: &str,
        program: &ExportedProgram,
    ) -> Result<Self, LoadError> {
        let mut constants = Constants::default();
        let wanted: Vec<&str> = program.graph_module.signature.input_specs.iter().filter_map(constant_name).collect();
        let Some((root, _)) = model.split_once("models/").filter(|_| !wanted.is_empty()) else {
            return Ok(constants);
        };
        if !is_little_endian(archive, root)? {
            return Ok(constants);
        }
        let member = format!("{root}data/constants/model_constants_config.json");
        if !archive.has(&member) {
            return Ok(constants);
        }
        let json = archive.read(&member)?;
        let config: PayloadConfig = serde_json::from_slice(&json).map_err(|error| json_error(path, &member, &error))?;
        for name in wanted {
            let Some(payload) = config.config.get(name) else { continue };
            if let Some(data) = read_payload(archive, root, payload)? {
                constants.data.insert(name.to_owned(), data);
            }
        }
        Ok(constants)
    }

    /// Takes constant `name` out, which becomes an input then. Gives whether there was one.
    pub(super) fn forget(&mut self, name: &str) -> bool {
        self.data.remove(name).is_some()
    }

    /// The elements of constant `name`.
    pub(super) fn get(&self, name: &str) -> Option<&[Number]> {
        self.data.get(name).map(Vec::as_slice)
    }
}

/// Whether data lies in the byte order that is read.
pub(super) fn is_little_endian<R: Read + Seek>(archive: &mut Archive<R>, root: &str) -> Result<bool, LoadError> {
    let member = format!("{root}byteorder");
    Ok(!archive.has(&member) || archive.read(&member)? == b"little")
}

fn constant_name(spec: &InputSpec) -> Option<&str> {
    match spec {
        InputSpec::TensorConstant { tensor_constant_name, .. } => Some(tensor_constant_name),
        _ => None,
    }
}

fn read_payload<R: Read + Seek>(
    archive: &mut Archive<R>,
    root: &str,
    payload: &Payload,
) -> Result<Option<Vec<Number>>, LoadError> {
    let Some(meta) = payload.tensor_meta.as_ref().filter(|_| !payload.use_pickle) else { return Ok(None) };
    // A constant that cannot be described stays an input; its use in the graph says why if that matters.
    let (Ok(ty), Some(layout)) = (dtype::tensor_type(meta), dtype::layout(meta)) else { return Ok(None) };
    let member = format!("{root}data/constants/{}", payload.path_name);
    let stored = archive.declared_size(&member).unwrap_or(0);
    // Exports from the meta device hold no data; a small part of much data is read when its values are asked for.
    let whole =
        extent(&ty, &layout).is_some_and(|bytes| bytes <= stored) && stored <= ty.bytes() as u64 * 16 + (1 << 20);
    if !whole || ty.numel() > MAX_ELEMENTS {
        return Ok(None);
    }
    let bytes = archive.read(&member)?;
    Ok(gather(&ty, &layout, &bytes).and_then(|bytes| elements(ty.dtype, &bytes)))
}

/// How many bytes from the start of its storage a tensor reaches.
pub(super) fn extent(ty: &TensorType, layout: &Layout) -> Option<u64> {
    if ty.numel() == 0 {
        return Some(0);
    }
    let steps = ty.shape.iter().zip(&layout.strides).map(|(&size, &stride)| (size - 1).checked_mul(stride));
    let last = steps.into_iter().try_fold(layout.offset, |sum, step| sum.checked_add(step?))?;
    Some(last.checked_add(1)?.checked_mul(ty.dtype.bytes())? as u64)
}

/// The elements of a tensor in row-major order, from the bytes of its storage. `None` if these are too few.
pub(super) fn gather(ty: &TensorType, layout: &Layout, storage: &[u8]) -> Option<Vec<u8>> {
    let size = ty.dtype.bytes();
    let mut bytes = Vec::with_capacity(ty.bytes());
    let mut index = vec![0_usize; ty.rank()];
    for _ in 0..ty.numel() {
        let at: usize = layout.offset + index.iter().zip(&layout.strides).map(|(i, stride)| i * stride).sum::<usize>();
        bytes.extend_from_slice(storage.get(at.checked_mul(size)?..at.checked_add(1)?.checked_mul(size)?)?);
        for (i, &size) in index.iter_mut().zip(&ty.shape).rev() {
            *i += 1;
            if *i < size {
                break;
            }
            *i = 0;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{DType, Shape};

    #[test]
    fn strides_say_where_elements_lie() {
        let ty = TensorType::new(DType::U8, Shape::from_slice(&[2, 3])).unwrap();
        let layout = |strides: [usize; 2], offset| Layout { strides: strides.into_iter().collect(), offset };
        let storage: Vec<u8> = (0..8).collect();
        let read = |layout: Layout| (extent(&ty, &layout), gather(&ty, &layout, &storage));
        assert_eq!(read(layout([3, 1], 0)), (Some(6), Some(vec![0, 1, 2, 3, 4, 5])));
        assert_eq!(read(layout([1, 2], 1)), (Some(7), Some(vec![1, 3, 5, 2, 4, 6])));
        assert_eq!(read(layout([0, 1], 4)), (Some(7), Some(vec![4, 5, 6, 4, 5, 6])));
        assert_eq!(read(layout([3, 1], 3)), (Some(9), None));
        assert_eq!(extent(&ty, &layout([usize::MAX, 1], 0)), None);
    }
}
