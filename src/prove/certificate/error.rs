//! What can be wrong with a proof file.

use miette::Diagnostic;
use thiserror::Error;

use super::super::kernel::CheckError;
use crate::ops::TypeError;

/// Why a proof file is refused.
#[derive(Debug, Clone, PartialEq, Error, Diagnostic)]
pub enum CertificateError {
    #[error("this is no proof file: {0}")]
    #[diagnostic(code(certificate::no_proof), help("`magneton-ir check --proof FILE` writes one"))]
    NoProof(String),
    #[error("the proof has the format {0:?}, this program reads {expected:?}", expected = super::FORMAT)]
    #[diagnostic(code(certificate::version))]
    Version(String),
    #[error("the proof was made with other rules (fingerprint {found}, here {here})")]
    #[diagnostic(
        code(certificate::rules),
        help("give the same --rules files in the same order; another version of the program has other library rules")
    )]
    OtherRules { found: String, here: String },
    #[error("the proof uses a rule `{0}`, which there is not")]
    #[diagnostic(code(certificate::unknown_rule))]
    UnknownRule(String),
    #[error("the proof's inputs of {side} are not those of the graph: {reason}")]
    #[diagnostic(code(certificate::binding), help("the proof belongs to other graphs, or its binding was changed"))]
    Binding { side: char, reason: String },
    #[error("{what} number {number} refers to {refers}, which there is not")]
    #[diagnostic(code(certificate::reference))]
    Reference { what: &'static str, number: usize, refers: String },
    #[error("{what} number {number} makes no sense: {reason}")]
    #[diagnostic(code(certificate::nonsense))]
    Nonsense { what: &'static str, number: usize, reason: String },
    #[error("the proof does not hold: {0}")]
    #[diagnostic(code(certificate::refused))]
    Refused(#[source] CheckError),
    #[error(transparent)]
    #[diagnostic(code(certificate::graph))]
    Graph(#[from] TypeError),
}
