//! What a campaign measures on: a GPU with libtorch, or a simulated one in tests.

use super::key::Key;
use super::meter::{Change, MeterError};
use super::profile::{Device, MeterKind};
use crate::ir::{Graph, NodeId};

/// Something that can be replayed.
#[derive(Clone, Copy, Debug)]
pub enum Subject<'a> {
    /// One operator.
    Operator(&'a Key),
    /// These nodes of a graph, in topological order.
    Part { graph: &'a Graph, nodes: &'a [NodeId] },
}

/// What the device was doing at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    pub temperature_c: u32,
    pub sm_clock_mhz: u32,
    /// Why the driver holds the clocks down, such as `SW_POWER_CAP`; empty when it does not.
    pub throttled: String,
}

impl State {
    /// Whether the clocks are held down by something that has nothing to do with the operator that runs: heat, or
    /// the power supply. The power cap is no such thing: an operator that reaches it always does.
    pub fn is_hampered(&self) -> bool {
        ["THERMAL", "HW_SLOWDOWN", "HW_POWER_BRAKE"].iter().any(|reason| self.throttled.contains(reason))
    }
}

/// How long it took to queue executions, and until they were done.
#[derive(Clone, Copy, Debug, PartialEq)]
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
pub trait Rig {
    /// A subject ready to run, with its operands.
    type Load;

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

    /// Fails if another process computes on the device: the meter would count its energy too.
    fn want_alone(&self) -> Result<(), MeterError>;

    /// Builds the operands of a subject; in as many sets as keep them out of the cache.
    fn load(&mut self, subject: Subject) -> Result<Self::Load, NoRun>;

    /// Runs a load `times` times and waits until it is done.
    fn run(&mut self, load: &mut Self::Load, times: usize) -> Result<Timing, NoRun>;
}
