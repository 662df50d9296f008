//! Reads an energy counter and turns its changes into joules per execution.
//!
//! The counter of a GPU moves in steps, about ten a second, and one read takes milliseconds. So a thread of its own
//! polls it and keeps the moments at which it changed; a figure rests only on what lies between two changes, and
//! executions are counted by their rate in between.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use miette::Diagnostic;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::state::State;
use super::worker_error::WorkerError;
use crate::energy::Measured;

/// How often the energy counter moves, by the name of the GPU: what 1800 windows on 14 cards tell, to 0.05 ms.
const COUNTER_S: [(&str, f64); 1] = [("NVIDIA H200", 0.1)];

/// The seconds between two changes of the energy counter, where they are known to be even.
pub(super) fn counter_s(device: &str) -> Option<f64> {
    COUNTER_S.iter().find(|(name, _)| *name == device).map(|(_, seconds)| *seconds)
}

/// The counter is taken for dead when it has not moved for this long.
pub(super) const STALL_S: f64 = 2.0;

/// One read of a counter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// When the read was half done, on the clock that execution marks use.
    pub time_s: f64,
    pub energy_mj: u64,
}

/// Something that counts millijoules upwards.
pub trait Counter: Send {
    fn read(&mut self) -> Result<Reading, MeterError>;

    /// What the device is doing; asked for at every change. `None` where nothing tells.
    fn state(&mut self) -> Result<Option<State>, MeterError> {
        Ok(None)
    }
}

/// Why there is no figure.
#[derive(Debug, Clone, PartialEq, Error, Diagnostic)]
pub enum MeterError {
    #[error("the NVIDIA driver cannot be used: {0}")]
    #[diagnostic(code(measure::no_driver), help("measuring needs an NVIDIA GPU and its driver on this machine"))]
    NoDriver(String),
    #[error("there is no GPU number {index} ({count} found)")]
    #[diagnostic(code(measure::no_gpu), help("choose one with --device"))]
    NoGpu { index: u32, count: u32 },
    #[error("the driver knows no GPU at {0}, where PyTorch's sits")]
    #[diagnostic(code(measure::no_such_place), help("see which GPUs `nvidia-smi` lists, and at which bus id"))]
    NoSuchPlace(String),
    #[error("GPU {0} does not count its energy")]
    #[diagnostic(code(measure::no_counter), help("the counter exists from the Volta generation on"))]
    NoCounter(String),
    #[error("this user may not read the energy of GPU {0}")]
    #[diagnostic(code(measure::no_permission), help("ask the administrator for access, or run as root"))]
    NoPermission(String),
    #[error("GPU {0} is split by MIG, and its counter covers all parts")]
    #[diagnostic(code(measure::mig), help("measure on a GPU that is not split"))]
    Mig(String),
    #[error("process {0} uses the GPU too")]
    #[diagnostic(code(measure::busy), help("stop it: the counter cannot tell its energy from ours"))]
    Busy(u32),
    #[error("the energy counter has not moved for {STALL_S} s")]
    #[diagnostic(code(measure::stalled), help("see whether `nvidia-smi -q -d POWER` moves"))]
    Stalled,
    #[error("the energy counter went backwards")]
    #[diagnostic(code(measure::reset), help("something reset the driver; measure again"))]
    Reset,
    #[error("the GPU is gone: {0}")]
    #[diagnostic(
        code(measure::lost),
        help("see the kernel log; finished entries are kept, the next run goes on from them")
    )]
    Lost(String),
    #[error("only {0} counter changes fell into the measurement")]
    #[diagnostic(code(measure::too_short), help("give a larger --budget"))]
    TooShort(usize),
    #[error("in half of the measurement executions took {0:.0} % more or less than in all of it")]
    #[diagnostic(code(measure::unsteady), help("see what else uses the machine and its memory, and measure again"))]
    Unsteady(f64),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Worker(#[from] WorkerError),
}

/// A moment at which the counter moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    pub time_s: f64,
    /// Joules since the first change.
    pub joules: f64,
}

/// Turns readings into changes; undoes wrap-around and notices a counter that stops or is reset.
#[derive(Clone, Debug, Default)]
pub struct ChangeDetector {
    last: Option<Reading>,
    /// When the counter last moved, or was first read.
    moved_s: f64,
    joules: f64,
    seen_change: bool,
}

