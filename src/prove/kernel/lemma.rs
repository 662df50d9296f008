//! Steps of a proof: each claims that two terms are equal, and says why.

use std::sync::Arc;

use super::arena::TermId;
use crate::rules::{Bindings, Rule, Tier};

/// Why the two terms of a [`Lemma`] are equal.
#[derive(Clone, Debug)]
pub enum Reason {
    /// An instance of a rule: the left side with `bindings` put in equals the right side.
    Rule { rule: Arc<Rule>, bindings: Box<Bindings<TermId>> },
    /// One part of a `split` is a `slice`.
    SplitSlice,
    /// Places are moved of the operands of an operator in place of its result.
    PushedDown,
    /// Constants that are apart by rounding, one of them computed by functions that every library rounds in its own way.
    Near,
    /// All elements are the same formulas over elements of the leaves, as equal as `tier` says.
    Elements { leaves: Box<[TermId]>, tier: Tier },
}

/// What reports call a step by [`Reason::Near`].
pub(in crate::prove) const NEAR: &str = "near_constants";

/// One step.
#[derive(Clone, Debug)]
pub struct Lemma {
    pub before: TermId,
    pub after: TermId,
    pub reason: Reason,
}

impl Lemma {
    /// How equal the two terms are.
    pub fn tier(&self) -> Tier {
        match &self.reason {
            Reason::Rule { rule, .. } => rule.tier,
            Reason::SplitSlice | Reason::PushedDown => Tier::Exact,
            Reason::Near => Tier::Rounding,
            Reason::Elements { tier, .. } => *tier,
        }
    }

    /// What reports call the step.
    pub fn name(&self) -> &str {
        match &self.reason {
            Reason::Rule { rule, .. } => &rule.name,
            Reason::SplitSlice => "split_is_slices",
            Reason::PushedDown => "pushed_down",
            Reason::Near => NEAR,
            Reason::Elements { .. } => "same_elements",
        }
    }

    /// The same step about other terms.
    pub fn map(&self, mut f: impl FnMut(TermId) -> TermId) -> Lemma {
        let reason = match &self.reason {
            Reason::Rule { rule, bindings } => {
                Reason::Rule { rule: rule.clone(), bindings: bindings.map(&mut f).into() }
            }
            Reason::Elements { leaves, tier } => {
                Reason::Elements { leaves: leaves.iter().map(|&leaf| f(leaf)).collect(), tier: *tier }
            }
            Reason::SplitSlice => Reason::SplitSlice,
            Reason::PushedDown => Reason::PushedDown,
            Reason::Near => Reason::Near,
        };
        Lemma { before: f(self.before), after: f(self.after), reason }
    }
}
