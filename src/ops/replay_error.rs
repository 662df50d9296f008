//! Why an operator does not run on libtorch.

use tch::TchError;

/// Why an operator did not run.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error("libtorch: {0}")]
    Torch(#[from] TchError),
    #[error("`{0}` has no counterpart in libtorch")]
    Unknown(&'static str),
    #[error("`{0}` lacks an operand or has one of a type that libtorch does not know")]
    Operand(&'static str),
    #[error("`{0}` is not in the op table")]
    Opaque(String),
    #[error("`{0}` of NaN or infinities ends the library that libtorch calls")]
    Infinite(&'static str),
    #[error("`{0}` gave something else than {1}")]
    Type(&'static str, String),
}
