//! Energy: what an operator execution costs, from measured profiles or estimates fitted on them.

mod cost;
mod estimate;
mod fit;
mod key;
mod key_parse;
mod merge;
mod meter;
mod profile;
mod work;

pub use cost::{Cost, CostModel, Figure, Source, cost_call, graph_costs};
pub use estimate::{COVERAGE, ErrorBand, Estimator, GroupFit, ModeFit, REACH};
pub use key::{Key, KeyOperand, LayoutClass, MathMode, key_of};
pub use key_parse::KeyError;
pub use merge::{Difference, same_device};
pub use meter::{Change, ChangeDetector, Counter, Mark, MeterError, Poller, Reading, Reckoning, reckon};
pub use profile::{Device, Entry, Measured, Profile, ProfileError, Protocol, SCHEMA};
pub use work::{CallParts, WorkWithLayout};
