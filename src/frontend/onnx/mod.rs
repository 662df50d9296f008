//! ONNX models.
//!
//! Phases, one file each: `wire` checks the bytes before anything is allocated, `proto` holds the messages, `import` walks the
//! nodes in order, `operators` turns each into operators of the table. `scope` says what names stand for, `held` what a name can
//! stand for: a tensor of the graph, a constant, a sequence. `constant` computes what depends on constants only, `control` writes
//! out functions and control flow, `opaque` keeps what nothing covers. `tensor` reads elements, `contents` hands those of
//! weights out when they are asked for.

mod constant;
mod contents;
mod control;
mod held;
mod import;
mod lowering;
mod opaque;
mod operators;
mod proto;
mod scope;
mod tensor;
mod wire;

use std::path::Path;

use prost::Message;
use prost::bytes::Bytes;

use super::LoadError;
use super::loaded::{LoadOptions, Loaded};
use contents::Initializers;

use crate::ir::DType;

/// Whether the bytes look like a model of this format, whole or cut off.
pub(super) fn is_model(bytes: &[u8]) -> bool {
    wire::is_model(bytes)
}

/// The inputs of the model at `path` that are no initializers, in order, with their element types as far as they are known.
///
/// # Errors
/// Unreadable and damaged files.
pub fn inputs(path: &Path) -> Result<Vec<(String, Option<DType>)>, LoadError> {
    let bytes = std::fs::read(path).map_err(|source| LoadError::Io { file: path.to_owned(), source })?;
    let damaged = |offset, reason| LoadError::Wire { file: path.to_owned(), offset, reason };
    wire::check(&bytes).map_err(|damage| damaged(damage.offset, damage.reason))?;
    let model = proto::Model::decode(bytes.as_slice()).map_err(|error| damaged(bytes.len(), error.to_string()))?;
    let graph = model.graph.unwrap_or_default();
    let own = |name: &str| graph.initializer.iter().all(|t| t.name.as_deref() != Some(name));
    let dtype = |info: &proto::ValueInfo| match info.r#type.as_ref()?.value.as_ref()? {
        proto::TypeValue::Tensor(ty) => Some(tensor::dtype(ty.elem_type?).ok()?.0),
        _ => None,
    };
    let named = graph.input.iter().map(|info| (info.name.clone().unwrap_or_default(), dtype(info)));
    Ok(named.filter(|(name, _)| own(name)).collect())
}

/// The operators that are covered, each with its domain unless it is the standard's own, and the versions that define it.
pub fn operators() -> impl Iterator<Item = (String, Vec<i64>)> {
    operators::all().map(|operator| {
        let name = match operator.domain {
            "" => operator.name.to_owned(),
            domain => format!("{domain}.{}", operator.name),
        };
        (name, operator.versions.to_vec())
    })
}

/// Reads the graph of a model; the values of its weights are read when they are asked for. `path` is what diagnostics call the
/// model, and external data lies beside it.
///
/// # Errors
/// Damaged or hostile files, and graphs that do not type-check.
pub fn read(path: &Path, bytes: Vec<u8>, options: &LoadOptions) -> Result<Loaded, LoadError> {
    let damaged = |offset, reason| LoadError::Wire { file: path.to_owned(), offset, reason };
    wire::check(&bytes).map_err(|damage| damaged(damage.offset, damage.reason))?;
    let bytes = Bytes::from(bytes);
    let model = proto::Model::decode(bytes.clone()).map_err(|error| damaged(bytes.len(), error.to_string()))?;
    let imported = import::import(path, &model, options)?;
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let contents = Initializers { folder, tensors: imported.initializers };
    Ok(Loaded { graph: imported.graph, contents: Box::new(contents), assumptions: imported.assumptions })
}
