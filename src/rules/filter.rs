//! Parts of a rule set.

use super::{Rule, RuleSet, Tier};

impl RuleSet {
    /// The rules that are at least as strong as `tier`.
    pub fn up_to(&self, tier: Tier) -> RuleSet {
        self.those(|rule| rule.tier <= tier)
    }

    /// This set without the rules of that name.
    pub fn without(&self, name: &str) -> RuleSet {
        self.those(|rule| &*rule.name != name)
    }

    fn those(&self, wanted: impl Fn(&Rule) -> bool) -> RuleSet {
        let kept = || self.rules.iter().zip(&self.places).filter(|(rule, _)| wanted(rule));
        RuleSet {
            rules: kept().map(|(rule, _)| rule.clone()).collect(),
            places: kept().map(|(_, place)| place.clone()).collect(),
            ..self.clone()
        }
    }
}
