//! What a cheaper form reads that is computed once, before the first execution.

use serde::Serialize;

/// Tensors that are made alike of parameters and constants.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Precomputed {
    /// What the rewritten graph calls each of them.
    pub names: Vec<String>,
    /// Element type and shape of one.
    pub ty: String,
    /// Bytes of one.
    pub bytes: u64,
    /// The parameters and buffers that the first one is made of.
    pub from: Vec<String>,
    /// The operators that make it.
    pub by: Vec<String>,
}

impl Precomputed {
    /// Bytes of all of them.
    pub fn total_bytes(&self) -> u64 {
        self.bytes.saturating_mul(self.names.len() as u64)
    }
}
