//! Proving: binds inputs, sweeps both graphs, checks the proof, cuts the graphs into regions.

mod arena;
mod bind;
mod checker;
mod closure;
mod cone;
mod fingerprint;
mod language;
mod lemma;
mod math;
mod normalise;
mod refute;
mod regions;
mod show;
mod snippet;
mod sweep;
mod verdict;
mod window;

pub use arena::{Arena, Head, TermId};
pub use bind::{Binding, BoundInput, bind};
pub use checker::{CheckError, Replay};
pub use cone::{Boundary, Cone, ConeKey, cone};
pub use language::Node;
pub use lemma::{Lemma, Reason};
pub use math::math_tier;
pub use regions::{Partition, Region, RegionKind};
pub use show::{show, show_above};
pub use snippet::{as_mir, rule_between, rule_stub};
pub use sweep::{PairProof, Side, Values, raw_terms};
pub use verdict::{Proof, ProveError, Unproven, Verdict, Witness, prove};
pub use window::{Limits, Stop, Window};

#[cfg(test)]
mod tests;
