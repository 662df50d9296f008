//! Energy: what an operator execution costs, from measured profiles or estimates fitted on them.

mod campaign;
mod canonical;
mod cost;
#[cfg(feature = "torch")]
mod cuda_graph;
mod estimate;
mod fit;
mod key;
mod key_parse;
#[cfg(feature = "torch")]
pub(crate) mod libtorch;
mod measure;
mod measure_error;
mod merge;
mod meter;
mod nvml;
#[cfg(feature = "torch")]
mod operands;
mod passes;
mod power_cap;
mod profile;
mod profile_file;
mod rig;
#[cfg(test)]
mod shipped_tests;
#[cfg(test)]
mod simulated;
pub mod tables;
mod take;
mod temperature;
#[cfg(feature = "torch")]
mod torch_rig;
mod unique;
mod warmth;
mod windows;
mod work;

pub use campaign::{KeyFileError, graph_keys, launched_key, read_keys};
pub use cost::{Cost, CostModel, Figure, Source, cost_call, graph_calls, graph_costs};
pub use estimate::{COVERAGE, ErrorBand, Estimator, GroupFit, ModeFit, Overall, REACH};
pub use key::{Key, KeyOperand, LayoutClass, MathMode, key_of};
pub use key_parse::KeyError;
pub use measure::{Campaign, Options, Outcome, Progress, Summary, sum_to_whole};
pub use measure_error::MeasureError;
pub use merge::{Difference, same_device};
pub use meter::{Change, ChangeDetector, Counter, Mark, MeterError, Point, Poller, Reading, Reckoning, points, reckon};
pub use nvml::{Driver, Gpu, GpuMeter, PowerIntegral, load_driver};
pub use power_cap::at_power_cap;
pub use profile::{
    Device, Entry, Measured, MeterKind, PacedEntry, Profile, ProfileError, Protocol, Ratio, Run, Spread,
};
pub use profile_file::SCHEMA;
pub use rig::{NoRun, Rig, State, Subject, Timing};
pub use take::PROTOCOL;
#[cfg(feature = "torch")]
pub use torch_rig::TorchRig;
pub use warmth::{REFERENCE_C, Warmth};
pub use windows::{Header, Line, Paced, Taken, TrialSide, WINDOWS_SCHEMA, Windows, windows_path};
pub use work::{CallParts, WorkWithLayout};
