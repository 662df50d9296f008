//! Writing a witness as `.npz` files, which NumPy reads.

use std::fs;
use std::io::{self, Cursor};
use std::path::{Path, PathBuf};

use miette::Diagnostic;
use npyz::WriterBuilder;
use rustc_hash::FxHashSet;
use thiserror::Error;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::output;
use crate::eval::EvalError;
use crate::files;
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

/// The longest name of a member.
const LONGEST_NAME: usize = 100;

/// Names of an archive's members: each is the name of a file in one folder on every system, and no two are the same anywhere.
#[derive(Default)]
struct Names {
    /// In lower case: some systems do not tell the cases apart.
    taken: FxHashSet<String>,
}

impl Names {
    /// What is added to a name where several arrays make up one value.
    const PARTS: [&str; 7] = ["", ".shape", ".places", ".values", ".index", ".a", ".b"];

    /// A name for what a graph calls `name`: the same where that is safe and free.
    fn take(&mut self, name: &str) -> String {
        let plain = plain(name);
        let numbered = (2..).map(|n| format!("{plain}_{n}"));
        let all = |own: &str| Self::PARTS.map(|part| format!("{own}{part}").to_lowercase());
        let free = |own: &String| !all(own).iter().any(|part| self.taken.contains(part));
        let own = std::iter::once(plain.clone()).chain(numbered).find(free).unwrap_or(plain);
        self.taken.extend(all(&own));
        own
    }
}

/// The name with nothing in it that leads out of a folder or that some system refuses.
fn plain(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "_-.".contains(c) { c } else { '_' };
    let mut plain: String = name.chars().take(LONGEST_NAME).map(safe).collect();
    let first = plain.split('.').next().unwrap_or("").to_ascii_uppercase();
    let numbered = |device: &str| first.strip_prefix(device).is_some_and(|n| n.len() == 1 && n != "0");
    let reserved = ["CON", "PRN", "AUX", "NUL"].contains(&&*first) || numbered("COM") || numbered("LPT");
    if reserved || plain.is_empty() || plain.starts_with(['.', '-']) {
        plain.insert(0, '_');
    }
    if plain.ends_with('.') {
        plain.push('_');
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(all: &[&str]) -> Vec<String> {
        let mut names = Names::default();
        all.iter().map(|name| names.take(name)).collect()
    }

    #[test]
    fn names_that_are_safe_stay() {
        assert_eq!(names(&["x", "p_layer.0.weight", "b-1"]), ["x", "p_layer.0.weight", "b-1"]);
    }

    #[test]
    fn names_lead_nowhere_and_suit_every_system() {
        let long = "n".repeat(5000);
        let hostile =
            ["../up", "/etc/x", "a\\b", "..", "", "nul", "Com1.txt", "a:b", "\u{1b}[31m", "é", "-f", "dot.", &long];
        for name in names(&hostile) {
            assert!(!name.is_empty() && name.len() <= LONGEST_NAME + 2, "{name}");
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c)), "{name}");
            assert!(!name.starts_with(['.', '-']) && !name.ends_with('.'), "{name}");
        }
        assert_eq!(names(&["nul", "Com1.txt", ".."]), ["_nul", "_Com1.txt", "_.._"]);
    }

    #[test]
    fn no_two_names_are_the_same_and_no_name_is_a_part_of_another_value() {
        let all = ["x", "X", "a/b", "a_b", "a_b_2", "w", "w.shape", "y.values", "y", "", "_"];
        let taken = names(&all);
        let mut members: Vec<String> =
            taken.iter().flat_map(|n| Names::PARTS.map(|part| format!("{n}{part}").to_lowercase())).collect();
        let count = members.len();
        members.sort();
        members.dedup();
        assert_eq!(members.len(), count, "{taken:?}");
        assert_eq!(taken[0], "x");
    }
}
