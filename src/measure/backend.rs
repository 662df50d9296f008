//! What a campaign measures on: a GPU with libtorch, or a simulated one in tests.

use std::collections::BTreeSet;

use super::meter::{Change, MeterError};
use crate::energy::{Device, KernelKey, MeterKind, is_power_capped};
use crate::ir::{Graph, NodeId};

/// Something that can be replayed.
#[derive(Clone, Copy, Debug)]
pub enum Subject<'a> {
    /// One operator.
    Operator(&'a KernelKey),
    /// These nodes of a graph, in topological order.
    Part { graph: &'a Graph, nodes: &'a [NodeId] },
}

/// What the device was doing at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    pub temperature_c: f64,
    pub sm_clock_mhz: u32,
    /// Why the driver holds the clocks down, such as `SW_POWER_CAP`; empty when it does not.
    pub throttled: String,
}

impl State {
    /// One state for a spell: mean temperature and clock, and the reasons that held for half of it and more. What
    /// hampers counts even if it was seen once. `None` if nothing was seen.
    pub fn over(states: &[State]) -> Option<State> {
        let count = u32::try_from(states.len()).ok().filter(|n| *n > 0)?;
        let clocks: u32 = states.iter().map(|s| s.sm_clock_mhz).sum();
        let temperature_c = states.iter().map(|s| s.temperature_c).sum::<f64>() / f64::from(count);
        let reasons: BTreeSet<&str> = states.iter().flat_map(|s| s.throttled.split_whitespace()).collect();
        let held = |reason: &&str| {
            let times = states.iter().filter(|s| s.throttled.split_whitespace().any(|r| r == *reason)).count();
            2 * times >= states.len()
                || State { throttled: (*reason).to_owned(), ..State::default() }.is_throttled_externally()
        };
        Some(State {
            temperature_c: (temperature_c * 10.0).round() / 10.0,
            sm_clock_mhz: (clocks + count / 2) / count,
            throttled: reasons.into_iter().filter(held).collect::<Vec<_>>().join(" "),
        })
    }

    /// Whether the card's power limit holds the clocks down.
    pub fn is_capped(&self) -> bool {
        is_power_capped(&self.throttled)
    }

    /// Whether the clocks are held down by something that has nothing to do with the operator that runs: heat, or
    /// the power supply. The power cap is no such thing: an operator that reaches it always does.
    pub fn is_throttled_externally(&self) -> bool {
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
pub trait Backend {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spell_is_capped_if_half_of_it_was() {
        let state = |temperature_c: f64, throttled: &str| State {
            temperature_c,
            sm_clock_mhz: 1500,
            throttled: throttled.into(),
        };
        let (cap, free) = (state(60.0, "SW_POWER_CAP"), state(50.0, ""));
        let half = State::over(&[cap.clone(), free.clone()]).unwrap();
        assert!(half.is_capped() && half.temperature_c == 55.0 && half.sm_clock_mhz == 1500, "{half:?}");
        assert!(!State::over(&[cap, free.clone(), free.clone()]).unwrap().is_capped());
        let hot = State::over(&[free.clone(), free.clone(), state(80.0, "SW_POWER_CAP HW_SLOWDOWN"), free]).unwrap();
        assert!(hot.is_throttled_externally() && !hot.is_capped(), "{hot:?}");
        assert_eq!(State::over(&[]), None);
    }
}
