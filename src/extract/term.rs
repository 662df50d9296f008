//! A form of a part of a graph, as a term.

use std::sync::Arc;

use crate::prove::{Lemma, TermArena, TermId};

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
