//! What can go wrong while a file is read.

use std::path::PathBuf;

use miette::Diagnostic;
use thiserror::Error;

use crate::ir::TensorType;
use crate::ir::text::MirErrors;

/// Why a file could not be loaded. Every variant names the file, and the place in it as closely as it is known.
#[derive(Debug, Error, Diagnostic)]
#[allow(missing_docs, reason = "the message of each variant says it")]
pub enum LoadError {
    #[error("{}: cannot be read", file.display())]
    #[diagnostic(code(load::io))]
    Io {
        file: PathBuf,
        #[source]
        source: std::io::Error,
    },

    #[error("{}: {reason}", file.display())]
    #[diagnostic(
        code(load::format),
        help(
            "known formats are archives written by `torch.export.save` (.pt2), ONNX models (.onnx), the text of StableHLO modules \
             (.mlir) and the text form of the IR (.mir)"
        )
    )]
    Format { file: PathBuf, reason: String },

    #[error(transparent)]
    #[diagnostic(transparent)]
    Text(#[from] MirErrors),

    #[error("{}: {reason}", file.display())]
    #[diagnostic(code(load::archive))]
    Archive {
        file: PathBuf,
        reason: String,
        #[help]
        help: String,
    },

    #[error("{}: {member}:{line}:{column}: {reason}", file.display())]
    #[diagnostic(code(load::json))]
    Json {
        file: PathBuf,
        /// The archive member that holds the text.
        member: String,
        line: usize,
        column: usize,
        reason: String,
        #[help]
        help: String,
    },

    #[error("{}: byte {offset}: {reason}", file.display())]
    #[diagnostic(code(load::wire), help("the file is cut off or damaged, or it is no ONNX model"))]
    Wire { file: PathBuf, offset: usize, reason: String },

    #[error("{}:{line}:{column}: {reason}", file.display())]
    #[diagnostic(code(load::place))]
    Place {
        file: PathBuf,
        line: usize,
        column: usize,
        reason: String,
        #[help]
        help: Option<String>,
    },

    #[error("{}: node `{node}`{}: {reason}", file.display(), calling(target))]
    #[diagnostic(code(load::node))]
    Node {
        file: PathBuf,
        node: String,
        /// The operator that the node calls; empty for inputs and outputs.
        target: String,
        reason: String,
        #[help]
        help: Option<String>,
    },

    #[error(
        "{}: node `{node}`{}: the file states that `{value}` is {stated}, its operands make it {inferred}",
        file.display(), calling(target)
    )]
    #[diagnostic(
        code(load::type_mismatch),
        help(
            "either the file is damaged or this tool's type rule for the operator is wrong; please report the latter"
        )
    )]
    TypeMismatch {
        file: PathBuf,
        node: String,
        target: String,
        /// The output whose types differ.
        value: String,
        stated: Box<TensorType>,
        inferred: Box<TensorType>,
    },
}

fn calling(target: &str) -> String {
    if target.is_empty() { String::new() } else { format!(" ({target})") }
}
