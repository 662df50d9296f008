//! Parts of a rule set.

use std::hash::Hasher;

use rustc_hash::FxHasher;

use super::{Rule, RuleSet, Tier};

impl RuleSet {
    /// The rules that are at least as strong as `tier`.
    pub fn up_to(&self, tier: Tier) -> RuleSet {
        RuleSet { weakest: Some(tier.min(self.weakest())), ..self.those(|rule| rule.tier <= tier) }
    }

    /// The weakest tier that a step may have, be it an instance of a rule or not.
    pub fn weakest(&self) -> Tier {
        self.weakest.unwrap_or(Tier::ANY_ERROR)
    }

    /// This set without the rules of that name.
    pub fn without(&self, name: &str) -> RuleSet {
        self.those(|rule| &*rule.name != name)
    }

    fn those(&self, wanted: impl Fn(&Rule) -> bool) -> RuleSet {
        let kept = || self.rules.iter().zip(&self.places).enumerate().filter(|(_, (rule, _))| wanted(rule));
        let mut hasher = FxHasher::default();
        hasher.write_u64(self.fingerprint);
        kept().for_each(|(n, _)| hasher.write_usize(n));
        RuleSet {
            rules: kept().map(|(_, (rule, _))| rule.clone()).collect(),
            places: kept().map(|(_, (_, place))| place.clone()).collect(),
            fingerprint: if kept().count() == self.rules.len() { self.fingerprint } else { hasher.finish() },
            ..self.clone()
        }
    }
}
