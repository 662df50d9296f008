//! The rules that are part of the program, and rule files that are read next to them.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::error::{Problem, Reporter, RuleError, RuleFile};
use super::set::RuleSet;
use super::{check, load, parser};

/// The rule files that are part of the program.
const LIBRARY: &[(&str, &str)] = &[
    ("normalise.rules", include_str!("../../rules/normalise.rules")),
    ("elementwise.rules", include_str!("../../rules/elementwise.rules")),
    ("kernels.rules", include_str!("../../rules/kernels.rules")),
    ("activation.rules", include_str!("../../rules/activation.rules")),
    ("linear.rules", include_str!("../../rules/linear.rules")),
    ("norm.rules", include_str!("../../rules/norm.rules")),
    ("reduce.rules", include_str!("../../rules/reduce.rules")),
    ("attention.rules", include_str!("../../rules/attention.rules")),
    ("rotary.rules", include_str!("../../rules/rotary.rules")),
    ("sampling.rules", include_str!("../../rules/sampling.rules")),
    ("cast.rules", include_str!("../../rules/cast.rules")),
    ("lookup.rules", include_str!("../../rules/lookup.rules")),
    ("view.rules", include_str!("../../rules/view.rules")),
    ("convolution.rules", include_str!("../../rules/convolution.rules")),
    ("quantise.rules", include_str!("../../rules/quantise.rules")),
    ("spectral.rules", include_str!("../../rules/spectral.rules")),
    ("vllm.rules", include_str!("../../rules/vllm.rules")),
    ("sglang.rules", include_str!("../../rules/sglang.rules")),
    ("flashinfer.rules", include_str!("../../rules/flashinfer.rules")),
    ("triton.rules", include_str!("../../rules/triton.rules")),
    ("tensorflow.rules", include_str!("../../rules/tensorflow.rules")),
    ("stablehlo.rules", include_str!("../../rules/stablehlo.rules")),
    ("onnx.rules", include_str!("../../rules/onnx.rules")),
];

/// Rule files and what became of them.
#[derive(Clone, Debug)]
pub struct Sources {
    /// The files' rules behind others that they may use.
    pub set: RuleSet,
    /// Number of the first rule of the files.
    pub first: usize,
    /// Number of the first test of the files.
    pub first_test: usize,
    /// Why some items of the files are not in the set.
    pub problems: Vec<Problem>,
    /// In the order in which they were read.
    pub files: Vec<Arc<RuleFile>>,
}

impl RuleSet {
    /// The rules that are part of the program, loaded once per process.
    ///
    /// # Errors
    /// A damaged library, which tests rule out.
    pub fn library() -> Result<Arc<RuleSet>, RuleError> {
        static LOADED: OnceLock<Arc<RuleSet>> = OnceLock::new();
        if let Some(rules) = LOADED.get() {
            return Ok(rules.clone());
        }
        let files: Vec<_> = LIBRARY.iter().map(|(name, text)| RuleFile::new(name, text)).collect();
        let rules = Arc::new(load::load(&RuleSet::default(), &files)?);
        Ok(LOADED.get_or_init(|| rules).clone())
    }

    /// These rules and those in `files`, parsed but not tried out.
    ///
    /// ```
    /// use magneton_ir::rules::{RuleFile, RuleSet};
    ///
    /// let own = RuleFile::new("own.rules", "/// Twice its operand.\nop my.double(x) = add(x, x)");
    /// let library = RuleSet::library()?;
    /// assert!(library.with_sources(&[own])?.rules().len() > library.rules().len());
    /// # Ok::<(), magneton_ir::rules::RuleError>(())
    /// ```
    ///
    /// # Errors
    /// What is wrong with the files, each with its place.
    pub fn with_sources(&self, files: &[Arc<RuleFile>]) -> Result<RuleSet, RuleError> {
        load::load(self, files)
    }

    /// These rules and those in the files at `paths`, which have to pass [`check`].
    ///
    /// # Errors
    /// What is wrong with the files, or rules that do not hold.
    pub fn with_files(&self, paths: &[PathBuf]) -> Result<RuleSet, RuleError> {
        let set = self.with_sources(&read_files(paths)?)?;
        check::check_from(&set, self.rules.len(), check::Effort::default())?;
        Ok(set)
    }

    /// Reads the files at `paths` next to the library, whose operators they may use; without files, the library
    /// alone. A file of the library itself takes the place of its built-in form.
    ///
    /// # Errors
    /// Files that cannot be read or are no rule files.
    pub fn read(paths: &[PathBuf]) -> Result<Sources, RuleError> {
        let files = read_files(paths)?;
        let own = |name: &str| files.is_empty() || files.iter().any(|f| f.is_called(name));
        let others: Vec<_> = LIBRARY.iter().filter(|(name, _)| !own(name)).collect();
        let base: Vec<_> = others.iter().map(|(name, text)| RuleFile::new(name, text)).collect();
        let base = load::load(&RuleSet::default(), &base)?;
        let files =
            if files.is_empty() { LIBRARY.iter().map(|(n, text)| RuleFile::new(n, text)).collect() } else { files };
        let (set, problems) = load::load_good(&base, &files);
        Ok(Sources { first: base.rules.len(), first_test: base.tests.len(), set, problems, files })
    }
}

/// Reads rule files, refusing what is unreadable, too large or no text.
///
/// # Errors
/// A file that is unreadable, too large or no text.
pub fn read_files(paths: &[PathBuf]) -> Result<Vec<Arc<RuleFile>>, RuleError> {
    let mut files = Vec::new();
    let mut problems = Vec::new();
    for path in paths {
        match read_file(path) {
            Ok(file) => files.push(file),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() { Ok(files) } else { Err(RuleError { problems }) }
}

fn read_file(path: &Path) -> Result<Arc<RuleFile>, Problem> {
    let name = path.display().to_string();
    let report = Reporter { file: RuleFile::new(&name, "") };
    let unreadable =
        |e: std::io::Error| report.problem("rules::unreadable", None, format!("cannot read {name}: {e}"), "");
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    file.take(parser::MAX_FILE as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(RuleFile::new(&name, &text)),
        Err(e) => {
            let at = e.utf8_error().valid_up_to();
            Err(report.problem("rules::not_text", None, format!("{name} is no UTF-8 text: byte {at} is invalid"), ""))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_loads() {
        let set =
            RuleSet::library().map_err(|e| format!("{:?}", miette::Report::new(e))).unwrap_or_else(|e| panic!("{e}"));
        assert!(set.rules().len() > 30);
    }
}
