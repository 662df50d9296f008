//! The measuring campaign: measures what a profile does not hold yet and keeps every finished figure on disk.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustc_hash::{FxHashMap, FxHashSet};

use super::backend::{Backend, NoRun, Subject};
use super::error::MeasureError;
use super::measure_once::{PROTOCOL, idle_watts, measure_once, overhead};
use super::measurement::Measurement;
use super::meter::MeterError;
use super::passes::{is_sure, max_passes};
use super::run_log::{Header, Line, RUN_LOG_SCHEMA, RunLog, RunLogFile, TrialSide, run_log_path};
use super::temperature::{bring_to_temperature, keep_at_temperature};
use crate::energy::{Device, Entry, Figure, KernelKey, Profile, Protocol, SHORT_US, same_device};
use crate::ir::{Graph, NodeId};

/// Seconds that one figure takes before anything is known of this machine.
const USUAL_S: f64 = 2.0;

/// Keys of an earlier profile that are measured again, to see how the cards differ.
const OVERLAP: usize = 8;

/// Full load before the first measurement of a quick run.
const QUICK_WARM_UP_S: f64 = 2.0;

/// Seconds between two writes of the profile. Every line of the run log is on disk before the next measurement starts.
const SAVE_EVERY_S: f64 = 5.0;

/// Spells of the overhead test, with the meter polled and without each.
const OVERHEAD_SPELLS: usize = 8;

/// Where to measure to and how long it may take.
#[derive(Clone, Debug)]
pub struct Options {
    /// The profile that is written, with its windows beside it. If it exists, the run goes on from there.
    pub profile: PathBuf,
    /// How figures are taken; what the device is read off is added to it.
    pub protocol: Protocol,
    /// Figures of an earlier run: not measured again, but for a few that say how the cards differ.
    pub known: Option<Profile>,
    /// How often each operator is measured at least, with operands at other addresses and all other operators in between.
    pub passes: u32,
    /// The most seconds for one measurement, warm-up left out.
    pub key_budget_s: f64,
    /// The most seconds in all.
    pub budget_s: f64,
    /// The day, as `2026-11-21`.
    pub date: String,
    /// Set from outside to end the run after the measurement that it is at.
    pub stop: Arc<AtomicBool>,
}

/// What became of one measurement.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Stood in a profile already.
    Known,
    Measured(Entry),
    /// Something disturbed the measurement. A later pass may do better.
    Disturbed(String),
    /// Not measured, and why.
    Skipped(String),
}

/// Where a campaign stands, after each measurement.
#[derive(Clone, Debug)]
pub struct Progress<'a> {
    pub done: usize,
    pub total: usize,
    /// What the rest will take, by what each one took so far.
    pub left_s: f64,
    pub what: &'a str,
    pub outcome: &'a Outcome,
}

/// What a campaign came to, in measurements: passes over operators.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub measured: usize,
    pub known: usize,
    pub skipped: usize,
    /// What the budget left no time for.
    pub left: usize,
}

/// A run under way: a rig, the profile, and its windows on disk.
pub struct Campaign<R: Backend> {
    rig: R,
    options: Options,
    /// What follows from the windows.
    profile: Profile,
    windows: RunLog,
    file: RunLogFile,
    /// How often each operator was measured in this run.
    passes: FxHashMap<KernelKey, u32>,
    again: Vec<KernelKey>,
    /// The temperature under full load that every measurement starts from.
    working_c: f64,
    started_s: f64,
    /// When the profile was last written.
    saved_s: f64,
    /// Measurements taken and the seconds they took.
    taken: (usize, f64),
}

