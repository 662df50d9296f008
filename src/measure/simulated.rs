//! A simulated device for the tests of campaigns.

use super::backend::{Backend, NoRun, Subject, Timing};
use super::meter::{Change, MeterError};
use super::state::State;
use crate::energy::{BackendKind, Device, MeterKind};

/// Power with nothing running.
pub(super) const IDLE_W: f64 = 120.0;

/// How long the meter still shows the power of a load that has ended.
const LAG_S: f64 = 0.3;

/// How much longer an execution takes while its load has not had all of its memory in use.
const FRESH_S: f64 = 0.0125;

/// How long the host waits for the device to say that it is done.
const SYNCHRONISING_S: f64 = 2e-5;

/// A device whose clock runs as work is done. It draws 600 W while it works, and 10 µs are an execution.
pub(super) struct Simulated {
    pub(super) clock_s: f64,
    /// When it last worked.
    pub(super) worked_s: f64,
    pub(super) card: &'static str,
    /// After this many loads the device is gone.
    pub(super) loads_left: usize,
    /// Another process shows up after as many questions.
    pub(super) alone_for: std::cell::Cell<usize>,
    pub(super) changes: Vec<Change>,
    pub(super) throttled: &'static str,
    /// Energy drawn so far.
    pub(super) joules: f64,
    /// How long the meter still shows the power of a load that has ended.
    pub(super) lag_s: f64,
    /// Share of the time of an execution that queueing it takes.
    pub(super) queueing: f64,
    /// Executions in a record, where there can be one; and whether it was made.
    pub(super) recordable: Option<usize>,
    pub(super) recorded: bool,
    /// As many executions, of those that a load begins with, take [`FRESH_S`] more.
    pub(super) fresh: usize,
    /// Executions of the load at hand.
    pub(super) executions: usize,
    /// Runs of a load so far, and those of the first load that are interrupted.
    pub(super) runs: usize,
    pub(super) interrupted: std::ops::Range<usize>,
    /// What the states of a spell say in place of `throttled`.
    pub(super) spells: Vec<&'static str>,
    pub(super) temperature_c: std::cell::Cell<f64>,
    /// The device warms up to this.
    pub(super) warmest_c: f64,
    /// The passes of the loads, in order.
    pub(super) loaded: Vec<(String, u32)>,
    /// By how much where the operands of a load lie may change its time.
    pub(super) placement: f64,
    /// What it does to the load at hand.
    pub(super) slower: f64,
}

pub(super) fn rig() -> Simulated {
    Simulated {
        clock_s: 0.0,
        worked_s: f64::NEG_INFINITY,
        card: "a",
        loads_left: usize::MAX,
        alone_for: usize::MAX.into(),
        changes: Vec::new(),
        throttled: "",
        joules: 0.0,
        lag_s: LAG_S,
        queueing: 0.25,
        recordable: None,
        recorded: false,
        fresh: 0,
        executions: 0,
        runs: 0,
        interrupted: 0..0,
        spells: Vec::new(),
        temperature_c: 40.0.into(),
        warmest_c: 40.0,
        loaded: Vec::new(),
        placement: 0.0,
        slower: 1.0,
    }
}

impl Simulated {
    fn pass(&mut self, seconds: f64) {
        let (began_s, began_j) = (self.clock_s, self.joules);
        let first = (began_s * 10.0) as u64 + 1;
        self.clock_s += seconds;
        // A deterministic wobble of up to half a percent.
        let wobble = 1.0 + ((first * 2_654_435_761 % 1000) as f64 / 1000.0 - 0.5) * 0.01;
        let working_s = (self.worked_s + self.lag_s - began_s).clamp(0.0, seconds);
        let joules = |s: f64| (600.0 * s.min(working_s) + IDLE_W * (s - working_s).max(0.0)) * wobble;
        for step in first..=(self.clock_s * 10.0) as u64 {
            let time_s = step as f64 * 0.1;
            self.changes.push(Change { time_s, joules: began_j + joules(time_s - began_s) });
        }
        self.joules += joules(seconds);
    }
}

