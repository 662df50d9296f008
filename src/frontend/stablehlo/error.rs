//! Why a text is no StableHLO program that can be read.

use std::path::Path;

use super::ast::Offset;
use crate::frontend::LoadError;
use crate::frontend::builder::Refusal;

/// What is wrong, and where.
#[derive(Debug)]
pub(super) struct Error {
    pub at: Offset,
    pub reason: String,
    pub help: Option<String>,
}

impl Error {
    pub(super) fn new(at: Offset, reason: impl Into<String>) -> Self {
        Error { at, reason: reason.into(), help: None }
    }

    pub(super) fn help(self, help: impl Into<String>) -> Self {
        Error { help: Some(help.into()), ..self }
    }

    pub(super) fn refused(at: Offset, refusal: Refusal) -> Self {
        Error { at, reason: refusal.reason, help: refusal.help }
    }

    /// With the line and the column instead of the offset.
    pub(super) fn in_file(self, path: &Path, text: &str) -> LoadError {
        let before = text.get(..self.at).unwrap_or(text);
        LoadError::Place {
            file: path.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before.rsplit('\n').next().unwrap_or("").chars().count() + 1,
            reason: self.reason,
            help: self.help,
        }
    }
}
