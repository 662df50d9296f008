//! What a campaign measures on: a GPU with libtorch or with a Python process, or a simulated one in tests.

use serde::Deserialize;

use super::meter::{Change, MeterError};
use super::state::State;
use crate::energy::{BackendKind, Device, KernelKey, MeterKind};
use crate::ir::{Graph, NodeId};

/// Something that can be replayed.
#[derive(Clone, Copy, Debug)]
pub enum Subject<'a> {
    /// One operator.
    Operator(&'a KernelKey),
    /// These nodes of a graph, in topological order.
    Part { graph: &'a Graph, nodes: &'a [NodeId] },
}

/// How long it took to queue executions, and until they were done.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Timing {
    pub queued_s: f64,
    pub total_s: f64,
}

/// Why something does not run.
#[derive(Clone, Debug, PartialEq)]
pub enum NoRun {
    /// It cannot run here; others may.
    Skip(String),
    /// Nothing runs any more.
    Over(MeterError),
}

impl From<MeterError> for NoRun {
    fn from(error: MeterError) -> Self {
        NoRun::Over(error)
    }
}

/// A device with a meter.
pub trait Backend {
    /// A subject ready to run, with its operands.
    type Load;

    /// What runs the operators.
    fn kind(&self) -> BackendKind;

    fn device(&self) -> Result<Device, MeterError>;

    /// The card: the first digits of its UUID.
    fn card(&self) -> String;

    fn meter(&self) -> MeterKind;

    /// Seconds on the clock of the meter.
    fn now_s(&self) -> f64;

    /// Lets time pass with nothing running, on the device as on the host.
    fn rest(&mut self, seconds: f64);

    /// Keeps the device under full load.
    fn warm_up(&mut self, seconds: f64);

    /// The meter's changes since `time_s`.
    fn changes_since(&mut self, time_s: f64) -> Result<Vec<Change>, MeterError>;

    /// Stops polling the meter, or goes on with it.
    fn poll(&mut self, on: bool);

    fn state(&self) -> Result<State, MeterError>;

    /// What the device was doing at the meter's changes since `time_s`; empty where nothing tells.
    fn states_since(&mut self, time_s: f64) -> Vec<State>;

    /// Fails if another process computes on the device: the meter would count its energy too.
    fn want_alone(&self) -> Result<(), MeterError>;

    /// Builds the operands of a subject; in as many sets as keep them out of the cache. Each `pass` has them at other
    /// addresses than those before, as far as memory goes.
    fn load(&mut self, subject: Subject, pass: u32) -> Result<Self::Load, NoRun>;

    /// After how many executions a load has had all of its memory in use.
    fn round(&self, load: &Self::Load) -> usize;

    /// Records some executions of a load as one piece, which the device works off without the host. Gives their number:
    /// from then on [`Backend::run`] counts such pieces. `None` where the load cannot be recorded; it stays as it was.
    fn record(&mut self, load: &mut Self::Load) -> Result<Option<usize>, NoRun>;

    /// Runs a load `times` times and waits until it is done.
    fn run(&mut self, load: &mut Self::Load, times: usize) -> Result<Timing, NoRun>;

    /// As [`Backend::run`], where the same is asked for again and again: a backend may begin with the next run early.
    fn run_on(&mut self, load: &mut Self::Load, times: usize) -> Result<Timing, NoRun> {
        self.run(load, times)
    }
}
