//! Prices: what the execution of an operator or a graph costs, from the figures of a profile.
//!
//! Nothing here drives a GPU: that is [`crate::measure`], which writes profiles.

mod bill;
mod canonical;
mod context;
mod cost;
mod estimate;
mod features;
mod fit;
mod host;
mod key;
mod key_parse;
mod merge;
mod model;
mod power_cap;
mod profile;
mod profile_file;
pub mod tables;
mod unique;
mod work;

pub use bill::{Bill, Gap, Item, Saving};
pub use context::Context;
pub use cost::{BasisShares, Cost, Figure, Source};
pub use estimate::{
    Basis, COVERAGE, COVERAGE_SD, ClassFit, DeviceLimits, ErrorSpread, Estimate, Estimator, ModeFit, Overall,
};
pub use host::{Calls, HostCosts, Launch, Waiting};
pub use key::{KernelKey, KeyOperand, LayoutClass, MathMode, key_of};
pub use key_parse::KeyError;
pub use merge::{Difference, LEAST_COMMON, same_device};
pub use model::{CostModel, Kernel, call_item, computed_nodes, graph_calls, graph_costs, graph_items, graph_total};
pub use power_cap::at_power_cap;
pub use profile::{
    Device, Entry, LeakageCorrection, METHOD_VERSION, Measured, MeterKind, PacedEntry, Profile, ProfileError, Protocol,
    Ratio, Run, Spread,
};
pub(crate) use profile::{SHORT_US, is_power_capped};
pub use profile_file::SCHEMA;
pub(crate) use profile_file::want_schema;
pub use work::{CallParts, WorkWithLayout};
