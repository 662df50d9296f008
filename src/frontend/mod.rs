//! Front ends: one per input format. Every format ends in [`Graph`].

mod builder;
mod einsum;
mod error;
mod kernels;
mod loaded;
mod names;
pub mod onnx;
mod origins;
pub mod pt2;
pub mod stablehlo;

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek};
use std::path::Path;

pub use error::LoadError;

use crate::ir::{Contents, Graph, NoContents, Node, NodeId, NodeKind, text};
use crate::ops::Op;
pub use loaded::{LoadOptions, Loaded};

/// The most bytes of a text file, or of a stream that is no regular file, that are read.
const MAX_TEXT_BYTES: u64 = 256 << 20;

/// The most bytes of an ONNX model, which is what protobuf allows. Larger weights lie in other files.
const MAX_MODEL_BYTES: u64 = 2 << 30;

/// What every zip archive starts with: a member, or the end record of an empty archive.
const ZIP_MAGIC: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];

/// What MLIR bytecode starts with. Files of `jax.export` hold it within.
const BYTECODE_MAGIC: &[u8] = b"ML\xefR";

const BYTECODE_HELP: &str = "print the text in Python: `open(\"model.mlir\", \"w\").write(str(jax.export.deserialize(bytearray(open(\"FILE\", \"rb\").read())).mlir_module()))` for a file of \
     `jax.export`, or `jax.jit(f).lower(...).as_text(debug_info=True)` for a function";

/// Why bytes that are no text are not read. MLIR bytecode, and the files of `jax.export` around it, are named as what they are.
fn unreadable(path: &Path, bytes: &[u8]) -> LoadError {
    let file = path.to_owned();
    // In a file of `jax.export`, the bytecode begins within the first mebibyte.
    let head = &bytes[..bytes.len().min(1 << 20)];
    if head.windows(BYTECODE_MAGIC.len()).any(|w| w == BYTECODE_MAGIC) {
        let reason = "holds MLIR bytecode, of which only the text form is read".to_owned();
        return LoadError::Archive { file, reason, help: BYTECODE_HELP.to_owned() };
    }
    let ends = std::str::from_utf8(bytes).err().map_or(0, |error| error.valid_up_to());
    match std::str::from_utf8(&bytes[..ends]) {
        Ok(before) if stablehlo::is_module(before) => LoadError::Place {
            file,
            line: before.matches('\n').count() + 1,
            column: before.rsplit('\n').next().unwrap_or("").chars().count() + 1,
            reason: "what stands here is no UTF-8".to_owned(),
            help: None,
        },
        _ => LoadError::Format { file, reason: "is neither a zip archive, an ONNX model nor text".to_owned() },
    }
}

/// Reads the operator graph in the file at `path`. The format is told from the content, not from the file's name.
///
/// # Errors
/// Unreadable files, unknown formats, and everything in the file that does not make sense; see [`LoadError`].
pub fn load(path: impl AsRef<Path>) -> Result<Graph, LoadError> {
    load_with_contents(path).map(|(graph, _)| graph)
}

/// As [`load`], together with the values of the graph's inputs, which are read when they are asked for. Nothing but
/// archives holds any.
///
/// # Errors
/// As [`load`].
pub fn load_with_contents(path: impl AsRef<Path>) -> Result<(Graph, Box<dyn Contents>), LoadError> {
    load_with(path, &LoadOptions::default()).map(|loaded| (loaded.graph, loaded.contents))
}

/// As [`load`], with all that the file holds, and with what it leaves open.
///
/// # Errors
/// As [`load`].
pub fn load_with(path: impl AsRef<Path>, options: &LoadOptions) -> Result<Loaded, LoadError> {
    let path = path.as_ref();
    let io = |source| LoadError::Io { file: path.to_owned(), source };
    let file = File::open(path).map_err(io)?;
    let metadata = file.metadata().map_err(io)?;
    if metadata.is_dir() {
        return Err(LoadError::Format { file: path.to_owned(), reason: "is a folder, not a file".to_owned() });
    }
    if metadata.is_file() {
        read(path, BufReader::new(file), options)
    } else {
        // Pipes cannot seek, archives need to.
        read(path, Cursor::new(read_limited(path, file, MAX_TEXT_BYTES)?), options)
    }
}

