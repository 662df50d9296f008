//! A form of a part of a graph, as a term.

use std::sync::Arc;

use crate::prove::{Lemma, TermArena, TermId, show};

/// A form as a term of an arena of its own, whose input `n` stands for leaf `n`, and the proof that it equals
/// what it replaces.
#[derive(Clone)]
pub(super) struct Term {
    pub arena: Arc<TermArena>,
    /// What it replaces.
    pub replaced: TermId,
    pub root: TermId,
    pub proof: Arc<[Lemma]>,
}

impl std::fmt::Debug for Term {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text(&|n| format!("%{n}")))
    }
}

impl Term {
    /// The form written down, given what its leaves are called.
    pub(super) fn text(&self, leaf: &dyn Fn(u32) -> String) -> String {
        show(&self.arena, self.root, leaf)
    }
}
