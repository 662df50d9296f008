//! What a verdict rests on: terms, congruence closure, and the replay of a lemma log.
//!
//! Nothing here uses egg or any part of the search (sweep, normaliser, windows, fingerprints); a test keeps it so.

pub mod arena;
mod assumption;
pub mod closure;
mod elements;
mod graph;
mod instances;
mod known;
pub mod lemma;
mod outputs;
mod range;
mod replay;

pub use arena::Side;
pub use assumption::{Made, Places, Said, grouped, ranges};
pub use elements::{ELEMENTS, Leaves, same_elements};
pub use graph::{InputNumbers, Values, graph_terms, literal_leaf, raw_terms};
pub use instances::Instances;
pub use lemma::{Lemma, Reason};
pub use outputs::{ConstantPair, OutputError, OutputPair, Outputs, pair_outputs};
pub use range::{Narrow, has_narrow, moves_all_of, narrow};
pub use replay::{CheckError, Refused, Replay, shows};