impl ChangeDetector {
    /// Takes the next reading; gives the change if the counter moved since the one before.
    pub fn push(&mut self, reading: Reading) -> Result<Option<Change>, MeterError> {
        let Some(last) = self.last.replace(reading) else {
            self.moved_s = reading.time_s;
            return Ok(None);
        };
        if reading.energy_mj == last.energy_mj {
            return if reading.time_s - self.moved_s > STALL_S { Err(MeterError::Stalled) } else { Ok(None) };
        }
        self.moved_s = reading.time_s;
        let step = step(last.energy_mj, reading.energy_mj)?;
        // The step before the first change began before anyone looked.
        if self.seen_change {
            self.joules += step as f64 * 1e-3;
        }
        self.seen_change = true;
        Ok(Some(Change { time_s: reading.time_s, joules: self.joules }))
    }
}

/// Millijoules from one value to the next, over a wrap at 32 bits.
fn step(from: u64, to: u64) -> Result<u64, MeterError> {
    const WRAP: u64 = 1 << 32;
    match to.checked_sub(from) {
        Some(step) => Ok(step),
        // A driver that counts in 32 bits wraps once in 49 days at 1 kW; anything else is a reset.
        None if from < WRAP && from - to > WRAP / 2 => Ok(to + WRAP - from),
        None => Err(MeterError::Reset),
    }
}

/// How often a paused poller looks whether it may go on.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(5);

/// Polls a counter on a thread of its own.
pub struct Poller {
    stop: Arc<AtomicBool>,
    paused: Arc<AtomicBool>,
    seen: Arc<Mutex<Seen>>,
    thread: Option<JoinHandle<Result<(), MeterError>>>,
}

/// What a poller has seen so far, in the order of time.
#[derive(Default)]
struct Seen {
    changes: Vec<Change>,
    states: Vec<(f64, State)>,
}

impl Poller {
    pub fn start(mut counter: impl Counter + 'static) -> Poller {
        let stop = Arc::new(AtomicBool::new(false));
        let paused = Arc::new(AtomicBool::new(false));
        let seen = Arc::new(Mutex::new(Seen::default()));
        let (stopped, waits, kept) = (stop.clone(), paused.clone(), seen.clone());
        let thread = std::thread::spawn(move || {
            let mut detector = ChangeDetector::default();
            while !stopped.load(Ordering::Relaxed) {
                if waits.load(Ordering::Relaxed) {
                    std::thread::sleep(PAUSE);
                    continue;
                }
                if let Some(change) = detector.push(counter.read()?)? {
                    // The next change is a tenth of a second away: there is time to ask more.
                    let state = counter.state()?;
                    let mut seen = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    seen.changes.push(change);
                    seen.states.extend(state.map(|state| (change.time_s, state)));
                }
                // A read takes milliseconds by itself; the pause keeps a fast one from spinning.
                std::thread::sleep(std::time::Duration::from_micros(500));
            }
            Ok(())
        });
        Poller { stop, paused, seen, thread: Some(thread) }
    }

    /// Leaves the counter alone for a while, or goes on reading it.
    pub fn pause(&self, paused: bool) {
        self.paused.store(paused, Ordering::Relaxed);
    }

    /// The changes since `time_s`. Fails when the counter does.
    pub fn changes_since(&mut self, time_s: f64) -> Result<Vec<Change>, MeterError> {
        if self.thread.as_ref().is_some_and(JoinHandle::is_finished) {
            self.join()?;
            return Err(MeterError::Stalled);
        }
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(seen.changes.iter().skip(seen.changes.partition_point(|c| c.time_s < time_s)).copied().collect())
    }

    /// What the device was doing at the changes since `time_s`.
    pub fn states_since(&self, time_s: f64) -> Vec<State> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let from = seen.states.partition_point(|(at, _)| *at < time_s);
        seen.states.iter().skip(from).map(|(_, state)| state.clone()).collect()
    }

    fn join(&mut self) -> Result<(), MeterError> {
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(_)) => Err(MeterError::Lost("the polling thread died".into())),
            None => Ok(()),
        }
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Whatever the counter's last word was, the figures taken so far do not rest on it.
        let _ = self.join();
    }
}

/// How many executions were done at a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    pub time_s: f64,
    pub executions: f64,
}

/// A counter change with the executions done by then: `(seconds, joules, executions)`, each from the same start. What
/// a figure rests on, and all that needs keeping to fit_power it again.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point(pub f64, pub f64, pub f64);

/// What the points of one run say, per execution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerFit {
    pub energy_mj: Measured,
    pub time_us: Measured,
    pub watts: f64,
    /// Executions between the first and the last change.
    pub executions: f64,
    pub windows: usize,
}

/// Fewest changes that a figure rests on: a start, and five steps of 100 ms or so.
const LEAST_CHANGES: usize = 6;

