//! Prices: what the execution of an operator or a graph costs, from the figures of a profile.
//!
//! Nothing here drives a GPU: that is [`crate::measure`], which writes profiles.

mod bill;
mod breakdown;
mod canonical;
mod context;
mod cost;
mod coverage;
mod estimate;
mod features;
mod fit;
mod fused_key;
mod host;
mod item;
mod key;
mod key_parse;
mod measured;
mod merge;
mod model;
mod neighbourhood;
mod node_key;
mod objective;
mod power_cap;
mod profile;
mod profile_file;
mod spread;
pub(crate) mod tables;
mod unique;
mod work;

pub use bill::{Bill, Saving};
pub use cost::{BasisShares, Cost, Figure, Source};
pub(crate) use host::CallPrice;
pub use host::{Calls, HostCosts, Launch, Waiting};
pub use item::{Gap, Item};
pub use key::{KernelKey, KeyOperand, LayoutClass, MathMode};
pub use key_parse::KeyError;
pub use measured::Measured;
pub use model::{CostModel, graph_items, graph_total};
pub use objective::{Objective, Weights};
pub use profile::{
    BackendKind, Device, Entry, LeakageCorrection, MeterKind, PacedEntry, Profile, ProfileError, Protocol, Run,
};
pub use spread::{Repeat, Spread};

#[cfg(test)]
pub(crate) use coverage::COVERAGE;
#[cfg(test)]
pub(crate) use profile::MIN_COMMON;
// What measuring, the search for cheaper forms and the tables of `profile` need beside.
pub(crate) use breakdown::{Breakdown, Contrast, Purpose};
pub(crate) use estimate::Estimator;
pub(crate) use merge::same_device;
pub(crate) use model::graph_calls;
pub(crate) use model::{call_item, computed_nodes};
pub(crate) use node_key::key_of;
pub(crate) use power_cap::at_power_cap;
pub(crate) use profile::{METHOD_VERSION, SHORT_US, is_power_capped};
pub(crate) use profile_file::want_schema;
pub(crate) use work::CallParts;
pub(crate) use work::WorkWithLayout;
