//! Published cases of wasted energy: folders with two or more workloads and a `case.toml` that says what comparing them comes to.

mod page;
mod result;

use std::path::{Path, PathBuf};

use miette::{Diagnostic, NamedSource, SourceSpan};
use serde::Deserialize;
use thiserror::Error;

pub use page::{list, page, table};
pub use result::{CaseResult, FoundCause, run};

/// A published case, and what comparing its sides has to give.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The number of the published table; the folder has its name.
    pub id: String,
    /// The project and the number of the issue.
    pub name: String,
    /// The system that it was found in.
    pub system: String,
    /// The kind of mistake, as it was published.
    pub kind: String,
    /// Whether it is judged here.
    pub status: Status,
    /// What happens on either side.
    pub facts: String,
    /// Why the case is open.
    pub reason: Option<String>,
    /// The published figure.
    pub paper: Option<Paper>,
    /// Why the figures here differ from the published one.
    pub differs: Option<String>,
    /// Comparisons, the one that stands for the case first.
    #[serde(default)]
    pub pair: Vec<Pair>,
    /// Where its files are.
    #[serde(skip)]
    pub folder: PathBuf,
}

/// Whether a case is judged.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It is.
    Closed,
    /// Two operator graphs do not show what differs.
    Open,
}

/// A published figure.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// A fraction of what `of` says.
    pub saving: f64,
    /// The whole that the saving is a part of.
    pub of: String,
}

/// Two workloads, and what comparing them has to give.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    /// The file of the first workload.
    pub a: String,
    /// The file of the second one.
    pub b: String,
    /// `equivalent`, `different` or `unknown`.
    pub verdict: String,
    /// The weakest tier of the proof.
    pub tier: Option<String>,
    /// The error of the outputs that is accepted, `inf` for one of each step; without one, none beyond rounding.
    pub error: Option<f64>,
    /// The side that costs less by its work counts, where they decide.
    pub cheaper: Option<String>,
    /// The kind of the cause of the region that sets the energies apart most.
    pub cause: Option<String>,
    /// A text that this cause names: an operator, a tensor or a flag.
    pub names: Option<String>,
    /// A text that some assumption of the report contains.
    pub assumes: Option<String>,
}

/// Why cases cannot be read or compared.
#[derive(Debug, Error, Diagnostic)]
pub enum CorpusError {
    /// The folder of all cases.
    #[error("cannot list {}: {source}", folder.display())]
    #[diagnostic(code(corpus::folder), help("give the folder that holds one folder for each case: --folder DIR"))]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// A `case.toml` that cannot be opened.
    #[error("cannot read {}: {source}", file.display())]
    #[diagnostic(code(corpus::read))]
    Read {
        /// The file.
        file: PathBuf,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// A `case.toml` that says no case.
    #[error("{message}")]
    #[diagnostic(code(corpus::case))]
    Malformed {
        /// What is wrong.
        message: String,
        /// The file.
        #[source_code]
        text: NamedSource<String>,
        /// Where.
        #[label]
        at: Option<SourceSpan>,
    },
    /// A folder without a case.
    #[error("{} holds no case", folder.display())]
    #[diagnostic(code(corpus::empty), help("a case is a folder with a file `case.toml`"))]
    Empty {
        /// The folder.
        folder: PathBuf,
    },
    /// Two graphs that cannot be compared.
    #[error("case {id}: {a} and {b} cannot be compared")]
    #[diagnostic(code(corpus::compare))]
    Compare {
        /// The case.
        id: String,
        /// The first file.
        a: String,
        /// The second file.
        b: String,
        /// Why.
        #[source]
        #[diagnostic_source]
        source: crate::prove::ProveError,
    },
}

/// The cases in the folders of `folder`, in the order of their numbers.
///
/// # Errors
/// A folder or a file that cannot be read, and one that says no case.
pub fn read(folder: &Path) -> Result<Vec<Case>, CorpusError> {
    let failed = |source| CorpusError::Folder { folder: folder.to_owned(), source };
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let folder = entry.map_err(failed)?.path();
        let file = folder.join("case.toml");
        if file.is_file() {
            cases.push(read_case(folder, &file)?);
        }
    }
    if cases.is_empty() {
        return Err(CorpusError::Empty { folder: folder.to_owned() });
    }
    cases.sort_by_key(|case| {
        let digits = case.id.trim_start_matches(|c: char| !c.is_ascii_digit());
        let prefix = case.id.len() - digits.len();
        (case.id.get(..prefix).unwrap_or_default().to_owned(), digits.parse::<u64>().ok(), case.id.clone())
    });
    Ok(cases)
}

fn read_case(folder: PathBuf, file: &Path) -> Result<Case, CorpusError> {
    let text = std::fs::read_to_string(file).map_err(|source| CorpusError::Read { file: file.to_owned(), source })?;
    let mut case: Case = toml::from_str(&text).map_err(|error| CorpusError::Malformed {
        message: error.message().to_owned(),
        at: error.span().map(SourceSpan::from),
        text: NamedSource::new(file.display().to_string(), text.clone()),
    })?;
    case.folder = folder;
    Ok(case)
}
