//! Writing a witness as `.npz` files, which NumPy reads.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use miette::Diagnostic;
use npyz::WriterBuilder;
use thiserror::Error;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::eval::EvalError;
use crate::ir::Graph;
use crate::prove::{Binding, Witness, needed_inputs};

#[derive(Debug, Error, Diagnostic)]
pub enum WitnessError {
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
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        move |source| WitnessError::Write { path, source }
    };
    fs::create_dir_all(folder).map_err(failed(folder))?;

    let path = folder.join("inputs.npz");
    let inputs = || -> io::Result<()> {
        let mut file = Archive::create(&path)?;
        for (input, elements) in binding.inputs.iter().zip(&elements) {
            let (name, shape) = (&input.name, &input.ty.shape);
            if elements.places.len() == input.ty.numel() {
                file.add(name, shape, elements.values.iter().copied())?;
            } else {
                file.add(&format!("{name}.shape"), &[shape.len()], shape.iter().map(|&d| d as i64))?;
                file.add(
                    &format!("{name}.places"),
                    &[elements.places.len()],
                    elements.places.iter().map(|&p| p as i64),
                )?;
                file.add(&format!("{name}.values"), &[elements.values.len()], elements.values.iter().copied())?;
            }
        }
        file.finish()
    };
    inputs().map_err(failed(&path))?;

    let path = folder.join("outputs.npz");
    let outputs = || -> io::Result<()> {
        let mut file = Archive::create(&path)?;
        let name = &witness.output;
        file.add(&format!("{name}.index"), &[witness.index.len()], witness.index.iter().map(|&i| i as i64))?;
        file.add(&format!("{name}.a"), &[], [witness.a.to_f64()])?;
        file.add(&format!("{name}.b"), &[], [witness.b.to_f64()])?;
        file.finish()
    };
    outputs().map_err(failed(&path))
}

/// A `.npz` file: a zip archive of arrays.
struct Archive {
    zip: ZipWriter<BufWriter<File>>,
}

impl Archive {
    fn create(path: &Path) -> io::Result<Self> {
        Ok(Archive { zip: ZipWriter::new(BufWriter::new(File::create(path)?)) })
    }

    fn add<T: npyz::AutoSerialize>(
        &mut self,
        name: &str,
        shape: &[usize],
        values: impl IntoIterator<Item = T>,
    ) -> io::Result<()> {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated).large_file(true);
        self.zip.start_file(format!("{name}.npy"), options)?;
        let shape: Vec<u64> = shape.iter().map(|&d| d as u64).collect();
        let mut array = npyz::WriteOptions::new().default_dtype().shape(&shape).writer(&mut self.zip).begin_nd()?;
        array.extend(values)?;
        array.finish()
    }

    fn finish(self) -> io::Result<()> {
        self.zip.finish()?.flush()
    }
}