impl Backend for Simulated {
    type Load = ();

    fn kind(&self) -> BackendKind {
        BackendKind::Libtorch
    }
    fn device(&self) -> Result<Device, MeterError> {
        Ok(Device { name: "Fake 100".into(), driver: "1.2".into(), libtorch: "2".into(), cuda: "3".into() })
    }
    fn card(&self) -> String {
        self.card.into()
    }
    fn meter(&self) -> MeterKind {
        MeterKind::EnergyCounter
    }
    fn now_s(&self) -> f64 {
        self.clock_s
    }
    fn rest(&mut self, seconds: f64) {
        self.pass(seconds);
    }
    fn warm_up(&mut self, seconds: f64) {
        self.worked_s = self.clock_s + seconds;
        self.pass(seconds);
        self.temperature_c.set((self.temperature_c.get() + 1.0).min(self.warmest_c));
    }
    fn changes_since(&mut self, time_s: f64) -> Result<Vec<Change>, MeterError> {
        Ok(self.changes.iter().copied().filter(|c| c.time_s >= time_s).collect())
    }
    fn poll(&mut self, _: bool) {}
    fn state(&self) -> Result<State, MeterError> {
        let temperature_c = self.temperature_c.get();
        Ok(State { temperature_c, sm_clock_mhz: 1980, throttled: self.throttled.into() })
    }
    fn states_since(&mut self, _: f64) -> Vec<State> {
        let state = |throttled: &&str| State { throttled: (*throttled).into(), ..self.state().unwrap() };
        self.spells.iter().map(state).collect()
    }
    fn want_alone(&self) -> Result<(), MeterError> {
        self.alone_for.set(self.alone_for.get().saturating_sub(1));
        if self.alone_for.get() == 0 { Err(MeterError::Busy(7)) } else { Ok(()) }
    }
    fn load(&mut self, subject: Subject, pass: u32) -> Result<(), NoRun> {
        if let Subject::Operator(key) = subject {
            self.loaded.push((key.op.clone(), pass));
        }
        (self.executions, self.runs, self.recorded) = (0, 0, false);
        let mixed = (self.loaded.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40;
        self.slower = 1.0 + self.placement * (mixed as f64 / f64::from(1 << 23) - 1.0);
        match self.loads_left.checked_sub(1) {
            None => return Err(NoRun::Over(MeterError::Lost("gone".into()))),
            Some(left) => self.loads_left = left,
        }
        match subject {
            Subject::Operator(key) if key.op == "exp" => Err(NoRun::Skip("needs 9 MiB, 8 MiB are free".into())),
            _ => Ok(()),
        }
    }
    fn round(&self, (): &()) -> usize {
        self.fresh
    }
    fn record(&mut self, (): &mut ()) -> Result<Option<usize>, NoRun> {
        self.recorded = self.recordable.is_some();
        Ok(self.recordable)
    }
    fn run(&mut self, (): &mut (), times: usize) -> Result<Timing, NoRun> {
        let is_interrupted = self.loaded.len() == 1 && self.interrupted.contains(&self.runs);
        self.runs += 1;
        let times = if self.recorded { times * self.recordable.unwrap() } else { times };
        // The host takes as long as it takes.
        let each_s = if self.recorded { 1e-5 } else { 1e-5 * (self.queueing / 0.8).max(1.0) };
        let fresh = self.fresh.saturating_sub(self.executions).min(times);
        self.executions += times;
        let total_s = each_s * times as f64 * self.slower + FRESH_S * fresh as f64 + SYNCHRONISING_S;
        self.worked_s = self.clock_s + total_s;
        let until_noticed_s = total_s * if is_interrupted { 5.0 } else { 1.0 };
        self.pass(until_noticed_s);
        let queued_s = total_s * if self.recorded { 0.0 } else { self.queueing.min(0.9) };
        Ok(Timing { queued_s, total_s: until_noticed_s })
    }
}
