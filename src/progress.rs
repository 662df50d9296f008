//! How long work reports that it goes on.

/// Receives progress. Implementations must be cheap: `tick` is called for every node.
pub trait Progress: Sync {
    /// A new stage of work begins.
    fn stage(&self, name: &str);
    /// `done` of `total` steps of the stage are done.
    fn tick(&self, done: u64, total: u64);
}

/// Reports nothing.
pub struct Silent;

impl Progress for Silent {
    fn stage(&self, _: &str) {}
    fn tick(&self, _: u64, _: u64) {}
}
