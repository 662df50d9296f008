//! An archive that is to be written again, with what it says beyond its graph.

use std::io::{Read, Seek};
use std::path::Path;
use std::sync::Arc;

use super::archive::Archive;
use super::argument::Argument;
use super::constants::Constants;
use super::dtype::complex_part;
use super::import::imported;
use super::program::{json_error, parse};
use super::record::Recorded;
use crate::frontend::LoadError;
use crate::ir::Graph;

/// What a file says beyond its graph.
pub struct Record {
    /// The graph as it was read.
    pub graph: Graph,
    /// What the graph calls its inputs and constants, and what the file's graph calls them.
    pub placeholders: Vec<(Arc<str>, String)>,
    /// In the order of the file.
    pub calls: Vec<Recorded>,
    /// The first input or output that holds complex numbers, which are pairs in the graph.
    pub complex: Option<String>,
}

/// An archive that is to be written again.
pub struct Original<R> {
    /// What its operators were.
    pub record: Record,
    /// The member that holds the graph, and its contents.
    pub member: String,
    /// The program as it stands in the archive.
    pub json: serde_json::Value,
    archive: Archive<R>,
}

/// A member of an archive as it is copied.
pub struct Copied {
    /// Its name in the archive.
    pub name: String,
    /// Bytes unpacked.
    pub size: u64,
    /// Whether it is compressed.
    pub deflated: bool,
}

/// Reads an archive together with what is needed to write it again.
///
/// # Errors
/// As [`read_archive`](super::read_archive).
pub fn original<R: Read + Seek>(path: &Path, source: R) -> Result<Original<R>, LoadError> {
    let mut archive = Archive::open(path, source)?;
    let member = archive.model()?;
    let json = archive.read(&member)?;
    let program = parse(path, &member, &json)?;
    let mut constants = Constants::read(path, &mut archive, &member, &program)?;
    let read = imported(path, &program, &mut constants, true)?;
    let module = &program.graph_module.graph;
    let is_complex = |name: &&str| module.tensor_values.get(*name).is_some_and(|m| complex_part(m.dtype).is_some());
    let complex = module.inputs.iter().chain(&module.outputs).flat_map(Argument::tensors).find(is_complex);
    let complex = complex.map(str::to_owned);
    let record = Record { graph: read.graph, placeholders: read.placeholders, calls: read.calls, complex };
    let json = serde_json::from_slice(&json).map_err(|error| json_error(path, &member, &error))?;
    Ok(Original { record, member, json, archive })
}

impl<R: Read + Seek> Original<R> {
    /// The members, in the order of the archive; none if one of them is packed as only hostile archives are.
    pub fn members(&mut self) -> Option<Vec<Copied>> {
        let names = self.archive.names();
        let copied = |name: String| {
            let size = self.archive.member(&name)?.size;
            let deflated = self.archive.packing(&name)? != zip::CompressionMethod::Stored;
            Some(Copied { name, size, deflated })
        };
        names.into_iter().map(copied).collect()
    }

    /// The bytes of a member, at most as many as it declares.
    pub fn stream(&mut self, member: &Copied) -> Option<impl Read> {
        Some(self.archive.stream(&member.name)?.take(member.size))
    }

    /// Whether the archive has a member of that name.
    pub fn has(&self, name: &str) -> bool {
        self.archive.has(name)
    }

    /// All bytes of a small member; none if there is no such.
    pub fn read(&mut self, name: &str) -> Option<Result<Vec<u8>, LoadError>> {
        self.archive.has(name).then(|| self.archive.read(name))
    }
}
