//! Measuring: runs operators and graphs on a GPU, reads its energy meter, and writes profiles.

mod backend;
mod campaign;
#[cfg(feature = "torch")]
mod cuda_graph;
mod emitted;
mod error;
mod key_list;
mod leakage;
mod limits;
mod load_plan;
mod measure_once;
mod measurement;
mod meter;
mod nvml;
mod operands;
mod passes;
mod python_backend;
mod rounded;
mod run_log;
#[cfg(test)]
mod shipped_tests;
#[cfg(test)]
mod simulated;
mod state;
mod temperature;
#[cfg(feature = "torch")]
mod torch_backend;
#[cfg(feature = "torch")]
mod torch_operands;
mod worker;
mod worker_error;

pub use backend::{Backend, NoRun, Subject, Timing};
pub use campaign::{Campaign, Options, Outcome, Progress, Summary, sum_to_whole};
pub use error::MeasureError;
pub use key_list::{KeyFileError, designed_spread, graph_keys, launched_key, read_keys};
pub use leakage::REFERENCE_C;
pub use measure_once::{PROTOCOL, QUICK_PROTOCOL};
pub use measurement::{Measurement, Paced};
pub use meter::{
    Change, ChangeDetector, Counter, Mark, MeterError, Point, Poller, PowerFit, Reading, fit_power, points,
};
pub use nvml::{Driver, Gpu, GpuMeter, PowerIntegral, load_driver};
pub use python_backend::{PythonBackend, PythonLoad};
pub use run_log::{Header, Line, RUN_LOG_SCHEMA, RunLog, RunLogError, TrialSide, run_log_path};
pub use state::State;
#[cfg(feature = "torch")]
pub use torch_backend::TorchBackend;
pub use worker_error::WorkerError;
