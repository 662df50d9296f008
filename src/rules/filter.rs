//! Parts of a rule set.

use super::{RuleSet, Tier};

impl RuleSet {
    /// The rules that claim at least `tier`.
    pub fn up_to(&self, tier: Tier) -> RuleSet {
        let rules = self.rules.iter().filter(|r| r.tier <= tier).cloned().collect();
        RuleSet { rules, ..self.clone() }
    }
}
