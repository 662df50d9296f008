//! Why measuring stops.

use std::path::PathBuf;

use miette::Diagnostic;
use thiserror::Error;

use super::meter::MeterError;
use super::run_log::RunLogError;
use crate::energy::{BackendKind, ProfileError};
#[cfg(feature = "torch")]
use crate::libtorch::LibtorchError;

/// Why a campaign stopped.
#[derive(Debug, Error, Diagnostic)]
pub enum MeasureError {
    #[cfg(feature = "torch")]
    #[error(transparent)]
    #[diagnostic(transparent)]
    Libtorch(#[from] LibtorchError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Meter(#[from] MeterError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Profile(#[from] ProfileError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    RunLog(#[from] RunLogError),
    #[error("{} was begun on card {begun}, this is card {here}", path.display())]
    #[diagnostic(
        code(measure::other_card),
        help("measure into a new file with `--known {}`, then join the two with `magneton-ir profile merge`", path.display())
    )]
    OtherCard { path: PathBuf, begun: String, here: String },
    #[error("{} was begun with version {begun} of the measuring method, this is version {here}", path.display())]
    #[diagnostic(
        code(measure::other_method),
        help("measure into a new file with `--known {}`, then join the two with `magneton-ir profile merge`", path.display())
    )]
    OtherMethod { path: PathBuf, begun: u32, here: u32 },
    #[error("{} was begun with {begun}, this is {here}", path.display())]
    #[diagnostic(
        code(measure::other_backend),
        help("measure into a new file with `--known {}`, then join the two with `magneton-ir profile merge`", path.display())
    )]
    OtherBackend { path: PathBuf, begun: BackendKind, here: BackendKind },
    #[error("{} exists and has no windows beside it, so that a run cannot go on from it", path.display())]
    #[diagnostic(code(measure::no_windows), help("measure into a new file, with `--known {}`", path.display()))]
    NoWindows { path: PathBuf },
}
