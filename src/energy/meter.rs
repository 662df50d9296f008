//! Reads an energy counter and turns its changes into joules per execution.
//!
//! The counter of a GPU moves in steps, about ten a second, and one read takes milliseconds. So a thread of its own
//! polls it and keeps the moments at which it changed; a figure rests only on what lies between two changes, and
//! executions are counted by their rate in between.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use miette::Diagnostic;
use thiserror::Error;

use super::profile::Measured;

/// The counter is taken for dead when it has not moved for this long.
pub const STALL_S: f64 = 2.0;

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

/// Polls a counter on a thread of its own.
pub struct Poller {
    stop: Arc<AtomicBool>,
    changes: Arc<Mutex<Vec<Change>>>,
    thread: Option<JoinHandle<Result<(), MeterError>>>,
}

impl Poller {
    pub fn start(mut counter: impl Counter + 'static) -> Poller {
        let stop = Arc::new(AtomicBool::new(false));
        let changes = Arc::new(Mutex::new(Vec::new()));
        let (stopped, kept) = (stop.clone(), changes.clone());
        let thread = std::thread::spawn(move || {
            let mut detector = ChangeDetector::default();
            while !stopped.load(Ordering::Relaxed) {
                if let Some(change) = detector.push(counter.read()?)? {
                    kept.lock().unwrap_or_else(PoisonError::into_inner).push(change);
                }
                // A read takes milliseconds by itself; the pause keeps a fast one from spinning.
                std::thread::sleep(std::time::Duration::from_micros(500));
            }
            Ok(())
        });
        Poller { stop, changes, thread: Some(thread) }
    }

    /// The changes since `time_s`. Fails when the counter does.
    pub fn changes_since(&mut self, time_s: f64) -> Result<Vec<Change>, MeterError> {
        if self.thread.as_ref().is_some_and(JoinHandle::is_finished) {
            self.join()?;
            return Err(MeterError::Stalled);
        }
        let changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(changes.iter().copied().filter(|c| c.time_s >= time_s).collect())
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

/// What the changes and marks of one run say, per execution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reckoning {
    pub energy_mj: Measured,
    pub time_us: Measured,
    pub watts: f64,
    /// Executions between the first and the last change that were used.
    pub executions: f64,
    pub windows: usize,
}

/// Counter steps of one window: long enough that the uncertainty of a change's moment (one read) stays near 1 %.
const STEPS_PER_WINDOW: usize = 3;

/// Reckons energy and time per execution from the changes that lie inside the marks.
///
/// The mean is the slope between the first and the last change. The interval comes from consecutive windows of
/// three counter steps each: Student's 99 % interval of their mean, and never less than `least_half_width` of
/// the figure, which stands for what differs from run to run and no single run can see.
///
/// # Errors
/// [`MeterError::TooShort`] when fewer than two windows fit.
pub fn reckon(changes: &[Change], marks: &[Mark], least_half_width: f64) -> Result<Reckoning, MeterError> {
    let points: Vec<(Change, f64)> =
        changes.iter().filter_map(|c| Some((*c, executions_at(marks, c.time_s)?))).collect();
    let ends: Vec<&(Change, f64)> = points.iter().step_by(STEPS_PER_WINDOW).collect();
    let (Some(first), Some(last)) = (ends.first(), ends.last()) else { return Err(MeterError::TooShort(points.len())) };
    let executions = last.1 - first.1;
    if ends.len() < 3 || executions <= 0.0 {
        return Err(MeterError::TooShort(points.len()));
    }
    let windows: Vec<(f64, f64)> = ends
        .windows(2)
        .filter_map(|pair| {
            let ((from, n0), (to, n1)) = (pair[0], pair[1]);
            let n = n1 - n0;
            (n > 0.0).then(|| ((to.joules - from.joules) * 1e3 / n, (to.time_s - from.time_s) * 1e6 / n))
        })
        .collect();
    let (joules, seconds) = (last.0.joules - first.0.joules, last.0.time_s - first.0.time_s);
    let around = |mean: f64, each: Vec<f64>| {
        let half = half_width(&each).max(mean * least_half_width);
        Measured { mean, low: (mean - half).max(0.0), high: mean + half }
    };
    Ok(Reckoning {
        energy_mj: around(joules * 1e3 / executions, windows.iter().map(|w| w.0).collect()),
        time_us: around(seconds * 1e6 / executions, windows.iter().map(|w| w.1).collect()),
        watts: joules / seconds,
        executions,
        windows: windows.len(),
    })
}

/// Executions done at `time_s`, interpolated between the marks around it; `None` outside of them.
fn executions_at(marks: &[Mark], time_s: f64) -> Option<f64> {
    let after = marks.partition_point(|m| m.time_s < time_s);
    let (from, to) = (marks.get(after.checked_sub(1)?)?, marks.get(after)?);
    let share = (time_s - from.time_s) / (to.time_s - from.time_s);
    Some(from.executions + share * (to.executions - from.executions))
}

/// Half of Student's 99 % interval of the mean of `each`.
fn half_width(each: &[f64]) -> f64 {
    /// Two-sided 99 % quantiles for 1, 2, … degrees of freedom.
    const T99: [f64; 15] =
        [63.66, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169, 3.106, 3.055, 3.012, 2.977, 2.947];
    let n = each.len();
    if n < 2 {
        return f64::INFINITY;
    }
    let mean = each.iter().sum::<f64>() / n as f64;
    let variance = each.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
    T99[(n - 2).min(T99.len() - 1)] * (variance / n as f64).sqrt()
}

#[cfg(test)]
#[path = "meter_tests.rs"]
mod tests;
