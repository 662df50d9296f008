//! Why a Python process gives no answer.

use miette::Diagnostic;
use thiserror::Error;

/// Why the process gives no answer.
#[derive(Clone, Debug, PartialEq, Error, Diagnostic)]
pub enum WorkerError {
    #[error("`{python}` does not start: {reason}")]
    #[diagnostic(code(measure::no_python), help("name a Python that has PyTorch 2.5 or later: `--python PATH`"))]
    NoPython { python: String, reason: String },
    #[error("`{python}` cannot measure: {reason}")]
    #[diagnostic(
        code(measure::no_torch),
        help("name a Python that has a CUDA build of PyTorch 2.5 or later: `--python PATH`")
    )]
    NoTorch { python: String, reason: String },
    /// A request failed, and the process goes on.
    #[error("{0}")]
    Failed(String),
    /// A request failed, and so would all others.
    #[error("the GPU does nothing more for the Python process: {0}")]
    #[diagnostic(code(measure::worker_over))]
    Over(String),
    #[error("the Python process has ended ({status}){words}")]
    #[diagnostic(code(measure::worker_ended))]
    Ended { status: String, words: String },
    #[error("the Python process gave no answer within {0} s")]
    #[diagnostic(code(measure::worker_late))]
    Late(u64),
    #[error("the Python process answers `{0}`, which is no reply")]
    #[diagnostic(code(measure::worker_reply))]
    NoReply(String),
}

impl WorkerError {
    /// Whether the process answers further requests.
    pub(super) fn goes_on(&self) -> bool {
        matches!(self, WorkerError::Failed(_))
    }
}
