//! Writing a witness as `.npz` files, which NumPy reads.

use std::fs;
use std::io::{self, Cursor};
use std::path::{Path, PathBuf};

use miette::Diagnostic;
use npyz::WriterBuilder;
use thiserror::Error;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::names::Names;
use super::output;
use crate::eval::EvalError;
use crate::files;
use crate::ir::Graph;
use crate::prove::{Binding, Witness, needed_inputs};

#[derive(Debug, Error, Diagnostic)]
pub(super) enum WitnessError {
    #[error("cannot write {}: {source}", path.display())]
    #[diagnostic(code(cli::write_witness))]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the witness could not be computed again: {0}")]
    #[diagnostic(code(cli::witness), help("this is a bug in magneton-ir"))]
    Evaluate(#[from] EvalError),
}

/// Writes `inputs.npz` and `outputs.npz` into `folder`, which is made if there is none.
pub(super) fn write(
    folder: &Path,
    [a, b]: [&Graph; 2],
    binding: &Binding,
    witness: &Witness,
) -> Result<(), WitnessError> {
    let elements = needed_inputs(a, b, binding, witness)?;
    fs::create_dir_all(folder).map_err(|source| WitnessError::Write { path: folder.to_owned(), source })?;

    let mut inputs = Archive::new(folder.join("inputs.npz"));
    for (input, elements) in binding.inputs.iter().zip(&elements) {
        let shape = &input.ty.shape;
        let name = inputs.name(&input.name);
        if elements.places.len() == input.ty.numel() {
            inputs.add(&name, shape, elements.values.iter().copied())?;
        } else {
            inputs.add(&format!("{name}.shape"), &[shape.len()], shape.iter().map(|&d| d as i64))?;
            let places = elements.places.iter().map(|&p| p as i64);
            inputs.add(&format!("{name}.places"), &[elements.places.len()], places)?;
            inputs.add(&format!("{name}.values"), &[elements.values.len()], elements.values.iter().copied())?;
        }
    }
    inputs.finish()?;

    let mut outputs = Archive::new(folder.join("outputs.npz"));
    let name = outputs.name(&witness.output);
    outputs.add(&format!("{name}.index"), &[witness.index.len()], witness.index.iter().map(|&i| i as i64))?;
    outputs.add(&format!("{name}.a"), &[], [witness.a.to_f64()])?;
    outputs.add(&format!("{name}.b"), &[], [witness.b.to_f64()])?;
    outputs.finish()
}

/// A `.npz` file: a zip archive of arrays.
struct Archive {
    path: PathBuf,
    names: Names,
    zip: ZipWriter<Cursor<Vec<u8>>>,
}

impl Archive {
    fn new(path: PathBuf) -> Self {
        Archive { path, names: Names::default(), zip: ZipWriter::new(Cursor::new(Vec::new())) }
    }

    /// The name under which what a graph calls `name` is written. Tells the user where it is another one.
    fn name(&mut self, name: &str) -> String {
        let own = self.names.take(name);
        if own != name {
            output::note(&format!("`{name}` is `{own}` in {}", self.path.display()));
        }
        own
    }

    fn add<T: npyz::AutoSerialize>(
        &mut self,
        name: &str,
        shape: &[usize],
        values: impl IntoIterator<Item = T>,
    ) -> Result<(), WitnessError> {
        let add = || -> io::Result<()> {
            let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated).large_file(true);
            self.zip.start_file(format!("{name}.npy"), options)?;
            let shape: Vec<u64> = shape.iter().map(|&d| d as u64).collect();
            let mut array = npyz::WriteOptions::new().default_dtype().shape(&shape).writer(&mut self.zip).begin_nd()?;
            array.extend(values)?;
            array.finish()
        };
        add().map_err(|source| WitnessError::Write { path: self.path.clone(), source })
    }

    fn finish(self) -> Result<(), WitnessError> {
        let path = self.path;
        let written = self.zip.finish().map_err(io::Error::from).and_then(|bytes| files::write(&path, bytes.get_ref()));
        written.map_err(|source| WitnessError::Write { path, source })
    }
}
