//! A program as an exported program: the archive that the graph was read from, with the graph replaced.

mod argument;
mod model;
mod parts;
mod signature;

use std::io::{self, Read, Seek, Write};

use rustc_hash::FxHashMap;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::values::Values;
use super::{EmitError, Program};
use crate::frontend::pt2::{Copied, Original};
use model::Written;

/// PyTorch maps members into memory, and wants them at multiples of this.
const ALIGNMENT: u16 = 64;

/// Writes the archive `original` to `target`, with the graph of `program` in place of its own. Weights, constants, sample inputs
/// and whatever else it holds are copied. Inputs of the graph that `computed` holds become constants: gives what the archive calls them.
///
/// # Errors
/// What the schema of exported programs has no words for; archives that cannot be read or written.
pub(super) fn write<R: Read + Seek>(
    program: &Program,
    computed: &Values,
    original: &mut Original<R>,
    target: impl Write + Seek,
) -> Result<FxHashMap<String, String>, EmitError> {
    let damaged = || EmitError::archive("the archive holds a member that cannot be read");
    let Written { members, names } = model::model(program, computed, original)?;
    let mut replaced: FxHashMap<String, Vec<u8>> = members.into_iter().collect();
    let members = original.members().ok_or_else(damaged)?;
    let mut archive = ZipWriter::new(target);
    for member in &members {
        match replaced.remove(&member.name) {
            Some(bytes) => add(&mut archive, &member.name, member.deflated, &bytes)?,
            None => {
                start(&mut archive, member)?;
                let mut bytes = original.stream(member).ok_or_else(damaged)?;
                if io::copy(&mut bytes, &mut archive)? != member.size {
                    return Err(damaged());
                }
            }
        }
    }
    let mut new: Vec<_> = replaced.into_iter().collect();
    new.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    for (name, bytes) in new {
        add(&mut archive, &name, false, &bytes)?;
    }
    archive.finish().map_err(io::Error::from)?.flush()?;
    Ok(names)
}

fn start<W: Write + Seek>(archive: &mut ZipWriter<W>, member: &Copied) -> Result<(), EmitError> {
    let method = if member.deflated { CompressionMethod::Deflated } else { CompressionMethod::Stored };
    let options = SimpleFileOptions::default()
        .compression_method(method)
        .with_alignment(ALIGNMENT)
        .large_file(member.size >= u64::from(u32::MAX));
    archive.start_file(member.name.as_str(), options).map_err(io::Error::from)?;
    Ok(())
}

fn add<W: Write + Seek>(archive: &mut ZipWriter<W>, name: &str, deflated: bool, bytes: &[u8]) -> Result<(), EmitError> {
    start(archive, &Copied { name: name.to_owned(), size: bytes.len() as u64, deflated })?;
    archive.write_all(bytes)?;
    Ok(())
}
