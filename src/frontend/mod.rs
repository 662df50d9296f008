//! Front ends: one per input format. Every format ends in [`Graph`].

mod error;
pub mod pt2;

use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek};
use std::path::Path;

pub use error::LoadError;

use crate::ir::{Contents, Graph, NoContents, Node, NodeId, NodeKind, text};
use crate::ops::Op;

/// The most bytes of a text file, or of a stream that is no regular file, that are read.
const MAX_TEXT_BYTES: u64 = 256 << 20;

/// What every zip archive starts with: a member, or the end record of an empty archive.
const ZIP_MAGIC: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];

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
    let path = path.as_ref();
    let io = |source| LoadError::Io { file: path.to_owned(), source };
    let file = File::open(path).map_err(io)?;
    let metadata = file.metadata().map_err(io)?;
    if metadata.is_dir() {
        return Err(LoadError::Format { file: path.to_owned(), reason: "is a folder, not a file".to_owned() });
    }
    if metadata.is_file() {
        read(path, BufReader::new(file))
    } else {
        // Pipes cannot seek, archives need to.
        read(path, Cursor::new(read_limited(path, file)?))
    }
}

/// Reads the operator graph in `source`; `path` is what diagnostics call it.
///
/// # Errors
/// As [`load`].
pub fn load_from(path: &Path, source: impl Read + Seek + Send + 'static) -> Result<Graph, LoadError> {
    read(path, source).map(|(graph, _)| graph)
}

fn read(path: &Path, mut source: impl Read + Seek + Send + 'static) -> Result<(Graph, Box<dyn Contents>), LoadError> {
    let io = |source| LoadError::Io { file: path.to_owned(), source };
    let mut magic = Vec::new();
    source.by_ref().take(4).read_to_end(&mut magic).map_err(io)?;
    source.rewind().map_err(io)?;
    if ZIP_MAGIC.contains(&magic.as_slice()) {
        let (graph, weights) = pt2::read_archive(path, source)?;
        return Ok((graph, Box::new(weights)));
    }
    let bytes = read_limited(path, source)?;
    if bytes.is_empty() {
        return Err(LoadError::Format { file: path.to_owned(), reason: "is empty".to_owned() });
    }
    let Ok(text) = std::str::from_utf8(&bytes) else {
        let reason = "is neither a zip archive nor text".to_owned();
        return Err(LoadError::Format { file: path.to_owned(), reason });
    };
    // A graph taken out of its archive.
    if text.trim_start().starts_with('{') {
        return Ok((pt2::read_json(path, &bytes)?, Box::new(NoContents)));
    }
    Ok((text::parse(&path.display().to_string(), text)?, Box::new(NoContents)))
}

/// Reads a binding file for two graphs; see [`text::parse_equalities`].
///
/// # Errors
/// Unreadable files, and lines that do not make sense for these graphs.
pub fn load_binding(path: &Path, a: &Graph, b: &Graph) -> Result<[Graph; 2], LoadError> {
    let file = File::open(path).map_err(|source| LoadError::Io { file: path.to_owned(), source })?;
    let Ok(source) = String::from_utf8(read_limited(path, file)?) else {
        return Err(LoadError::Format { file: path.to_owned(), reason: "is no text".to_owned() });
    };
    Ok(text::parse_equalities(&path.display().to_string(), &source, a, b)?)
}

fn read_limited(path: &Path, source: impl Read) -> Result<Vec<u8>, LoadError> {
    let mut bytes = Vec::new();
    source
        .take(MAX_TEXT_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| LoadError::Io { file: path.to_owned(), source })?;
    if bytes.len() as u64 > MAX_TEXT_BYTES {
        let reason = format!("is larger than {} MiB", MAX_TEXT_BYTES >> 20);
        return Err(LoadError::Format { file: path.to_owned(), reason });
    }
    Ok(bytes)
}

/// The operators of `graph` that are not in the op table: opaque to the prover unless a rule file defines them.
pub fn custom_operators(graph: &Graph) -> impl Iterator<Item = (NodeId, &Node)> {
    graph.operators().filter(|(_, node)| matches!(&node.kind, NodeKind::Op { op: Op::Custom(_), .. }))
}
