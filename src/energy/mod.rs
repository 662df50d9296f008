//! Energy: what an operator execution costs, from measured profiles or estimates fitted on them.

mod campaign;
mod cost;
mod estimate;
mod fit;
mod key;
mod key_parse;
#[cfg(feature = "torch")]
mod libtorch;
#[cfg(feature = "torch")]
mod measure;
mod merge;
mod meter;
mod nvml;
#[cfg(feature = "torch")]
mod operands;
mod profile;
pub mod tables;
mod work;

pub use campaign::{KeyFileError, graph_keys, read_keys};
pub use cost::{Cost, CostModel, Figure, Source, cost_call, graph_costs};
pub use estimate::{COVERAGE, ErrorBand, Estimator, GroupFit, ModeFit, REACH};
pub use key::{Key, KeyOperand, LayoutClass, MathMode, key_of};
pub use key_parse::KeyError;
#[cfg(feature = "torch")]
pub use measure::{MeasureError, Options, Outcome, Progress, RawWindows, Summary, measure, points_path};
pub use merge::{Difference, same_device};
pub use meter::{Change, ChangeDetector, Counter, Mark, MeterError, Point, Poller, Reading, Reckoning, points, reckon};
pub use nvml::{Gpu, NvmlCounter, State};
pub use profile::{Device, Entry, Measured, Profile, ProfileError, Protocol, Ratio, Run, SCHEMA, Spread};
pub use work::{CallParts, WorkWithLayout};
