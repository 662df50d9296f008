//! Programs written by `torch.export.save`.
//!
//! Phases, one file each: `archive` finds the members, `schema` and `argument` parse the JSON, `import` walks the
//! nodes in order, `inline` dissolves nested graphs, `convert` turns each ATen operator into operators of the table. `mutation`
//! says what operators write, `memory` what a tensor holds after a write, through `views` too; `sharing` says which tensors lie
//! in one memory. `autocast` makes its casts explicit, `nested` describes graphs that stay opaque. `weights` reads the values
//! of parameters when they are asked for, `settings` what the Python package says of the process that wrote the file.

mod archive;
mod argument;
mod autocast;
mod casts;
mod constants;
mod convert;
mod dtype;
mod foreach;
mod import;
mod inline;
mod lowering;
mod memory;
mod mutation;
mod nested;
mod original;
mod overlap;
mod program;
mod record;
#[cfg(test)]
mod recorded_strides;
mod schema;
mod scope;
mod settings;
mod sharing;
mod signature;
mod structure;
mod target;
mod unrolled;
mod views;
mod weights;

use std::io::{Read, Seek};
use std::path::Path;

use archive::Archive;
use constants::Constants;
use import::{Imported, imported};
use program::parse;

pub use original::{Copied, Original, Record, original};
pub use record::Recorded;
pub use weights::Weights;

use super::LoadError;
use crate::ir::Graph;

/// Reads the graph of an archive; the values of its inputs stay where they are until they are asked for. `path` is what
/// diagnostics call the archive.
///
/// # Errors
/// Damaged or hostile archives, JSON that is no exported program, and graphs that do not type-check.
pub fn read_archive<R: Read + Seek>(path: &Path, source: R) -> Result<(Graph, Weights<R>), LoadError> {
    let mut archive = Archive::open(path, source)?;
    let member = archive.model()?;
    let json = archive.read(&member)?;
    let program = parse(path, &member, &json)?;
    drop(json);
    let mut constants = Constants::read(path, &mut archive, &member, &program)?;
    let Imported { mut graph, stored, written, .. } = imported(path, &program, &mut constants, false)?;
    graph.settings = settings::settings(path, &mut archive, &member)?;
    graph.config = settings::math_config(&graph.settings);
    let mut weights = Weights::new(archive, &member, stored);
    if let Some((name, other)) = written.iter().find_map(|of| Some((of.name.clone(), weights.shares_memory(of)?))) {
        return Err(LoadError::Node {
            file: path.to_owned(),
            node: "outputs".to_owned(),
            target: String::new(),
            reason: format!("writes `{name}` in place, which lies in one memory with `{other}`"),
            help: Some(mutation::HELP.to_owned()),
        });
    }
    Ok((graph, weights))
}

/// Reads the JSON of an exported program without an archive around it. Constants become inputs.
///
/// # Errors
/// As [`read_archive`].
pub fn read_json(path: &Path, json: &[u8]) -> Result<Graph, LoadError> {
    let program = parse(path, "model.json", json)?;
    import::import(path, &program, &Constants::default(), false).map(|imported| imported.graph)
}
