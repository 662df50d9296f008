//! Proving: binds inputs, sweeps both graphs, checks the proof, cuts the graphs into regions.

mod associative;
mod bind;
mod bound;
pub(crate) mod cached;
mod candidates;
mod certificate;
mod chain;
mod classes;
mod cone;
mod context;
mod derive;
mod difference;
mod fingerprint;
mod kernel;
mod language;
mod log;
mod math;
mod movers;
mod newest;
mod normalise;
mod pair_solver;
mod plain_form;
mod reach;
mod refute;
mod regions;
mod rewriting;
mod rolled;
mod show;
mod snippet;
mod sweep;
mod unproven;
mod verdict;
mod view_equivalence;
mod window;
mod witness;

use kernel::{arena, closure, lemma};

pub use bind::{Binding, BoundInput, BoundPair, HeldWeights, MissingConstant, bind_graphs, bind_with_contents};
pub use certificate::{Certificate, CertificateError, Shown};
pub use context::Context;
pub use derive::derivation;
pub use refute::{Elements, needed_inputs};
#[cfg(feature = "torch")]
pub use refute::{RerunError, rerun_with_torch};
pub use regions::{Partition, Region, RegionKind};
pub use unproven::Unproven;
pub use verdict::{Proof, ProveError, Rejected, prove, prove_bound};
pub use witness::{Verdict, Witness};

pub use crate::result_cache::ResultCache;

// What the search for cheaper forms, `explain` and `check` need beside.
pub(crate) use arena::{Head, TermArena, TermId};
pub(crate) use bind::{KnownMasks, bind};
pub(crate) use cached::Steps;
pub(crate) use closure::Closure;
pub(crate) use cone::{Boundary, ConeKey, cone};
pub(crate) use difference::differ;
pub(crate) use fingerprint::Samples;
pub(crate) use kernel::{
    GraphLeaves, Made, Narrow, Places, Said, Side, Values, graph_terms, grouped, has_narrow, narrow, ranges,
};
pub(crate) use language::Node;
pub(crate) use lemma::{Lemma, Reason};
pub(crate) use math::math_tier;
pub(crate) use normalise::slice_of_split;
pub(crate) use pair_solver::{PairProof, proven_equal};
pub(crate) use rewriting::{Rewritten, rewriting};
pub(crate) use rolled::{may_end_loop, rolled};
pub(crate) use show::{show, show_above};
pub(crate) use snippet::rule_between;
pub(crate) use window::{Limits, Window, assumed};

#[cfg(test)]
mod tests;
