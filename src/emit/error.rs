//! Why a graph cannot be written as a program.

use std::io;
use std::path::PathBuf;

use miette::Diagnostic;

use crate::frontend::LoadError;
use crate::ir::Node;
use crate::prove::ProveError;

/// Why a graph cannot be written as a program of PyTorch.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub enum EmitError {
    #[error("`{node}` cannot be written as a call of PyTorch: `{op}` {reason}")]
    #[diagnostic(code(emit::operator))]
    Operator {
        node: String,
        op: String,
        reason: String,
        #[help]
        place: Option<String>,
    },
    #[error("the output `{output}` cannot be written: {reason}")]
    #[diagnostic(code(emit::output))]
    Output { output: String, reason: String },
    #[error("`{name}` holds complex numbers, which a program that is written would take for pairs of real ones")]
    #[diagnostic(code(emit::complex), help("write a `.mir` file: `-o FILE.mir`"))]
    Complex { name: String },
    #[error("{reason}, so no exported program can be written from it")]
    #[diagnostic(code(emit::archive), help("write a `.py` or a `.mir` file: `-o FILE.py`"))]
    Archive { reason: String },
    #[error("cannot write {}: its name says no format", path.display())]
    #[diagnostic(code(emit::format), help("the name ends in `.mir`, `.py` or `.pt2`"))]
    Format { path: PathBuf },
    #[error("cannot write {}: {source}", path.display())]
    #[diagnostic(code(emit::write))]
    Write { path: PathBuf, source: io::Error },
    #[error("nothing is written: {reason}")]
    #[diagnostic(
        code(emit::unproven),
        help("what is written is proven to be equivalent to the workload first; this proof did not succeed")
    )]
    Unproven {
        reason: String,
        /// The first nodes of the graph that are not proven.
        nodes: Vec<String>,
    },
    #[error("`{name}`, which is to be computed once, has no known values: {reason}")]
    #[diagnostic(
        code(emit::values),
        help("write a `.py` file, which computes it: `-o FILE.py`; or leave it out: `--frozen no`")
    )]
    Values { name: String, reason: String },
    #[error(transparent)]
    #[diagnostic(transparent)]
    Prove(#[from] ProveError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Load(#[from] LoadError),
    #[error("the archive cannot be copied: {0}")]
    #[diagnostic(code(emit::copy))]
    Copy(#[from] io::Error),
}

impl EmitError {
    /// That `node` has no call.
    pub(super) fn operator(node: &Node, op: &str, reason: impl Into<String>) -> Self {
        let place = node.origin.line().map(|frame| format!("it comes from {frame}"));
        EmitError::Operator { node: node.name.to_string(), op: op.to_owned(), reason: reason.into(), place }
    }

    pub(super) fn archive(reason: impl Into<String>) -> Self {
        EmitError::Archive { reason: reason.into() }
    }
}
