//! What a reader is told, and what it finds.

use rustc_hash::FxHashMap;

use crate::arrays::Array;
use crate::ir::{Contents, Graph};

/// What a reader is told beside the file.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// Values of sizes that the file leaves open, by name.
    pub sizes: Vec<(String, usize)>,
    /// Values of inputs that the graph is read for, by name: it may hold for these only.
    pub values: FxHashMap<String, Array>,
}

impl LoadOptions {
    /// The value of an open size.
    pub(crate) fn size(&self, name: &str) -> Option<usize> {
        self.sizes.iter().find(|(n, _)| n == name).map(|(_, size)| *size)
    }
}

/// What a file holds.
pub struct Loaded {
    /// What the file computes.
    pub graph: Graph,
    /// The values of the graph's inputs, as far as the file holds them.
    pub contents: Box<dyn Contents>,
    /// What was taken for granted, one sentence each.
    pub assumptions: Vec<String>,
}
