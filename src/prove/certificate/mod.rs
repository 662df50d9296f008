//! Proof files: what `check --proof` writes and `verify-proof` replays.
//!
//! Reading trusts nothing in the file. Terms are built anew, every step is verified by the [kernel](super::kernel), and what
//! is shown is computed from the steps that verified. Like the kernel, this module uses nothing of the search.

mod error;
mod format;
mod verify;
mod version;
mod write;

pub use error::CertificateError;
pub use format::Certificate;
pub(super) use format::Claim;
pub use verify::Shown;
pub(super) use write::Contents;

#[cfg(test)]
mod tests;
