//! What can be wrong with a proof file.

use miette::Diagnostic;
use thiserror::Error;

use super::super::kernel::CheckError;
use super::super::log::LogError;
use super::version::FORMAT;
use crate::ops::TypeError;

/// Why a proof file is refused.
#[derive(Debug, Clone, PartialEq, Error, Diagnostic)]
#[allow(missing_docs, reason = "the message of each variant says it")]
pub enum CertificateError {
    #[error("this is no proof file: {0}")]
    #[diagnostic(code(certificate::no_proof), help("`magneton-ir check --proof FILE` writes one"))]
    NoProof(String),
    #[error("the proof has the format {0:?}, this program reads {expected:?}", expected = FORMAT)]
    #[diagnostic(code(certificate::version))]
    Version(String),
    #[error("the proof was made with other rules (fingerprint {found}, here {here})")]
    #[diagnostic(
        code(certificate::rules),
        help("give the same --rules files in the same order; another version of the program has other library rules")
    )]
    OtherRules { found: String, here: String },
    #[error("the proof's inputs of {side} are not those of the graph: {reason}")]
    #[diagnostic(code(certificate::binding), help("the proof belongs to other graphs, or its binding was changed"))]
    Binding { side: char, reason: String },
    #[error(transparent)]
    #[diagnostic(transparent)]
    Log(#[from] LogError),
    #[error("the proof does not hold: {0}")]
    #[diagnostic(code(certificate::refused))]
    Refused(#[source] CheckError),
    #[error(transparent)]
    #[diagnostic(code(certificate::graph))]
    Graph(#[from] TypeError),
}