impl<R: Backend> Campaign<R> {
    /// Begins a run, or goes on with one that was stopped.
    ///
    /// # Errors
    /// Another process on the device, a profile of another device or card, a meter that fails, a disk that does.
    pub fn open(mut rig: R, options: Options) -> Result<Self, MeasureError> {
        let started_s = rig.now_s();
        rig.want_alone()?;
        let device = rig.device()?;
        if let Some(known) = &options.known {
            same_device(&known.device, &device)?;
        }
        let path = run_log_path(&options.profile);
        let (file, windows, working_c) = if path.exists() {
            let (file, windows) = RunLogFile::resume(&path)?;
            Self::want_same(&rig, &options, &windows.header, &device)?;
            let working_c = if windows.header.protocol.pace > 0.0 {
                bring_to_temperature(&mut rig, windows.header.working_c)?
            } else {
                windows.header.working_c.unwrap_or_default()
            };
            (file, windows, working_c)
        } else if options.profile.exists() {
            return Err(MeasureError::NoWindows { path: options.profile });
        } else {
            let protocol = Protocol { meter: rig.meter(), ..options.protocol.clone() };
            let idle_w = (idle_watts(&mut rig)? * 10.0).round() / 10.0;
            // A quick run keeps no temperature: what it measures is corrected for the one that it has.
            let working_c = if protocol.pace > 0.0 {
                bring_to_temperature(&mut rig, None)?
            } else {
                rig.warm_up(QUICK_WARM_UP_S);
                rig.state()?.temperature_c
            };
            let header = Header {
                schema: RUN_LOG_SCHEMA.to_owned(),
                device,
                protocol,
                card: rig.card(),
                date: options.date.clone(),
                idle_w,
                backend: rig.kind(),
                working_c: Some(working_c),
            };
            (RunLogFile::create(&path, &header)?, RunLog { header, lines: Vec::new() }, working_c)
        };
        let profile = windows.profile(&path.display().to_string())?;
        let passes = windows.passes();
        let again = options.known.iter().flat_map(overlap).cloned().collect();
        Ok(Campaign {
            rig,
            options,
            profile,
            windows,
            file,
            passes,
            again,
            working_c,
            started_s,
            saved_s: f64::NEG_INFINITY,
            taken: (0, 0.0),
        })
    }

    fn want_same(rig: &R, options: &Options, header: &Header, device: &Device) -> Result<(), MeasureError> {
        same_device(&header.device, device)?;
        let path = options.profile.clone();
        let (begun, here) = (header.protocol.version, PROTOCOL.version);
        if begun != here {
            return Err(MeasureError::OtherMethod { path, begun, here });
        }
        let (begun, here) = (header.backend, rig.kind());
        if begun != here {
            return Err(MeasureError::OtherBackend { path, begun, here });
        }
        let (begun, here) = (header.card.clone(), rig.card());
        if begun == here { Ok(()) } else { Err(MeasureError::OtherCard { path, begun, here }) }
    }

    /// What was measured in this run.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// What is known: this run, and the earlier one for the rest.
    pub fn known(&self) -> Profile {
        let mut all = self.profile.clone();
        for (key, entry) in self.options.known.iter().flat_map(|k| &k.entries) {
            all.entries.entry(key.clone()).or_insert_with(|| Entry { run: 1, ..entry.clone() });
        }
        all
    }

    /// Whether a pass over this operator is behind us, or left out because an earlier run has a figure.
    fn is_known(&self, key: &KernelKey, pass: u32) -> bool {
        let earlier = |p: &Profile| p.entries.contains_key(key) && !self.again.contains(key);
        self.passes.get(key).is_some_and(|done| *done > pass) || self.options.known.as_ref().is_some_and(earlier)
    }

    /// The keys that are measured again although an earlier run did: they say how the cards differ.
    pub fn overlap(&self) -> &[KernelKey] {
        &self.again
    }

    /// How many measurements of `keys` are missing, and the seconds that they will take.
    pub fn estimate(&self, keys: &[KernelKey]) -> (usize, f64) {
        let missing = |pass| keys.iter().filter(|k| !self.is_known(k, pass)).count();
        let missing = (0..self.options.passes).map(missing).sum();
        (missing, missing as f64 * self.each_s())
    }

    /// Whether the passes over an operator tell its mean well enough.
    fn is_sure(&self, key: &KernelKey) -> bool {
        let text = key.to_string();
        let of_key = |line: &&Line| matches!(line, Line::Operator { key, .. } if *key == text);
        let taken = self.windows.lines.iter().filter(of_key).filter_map(Line::taken);
        is_sure(&taken.collect::<Vec<_>>(), &self.windows.header.run(), &self.windows.header.protocol)
    }

    fn each_s(&self) -> f64 {
        if self.taken.0 > 0 { self.taken.1 / self.taken.0 as f64 } else { USUAL_S }
    }

    /// Whether the run has to end: its budget is used up, or somebody wants it to.
    pub fn is_over(&self) -> bool {
        self.options.stop.load(Ordering::Relaxed) || self.rig.now_s() - self.started_s > self.options.budget_s
    }