/// Reads the operator graph in `source`; `path` is what diagnostics call it.
///
/// # Errors
/// As [`load`].
pub fn load_from(path: &Path, source: impl Read + Seek + Send + 'static) -> Result<Graph, LoadError> {
    read(path, source, &LoadOptions::default()).map(|loaded| loaded.graph)
}

/// Whether a file is an archive, by how it starts.
pub(crate) fn is_archive(source: &mut impl Read) -> io::Result<bool> {
    let mut magic = Vec::new();
    source.take(4).read_to_end(&mut magic)?;
    Ok(ZIP_MAGIC.contains(&magic.as_slice()))
}

fn read(
    path: &Path,
    mut source: impl Read + Seek + Send + 'static,
    options: &LoadOptions,
) -> Result<Loaded, LoadError> {
    let held = |graph, contents| Loaded { graph, contents, assumptions: Vec::new() };
    let io = |source| LoadError::Io { file: path.to_owned(), source };
    let mut magic = Vec::new();
    source.by_ref().take(4).read_to_end(&mut magic).map_err(io)?;
    source.rewind().map_err(io)?;
    if ZIP_MAGIC.contains(&magic.as_slice()) {
        let (graph, weights) = pt2::read_archive(path, source)?;
        return Ok(held(graph, Box::new(weights)));
    }
    // Text starts with no control character, a model with a field number below 32.
    if magic.first().is_some_and(|&byte| byte < b' ' && !byte.is_ascii_whitespace()) {
        let bytes = read_limited(path, source, MAX_MODEL_BYTES)?;
        if onnx::is_model(&bytes) {
            return onnx::read(path, bytes, options);
        }
        return Err(unreadable(path, &bytes));
    }
    let bytes = read_limited(path, source, MAX_TEXT_BYTES)?;
    if bytes.is_empty() {
        return Err(LoadError::Format { file: path.to_owned(), reason: "is empty".to_owned() });
    }
    let Ok(text) = std::str::from_utf8(&bytes) else { return Err(unreadable(path, &bytes)) };
    // A graph taken out of its archive.
    if text.trim_start().starts_with('{') {
        return Ok(held(pt2::read_json(path, &bytes)?, Box::new(NoContents)));
    }
    if stablehlo::is_module(text) {
        return Ok(held(stablehlo::read_text(path, text)?, Box::new(NoContents)));
    }
    Ok(held(text::parse(&path.display().to_string(), text)?, Box::new(NoContents)))
}

/// Reads a binding file for two graphs; see [`text::parse_equalities`].
///
/// # Errors
/// Unreadable files, and lines that do not make sense for these graphs.
pub fn load_binding(path: &Path, a: &Graph, b: &Graph) -> Result<[Graph; 2], LoadError> {
    let file = File::open(path).map_err(|source| LoadError::Io { file: path.to_owned(), source })?;
    let Ok(source) = String::from_utf8(read_limited(path, file, MAX_TEXT_BYTES)?) else {
        return Err(LoadError::Format { file: path.to_owned(), reason: "is no text".to_owned() });
    };
    Ok(text::parse_equalities(&path.display().to_string(), &source, a, b)?)
}

fn read_limited(path: &Path, source: impl Read, limit: u64) -> Result<Vec<u8>, LoadError> {
    let mut bytes = Vec::new();
    source.take(limit + 1).read_to_end(&mut bytes).map_err(|source| LoadError::Io { file: path.to_owned(), source })?;
    if bytes.len() as u64 > limit {
        let reason = format!("is larger than {} MiB", limit >> 20);
        return Err(LoadError::Format { file: path.to_owned(), reason });
    }
    Ok(bytes)
}

/// The operators of `graph` that are not in the op table: opaque to the prover unless a rule file defines them.
pub fn custom_operators(graph: &Graph) -> impl Iterator<Item = (NodeId, &Node)> {
    graph.operators().filter(|(_, node)| matches!(&node.kind, NodeKind::Op { op: Op::Custom(_), .. }))
}
