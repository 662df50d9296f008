//! What a comparison runs under.

use crate::progress::{Progress, Silent};
use crate::result_cache::ResultCache;
use crate::rules::RuleSet;

/// Everything that a comparison is given besides the graphs.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// What may be used.
    pub rules: &'a RuleSet,
    /// Chooses the inputs on which a difference is looked for.
    pub seed: u64,
    /// What earlier runs came to.
    pub cache: Option<&'a dyn ResultCache>,
    /// Told how far the work is.
    pub progress: &'a dyn Progress,
}

impl<'a> Context<'a> {
    /// With seed 0, remembering and reporting nothing.
    pub fn under(rules: &'a RuleSet) -> Context<'a> {
        Context { rules, seed: 0, cache: None, progress: &Silent }
    }
}