    /// Measures the keys that lack measurements, in passes over all of them: forth, and back, so that what drifts hits all
    /// alike; then those again whose passes differ too much for a mean as close as the protocol wants it. Every finished
    /// measurement is on disk before the next one starts.
    ///
    /// # Errors
    /// A device lost midway, another process on it, a full disk. A key that cannot run is no error: it is skipped.
    pub fn operators(
        &mut self,
        keys: &[KernelKey],
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<Summary, MeasureError> {
        let mut summary = Summary::default();
        let (mut missing, _) = self.estimate(keys);
        let (mut done, mut total) = (0, keys.len() * self.options.passes as usize);
        // What cannot run in one pass is not tried in the next.
        let mut skipped: FxHashSet<&KernelKey> = FxHashSet::default();
        for pass in 0..max_passes(self.options.passes) {
            let mut order: Vec<&KernelKey> = keys.iter().collect();
            if pass >= self.options.passes {
                order.retain(|key| !skipped.contains(key) && !self.is_known(key, pass) && !self.is_sure(key));
                missing += order.len();
                total += order.len();
            }
            if pass % 2 == 1 {
                order.reverse();
            }
            for key in order {
                done += 1;
                let outcome = if self.is_known(key, pass) {
                    Outcome::Known
                } else if self.is_over() {
                    summary.left = missing;
                    self.save()?;
                    return Ok(summary);
                } else if skipped.contains(key) {
                    missing -= 1;
                    continue;
                } else {
                    missing -= 1;
                    let line = |taken| Line::Operator { key: key.to_string(), taken };
                    // Once is enough: a figure takes what was measured with pauses from one pass.
                    let pace = !self.passes.contains_key(key);
                    match self.one(Subject::Operator(key), pass, pace, &line) {
                        Ok(outcome) => outcome,
                        Err(error) => {
                            // What was measured so far is kept, whatever ends the run.
                            self.save()?;
                            return Err(error);
                        }
                    }
                };
                match &outcome {
                    Outcome::Measured(_) => *self.passes.entry(key.clone()).or_default() += 1,
                    Outcome::Skipped(_) => {
                        skipped.insert(key);
                    }
                    Outcome::Known | Outcome::Disturbed(_) => {}
                }
                summary.count(&outcome);
                let what = key.to_string();
                let left_s = missing as f64 * self.each_s();
                progress(&Progress { done, total, left_s, what: &what, outcome: &outcome });
            }
        }
        self.save()?;
        Ok(summary)
    }

    /// Replays these nodes of a graph in one piece, under `name`.
    pub fn replay(&mut self, name: &str, graph: &Graph, nodes: &[NodeId]) -> Result<Outcome, MeasureError> {
        if self.profile.replays.contains_key(name) {
            return Ok(Outcome::Known);
        }
        if self.is_over() {
            return Ok(Outcome::Skipped("the run ends".to_owned()));
        }
        // What stands in a model runs beside others; a model does not.
        let outcome =
            self.one(Subject::Part { graph, nodes }, 0, false, &|taken| Line::Replay { name: name.to_owned(), taken })?;
        self.save()?;
        Ok(outcome)
    }

    /// Measures a key against itself until the windows hold `count` such trials, and what polling the meter costs.
    pub fn trials(&mut self, key: &KernelKey, count: u32) -> Result<Outcome, MeasureError> {
        let mut last = Outcome::Known;
        while self.windows.trials() < count {
            if self.is_over() {
                return Ok(Outcome::Skipped("the run ends".to_owned()));
            }
            let number = self.windows.trials() + 1;
            for (pass, side) in [TrialSide::A, TrialSide::B].into_iter().enumerate() {
                let line = |taken| Line::Trial { number, side, key: key.to_string(), taken };
                last = self.one(Subject::Operator(key), pass as u32, false, &line)?;
                if matches!(last, Outcome::Skipped(_) | Outcome::Disturbed(_)) {
                    return Ok(last);
                }
            }
        }
        Ok(last)
    }

    /// Microseconds per execution of `key` with the meter polled and without; `None` if the run ends or it does not run.
    pub fn overhead(&mut self, key: &KernelKey) -> Result<Option<(f64, f64)>, MeasureError> {
        if self.is_over() {
            return Ok(None);
        }
        let taken = match self.rig.load(Subject::Operator(key), 0) {
            Ok(mut load) => overhead(&mut self.rig, &mut load, OVERHEAD_SPELLS),
            Err(reason) => Err(reason),
        };
        match taken {
            Ok((polled_us, alone_us)) => {
                self.keep(Line::Overhead { key: key.to_string(), polled_us, alone_us })?;
                Ok(Some((polled_us, alone_us)))
            }
            Err(NoRun::Skip(_)) => Ok(None),
            Err(NoRun::Over(error)) => Err(error.into()),
        }
    }

    /// Takes one measurement and writes it down. With `pace`, of what the power limit holds back also one with pauses.
    fn one(
        &mut self,
        subject: Subject,
        pass: u32,
        pace: bool,
        line: &dyn Fn(Measurement) -> Line,
    ) -> Result<Outcome, MeasureError> {
        let began = self.rig.now_s();
        self.rig.want_alone()?;
        let protocol = self.profile.protocol.clone();
        let taken = self.rig.load(subject, pass).and_then(|mut load| {
            // A quick run corrects for the temperature instead of bringing it about.
            if protocol.pace > 0.0 {
                keep_at_temperature(&mut self.rig, self.working_c)?;
            }
            measure_once(&mut self.rig, &mut load, &protocol, self.options.key_budget_s, pace && protocol.pace > 0.0)
        });
        let taken = match taken {
            Ok(taken) => taken,
            Err(NoRun::Skip(reason)) => return Ok(Outcome::Skipped(reason)),
            Err(NoRun::Over(error)) => return Err(error.into()),
        };
        let entry = match taken.entry(&self.windows.header.run(), &protocol) {
            Ok(entry) => entry,
            Err(error @ MeterError::Unsteady(_)) => return Ok(Outcome::Disturbed(error.to_string())),
            Err(error) => return Ok(Outcome::Skipped(error.to_string())),
        };
        self.keep(line(taken))?;
        self.taken = (self.taken.0 + 1, self.taken.1 + self.rig.now_s() - began);
        Ok(Outcome::Measured(entry))
    }

    /// Writes a line down, and, unless that was done a moment ago, the profile that follows from all of them.
    fn keep(&mut self, line: Line) -> Result<(), MeasureError> {
        self.file.append(&line)?;
        self.windows.lines.push(line);
        if self.rig.now_s() - self.saved_s >= SAVE_EVERY_S { self.save() } else { Ok(()) }
    }

    /// Brings the profile up to date with all lines, in memory and on disk.
    fn save(&mut self) -> Result<(), MeasureError> {
        self.profile = self.windows.profile("this run")?;
        self.profile.save(&self.options.profile)?;
        self.saved_s = self.rig.now_s();
        Ok(())
    }
}

/// Entries of a profile that tell how another card differs: bound by the device, taken as they will be again where there
/// are such, and spread over the keys.
fn overlap(profile: &Profile) -> Vec<&KernelKey> {
    let tells = |e: &Entry| !e.launch_bound && e.recorded == (e.time_us.mean < SHORT_US);
    let mut bound: Vec<&KernelKey> = profile.entries.iter().filter(|(_, e)| tells(e)).map(|(k, _)| k).collect();
    if bound.len() < OVERLAP {
        bound = profile.entries.iter().filter(|(_, e)| !e.launch_bound).map(|(k, _)| k).collect();
    }
    let step = (bound.len() / OVERLAP).max(1);
    bound.into_iter().step_by(step).take(OVERLAP).collect()
}

impl Summary {
    fn count(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Known => self.known += 1,
            Outcome::Measured(_) => self.measured += 1,
            Outcome::Skipped(_) | Outcome::Disturbed(_) => self.skipped += 1,
        }
    }

    /// Both of two rounds.
    pub fn and(self, other: Summary) -> Summary {
        Summary {
            measured: self.measured + other.measured,
            known: self.known + other.known,
            skipped: self.skipped + other.skipped,
            left: other.left,
        }
    }
}

/// The sum over operators against the whole replayed in one piece: `sum / whole`, of energy and of time.
pub fn sum_to_whole(energy_mj: &Figure, time_us: &Figure, whole: &Entry) -> Option<(f64, f64)> {
    let known = energy_mj.is_known() && time_us.is_known();
    known.then(|| (energy_mj.value / whole.energy_mj.mean, time_us.value / whole.time_us.mean))
}

#[cfg(test)]
#[path = "campaign_tests.rs"]
mod tests;
