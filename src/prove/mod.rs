//! Proving: binds inputs, sweeps both graphs, checks the proof, cuts the graphs into regions.

mod bind;
mod bound;
pub mod cached;
mod candidates;
mod certificate;
mod chain;
mod classes;
mod cone;
mod context;
mod derive;
mod fingerprint;
mod kernel;
mod language;
mod log;
mod math;
mod newest;
mod normalise;
mod pair_solver;
mod reach;
mod refute;
mod regions;
mod show;
mod snippet;
mod sweep;
mod unproven;
mod verdict;
mod view_equivalence;
mod window;

use kernel::{arena, closure, lemma};

pub use arena::{Head, TermArena, TermId};
pub use bind::{Binding, BoundInput, BoundPair, MissingConstant, bind, bind_graphs, bind_with_contents};
pub use cached::Steps;
pub use certificate::{Certificate, CertificateError, Shown};
pub use closure::Closure;
pub use cone::{Boundary, Cone, ConeKey, cone};
pub use context::Context;
pub use derive::derivation;
pub use kernel::{
    CheckError, Made, Narrow, Places, Replay, Said, Side, Values, graph_terms, grouped, has_narrow, narrow, ranges,
};
pub use language::Node;
pub use lemma::{Lemma, Reason};
pub use math::math_tier;
pub use pair_solver::{Caught, PairProof};
pub use refute::{Elements, needed_inputs};
#[cfg(feature = "torch")]
pub use refute::{RerunError, rerun_with_torch};
pub use regions::{Partition, Region, RegionKind};
pub use show::{show, show_above};
pub use snippet::{as_mir, rule_between, rule_stub};

pub use unproven::Unproven;
pub use verdict::{Proof, ProveError, Rejected, Verdict, Witness, prove, prove_bound};
pub use window::{Limits, Stop, Window, assumed};

#[cfg(test)]
mod tests;
