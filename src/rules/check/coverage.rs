//! What the instances of a rule covered.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::instance::Instance;
use crate::ir::DType;
use crate::rules::rule::Rule;
use crate::rules::terms::Terms;
use crate::rules::tier::Tier;

/// The instances of one rule that were compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// Those whose result has elements.
    pub instances: usize,
    /// Those in which a dim is empty.
    pub empty: usize,
    /// Ranks, element types and sizes of dims of the operands.
    pub ranks: BTreeSet<usize>,
    pub dtypes: BTreeSet<DType>,
    pub sizes: BTreeSet<usize>,
}

/// What was tried of a rule, all its directions together.
#[derive(Clone, Debug, PartialEq)]
pub struct Coverage {
    /// The name of the rule.
    pub name: Arc<str>,
    /// The file of the rule, without its ending.
    pub family: Arc<str>,
    /// How equal both sides are.
    pub tier: Tier,
    /// What was tried.
    pub seen: Seen,
}

impl Seen {
    pub(super) fn count(&mut self, instance: &Instance) {
        self.instances += usize::from(instance.arena.ty(instance.lhs).numel() > 0);
        self.empty += usize::from(instance.leaves().any(|id| instance.arena.ty(id).shape.contains(&0)));
        for id in instance.leaves() {
            let ty = instance.arena.ty(id);
            self.ranks.insert(ty.rank());
            self.dtypes.insert(ty.dtype);
            self.sizes.extend(ty.shape.iter().copied());
        }
    }
}

/// Adds what was tried of one direction.
pub(super) fn add(all: &mut Vec<Coverage>, rule: &Rule, seen: Seen) {
    if let Some(known) = all.iter_mut().rev().find(|c| c.name == rule.name) {
        known.seen.instances += seen.instances;
        known.seen.empty += seen.empty;
        known.seen.ranks.extend(seen.ranks);
        known.seen.dtypes.extend(seen.dtypes);
        known.seen.sizes.extend(seen.sizes);
    } else {
        all.push(Coverage { name: rule.name.clone(), family: rule.family.clone(), tier: rule.tier, seen });
    }
}