/// The changes that lie between two marks, with executions interpolated between the marks around them.
pub fn points(changes: &[Change], marks: &[Mark]) -> Vec<Point> {
    let all = changes.iter().filter_map(|c| Some(Point(c.time_s, c.joules, executions_at(marks, c.time_s)?)));
    let mut all: Vec<Point> = all.collect();
    if let Some(&Point(time, joules, executions)) = all.first() {
        // Microseconds and tenths of a millijoule are finer than the meter; what is kept is what is reckoned with.
        let round = |x: f64, digits: f64| (x * digits).round() / digits;
        for p in &mut all {
            *p = Point(round(p.0 - time, 1e6), round(p.1 - joules, 1e4), round(p.2 - executions, 1e3));
        }
    }
    all
}

/// Reckons energy and time per execution.
///
/// Power is the slope of a line through all changes, since the moment at which one is noticed is some milliseconds off. Where
/// the counter is known to move every `counter_s`, to the millisecond, the moments are those; times of executions are exact. The
/// interval comes from windows of half the run,
/// one starting at every change: it reaches as far as the farthest of them, and never less than `min_half_width` of
/// the figure, which stands for what differs from one measurement to the next and none can see.
///
/// # Errors
/// [`MeterError::TooShort`] when there are fewer than six changes or nothing ran between them.
pub fn fit_power(points: &[Point], min_half_width: f64, counter_s: Option<f64>) -> Result<PowerFit, MeterError> {
    let too_short = MeterError::TooShort(points.len());
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Err(too_short) };
    if points.len() < LEAST_CHANGES {
        return Err(too_short);
    }
    let (energy, time) = per_execution(points, counter_s).ok_or(too_short)?;
    let half = points.len() / 2;
    let windows: Vec<(f64, f64)> = points.windows(half + 1).filter_map(|w| per_execution(w, counter_s)).collect();
    let around = |mean: f64, each: &dyn Fn(&(f64, f64)) -> f64| {
        let farthest = windows.iter().map(|w| (each(w) - mean).abs()).fold(0.0, f64::max);
        let reach = farthest.max(mean * min_half_width);
        Measured { mean, low: (mean - reach).max(0.0), high: mean + reach }
    };
    Ok(PowerFit {
        energy_mj: around(energy, &|w| w.0),
        time_us: around(time, &|w| w.1),
        watts: energy / time * 1e3,
        executions: last.2 - first.2,
        windows: windows.len(),
    })
}

/// Millijoules and microseconds per execution over these points; `counter_s` as for [`fit_power`].
pub(super) fn per_execution(points: &[Point], counter_s: Option<f64>) -> Option<(f64, f64)> {
    let (first, last) = (points.first()?, points.last()?);
    let seconds = (last.0 - first.0) / (last.2 - first.2);
    let moments = moments(points, counter_s);
    let mean = |all: &mut dyn Iterator<Item = f64>| all.sum::<f64>() / points.len() as f64;
    let (time, joules) = (mean(&mut moments.iter().copied()), mean(&mut points.iter().map(|p| p.1)));
    let spread: f64 = moments.iter().map(|at| (at - time).powi(2)).sum();
    let watts = moments.iter().zip(points).map(|(at, p)| (at - time) * (p.1 - joules)).sum::<f64>() / spread;
    (last.2 > first.2 && spread > 0.0).then_some((watts * seconds * 1e3, seconds * 1e6))
}

/// When the counter changed: at a multiple of its period since the first change, or, where that is not known, when it was
/// noticed. So too where a change was noticed so late that it cannot be told from the next one.
fn moments(points: &[Point], counter_s: Option<f64>) -> Vec<f64> {
    let noticed = || points.iter().map(|p| p.0).collect();
    let (Some(period), Some(first)) = (counter_s, points.first()) else { return noticed() };
    let even: Vec<f64> = points.iter().map(|p| ((p.0 - first.0) / period).round() * period).collect();
    if even.is_sorted_by(|a, b| a < b) { even } else { noticed() }
}

/// Executions done at `time_s`, interpolated between the marks around it; `None` outside of them.
fn executions_at(marks: &[Mark], time_s: f64) -> Option<f64> {
    let after = marks.partition_point(|m| m.time_s < time_s);
    let (from, to) = (marks.get(after.checked_sub(1)?)?, marks.get(after)?);
    let share = (time_s - from.time_s) / (to.time_s - from.time_s);
    Some(from.executions + share * (to.executions - from.executions))
}

#[cfg(test)]
#[path = "meter_tests.rs"]
mod tests;
