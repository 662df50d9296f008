//! `run`: the outputs of a graph for given inputs.

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use super::answer::Answer;
use super::args::Run;
use super::names::Names;
use super::output;
use super::read::options;
use crate::arrays::{self, Array};
use crate::files;
use crate::frontend;
use crate::frontend::{LoadOptions, Loaded};
use crate::ir::DType;
use crate::run;

#[derive(Debug, thiserror::Error, miette::Diagnostic)]
enum RunError {
    #[error("cannot read {}: {source}", path.display())]
    #[diagnostic(code(cli::read_input), help("inputs are `.npy` files as `numpy.save` writes them"))]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot write {}: {source}", path.display())]
    #[diagnostic(code(cli::write_output))]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Computes the outputs and writes one file each.
pub(super) fn run(args: &Run) -> miette::Result<Answer> {
    let mut inputs: FxHashMap<String, Array> = FxHashMap::default();
    for (name, path) in &args.input {
        // NumPy keeps bf16 as raw bytes.
        let array = File::open(path).and_then(|file| arrays::read(BufReader::new(file), Some(DType::BF16)));
        inputs.insert(name.clone(), array.map_err(|source| RunError::Read { path: path.clone(), source })?);
    }
    // What shapes depend on may be an input.
    let options = LoadOptions { values: inputs.clone(), ..options(&args.sizes) };
    let Loaded { graph, mut contents, assumptions } = frontend::load_with(&args.file, &options)?;
    assumptions.iter().for_each(|text| output::note(text));
    let outputs = run::run(&graph, &mut *contents, inputs)?;
    let folder = &args.output;
    fs::create_dir_all(folder).map_err(|source| RunError::Write { path: folder.clone(), source })?;
    let mut names = Names::default();
    let mut lines = String::new();
    for (name, array) in &outputs {
        let path = folder.join(format!("{}.npy", names.take(name)));
        write(&path, array).map_err(|source| RunError::Write { path: path.clone(), source })?;
        lines.push_str(&format!("{name}: {} in {}\n", array.ty, path.display()));
    }
    output::report(&lines)?;
    Ok(Answer::Yes)
}

fn write(path: &Path, array: &Array) -> io::Result<()> {
    let mut bytes = Vec::new();
    arrays::write(&mut bytes, array)?;
    files::write(path, &bytes)
}
