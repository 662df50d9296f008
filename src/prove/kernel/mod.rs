//! What a verdict rests on: terms, congruence closure, and the replay of a lemma log.
//!
//! Nothing here uses egg or any part of the search (sweep, normaliser, windows, fingerprints); a test keeps it so.

pub(super) mod arena;
mod assumption;
pub(super) mod closure;
mod draws;
mod elements;
mod graph;
mod instances;
mod known;
pub(super) mod lemma;
mod limits;
mod near;
mod outputs;
mod pushdown;
mod range;
mod replay;

pub(crate) use arena::Side;
pub(crate) use assumption::{Made, Places, Said, grouped, ranges};
pub(super) use draws::{chance_assumptions, is_drawn};
pub(super) use elements::{ELEMENTS, Leaves, same_elements};
pub(crate) use graph::{GraphLeaves, Values, graph_terms};
pub(super) use graph::{literal_leaf, raw_terms};
pub(super) use instances::Instances;
pub(super) use lemma::{Lemma, Reason};
pub(crate) use limits::Limit;
pub(in crate::prove) use near::{MAX_UNITS, near, units_apart};
pub(super) use outputs::{ConstantPair, OutputError, OutputPair, Outputs, pair_outputs};
pub(super) use pushdown::{expanded, is_pushed_down, mover, pushed_down};
pub(crate) use range::{Narrow, has_narrow, moves_all_of, narrow};
pub(super) use replay::{CheckError, Refused, Replay, shows};
