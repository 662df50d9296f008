//! How hard to try.

/// How hard to try.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Attempts to find instances of a rule.
    pub attempts: usize,
    /// Instances that are compared.
    pub instances: usize,
    /// What draws instances; another seed, other instances.
    pub seed: u64,
}

impl Default for Effort {
    fn default() -> Self {
        Effort { attempts: 60_000, instances: 60, seed: 1 }
    }
}
