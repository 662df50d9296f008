//! Profiles: measured figures by operator key, of one device and one set of libraries.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use miette::Diagnostic;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::cost::Figure;
use super::estimate::Estimator;
use super::host::HostCosts;
use super::key::KernelKey;
use super::measured::{MOST, MOST_WATTS, Measured};
use super::spread::{Repeat, Spread, repeated};

/// The newest version of the measuring method whose figures this program knows how to read.
pub(crate) const METHOD_VERSION: u32 = 10;

/// What the figures were measured on. Figures of two profiles may be joined only where it is the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// As the driver names it.
    pub name: String,
    /// Version of the driver.
    pub driver: String,
    /// Version of libtorch.
    pub libtorch: String,
    /// Version of CUDA.
    pub cuda: String,
}

/// What the joules were read off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MeterKind {
    /// The driver's counter of all energy drawn.
    #[default]
    EnergyCounter,
    /// The driver's instant power, integrated over time, on GPUs that have no counter.
    InstantPower,
}

/// Operators that take less than this are recorded wherever they can be: between two executions that are queued one by one,
/// an H200 pauses for 1.5 µs.
pub(crate) const SHORT_US: f64 = 20.0;

/// What ran the operators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BackendKind {
    /// The libtorch that the program was built with.
    #[default]
    Libtorch,
    /// A Python process with PyTorch.
    Python,
}

impl fmt::Display for BackendKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BackendKind::Libtorch => "libtorch",
            BackendKind::Python => "a Python process",
        })
    }
}

impl BackendKind {
    /// Whether a file need not say so.
    pub(crate) fn is_default(&self) -> bool {
        *self == BackendKind::default()
    }
}

/// How the figures were measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Protocol {
    /// The version of the measuring method.
    pub version: u32,
    /// What measured the energy.
    pub meter: MeterKind,
    /// Counter changes that a figure rests on, at least.
    #[serde(alias = "least_changes")]
    pub min_changes: u32,
    /// Beyond `min_changes`, measuring goes on until the interval is this narrow, as a fraction of the figure ...
    pub target_half_width: f64,
    /// ... or until there are this many changes.
    #[serde(alias = "most_changes")]
    pub max_changes: u32,
    /// Changes, at least, where the power limit holds the clocks down: it lets the power swing.
    #[serde(default)]
    pub capped_changes: u32,
    /// Work before the first measurement, in seconds.
    pub warm_up_s: f64,
    /// Work queued between two synchronisations.
    pub queue_ms: f64,
    /// Operand sets are rotated up to this many bytes in all ...
    pub rotate_mib: u32,
    /// ... and through this many places in memory at least, as far as memory goes; in whole graphs they are many anyhow.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub places: u32,
    /// What one measurement may be off by without seeing it, as a fraction of the figure: no interval is narrower, over the
    /// square root of the number of passes.
    #[serde(alias = "least_half_width")]
    pub min_half_width: f64,
    /// More passes follow until the mean of an operator's passes is this well known: the half-width of its interval at 95 %,
    /// as a fraction. 0 where their number was fixed.
    #[serde(default, skip_serializing_if = "is_nought")]
    pub mean_half_width: f64,
    /// Share of the time in which a load runs that is measured with pauses.
    #[serde(default)]
    pub pace: f64,
}

/// No GPU runs hotter or colder.
const MOST_DEGREES: f64 = 300.0;

/// One measuring run: one process on one card. Cards of one model differ, by up to a tenth in the energy of
/// memory traffic, so every run says how far its figures are from those of the others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// From 1; what entries refer to.
    pub id: u32,
    /// The card: the first digits of its UUID.
    pub card: String,
    /// The day, as `2026-11-21`.
    pub date: String,
    /// Power with a context open and nothing running.
    pub idle_w: f64,
    /// What ran the operators.
    #[serde(default, skip_serializing_if = "BackendKind::is_default")]
    pub backend: BackendKind,
    /// What a degree costs and the temperature that its figures are stated for, where that is known of the GPU; else they
    /// stand as they were measured.
    #[serde(default, rename = "warmth", skip_serializing_if = "Option::is_none")]
    pub leakage: Option<LeakageCorrection>,
    /// The seconds between two changes of the counter, where it is known of the GPU that they are even.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counter_s: Option<f64>,
    /// How far its figures are from those of the runs before it, for what both measured; `None` for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against_others: Option<Spread>,
}

/// What a warmer chip draws more: one temperature coefficient serves all runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeakageCorrection {
    /// Power lost for each degree, in watts per °C.
    pub watts_per_c: f64,
    /// The temperature that figures are stated for.
    pub reference_c: f64,
}

impl LeakageCorrection {
    fn is_sane(&self) -> bool {
        self.watts_per_c >= 0.0 && self.watts_per_c.is_finite() && self.reference_c.is_finite()
    }
}

impl Run {
    pub(super) fn is_sane(&self) -> bool {
        (0.0..=MOST_WATTS).contains(&self.idle_w)
            && self.counter_s.is_none_or(|s| s > 0.0 && s <= MOST)
            && self.leakage.is_none_or(|w| w.is_sane())
            && self.against_others.is_none_or(|s| s.is_sane())
    }

    /// Whether it is the same run, whatever number it has and whatever it was compared with.
    pub(super) fn is_that(&self, other: &Run) -> bool {
        *other == Run { id: other.id, against_others: other.against_others, ..self.clone() }
    }
}

impl Protocol {
    pub(super) fn is_sane(&self) -> bool {
        let lengths = [self.warm_up_s, self.queue_ms];
        let fractions = [self.target_half_width, self.min_half_width, self.mean_half_width, self.pace];
        lengths.iter().all(|l| (0.0..=MOST).contains(l)) && fractions.iter().all(|f| (0.0..=1.0).contains(f))
    }
}

/// What was measured for one key, per execution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The run that measured it.
    pub run: u32,
    /// Energy of one execution, in millijoules.
    pub energy_mj: Measured,
    /// Time of one execution, in microseconds.
    pub time_us: Measured,
    /// Mean power while it ran.
    pub watts: f64,
    /// Executions that were measured.
    pub executions: u64,
    /// Windows between changes of the counter.
    pub windows: u32,
    /// Measurements that the figure is the mean of, each with operands at other addresses.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub passes: u32,
    /// Mean temperature of the GPU, in °C.
    pub temperature_c: f64,
    /// Mean clock of the multiprocessors, in MHz.
    pub sm_clock_mhz: u32,
    /// The host could not queue the work as fast as the device did it: the figure holds waiting too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub launch_bound: bool,
    /// Executions were recorded in large pieces, which the device works off without the host: a CUDA graph. Done where they
    /// are short, or the host could not queue them fast enough one by one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recorded: bool,
    /// Why the driver held the clocks down meanwhile; empty when it did not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub throttled: String,
    /// The same operator with pauses; for those that the power limit holds back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paced: Option<PacedEntry>,
}

/// What an operator takes at the higher clock that it has where the power limit does not hold it back as much: measured
/// with pauses, and without what the device draws in them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PacedEntry {
    /// Energy of one execution, in millijoules.
    pub energy_mj: Measured,
    /// Time from one execution to the next, in microseconds.
    pub time_us: Measured,
    /// Mean power while it ran.
    pub watts: f64,
    /// Mean clock of the multiprocessors, in MHz.
    pub sm_clock_mhz: u32,
}

fn is_zero(places: &u32) -> bool {
    *places == 0
}

fn is_nought(half_width: &f64) -> bool {
    *half_width == 0.0
}

fn one() -> u32 {
    1
}

fn is_one(passes: &u32) -> bool {
    *passes == 1
}

/// Whether the driver's reasons for holding clocks down, such as `SW_POWER_CAP`, name the card's power limit.
pub(crate) fn is_power_capped(throttled: &str) -> bool {
    throttled.contains("SW_POWER_CAP")
}

impl Entry {
    pub(super) fn is_sane(&self) -> bool {
        let is_sane = |energy: &Measured, time: &Measured, watts: f64| {
            energy.is_sane() && time.is_sane() && watts > 0.0 && watts <= MOST_WATTS
        };
        self.temperature_c.abs() <= MOST_DEGREES
            && is_sane(&self.energy_mj, &self.time_us, self.watts)
            && self.paced.as_ref().is_none_or(|p| is_sane(&p.energy_mj, &p.time_us, p.watts))
    }

    /// Whether the other figure of the same operator is the better one: it was recorded, and this one holds waiting for the
    /// host, or, where the operator is short, the pauses between launches, or rests on fewer passes.
    pub(super) fn is_superseded_by(&self, other: &Entry) -> bool {
        if !other.recorded || other.launch_bound {
            return false;
        }
        let has_enough_passes = if self.recorded { other.passes > self.passes } else { other.passes >= self.passes };
        self.launch_bound || other.time_us.mean < SHORT_US && has_enough_passes
    }

    /// Whether the power limit held the clocks down.
    pub fn is_capped(&self) -> bool {
        is_power_capped(&self.throttled)
    }
}

/// Measured figures of one device with one set of libraries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// What was measured on.
    pub device: Device,
    /// How it was measured.
    pub protocol: Protocol,
    /// The runs that figures come from.
    pub runs: Vec<Run>,
    /// What was measured, by kernel.
    pub entries: BTreeMap<KernelKey, Entry>,
    /// Whole graphs and regions replayed in one piece, by name: what sums of entries are checked against.
    pub replays: BTreeMap<String, Entry>,
    /// The estimator fitted on the entries; `None` until `profile fit` has run since they last changed.
    pub estimator: Option<Estimator>,
    /// What launching takes the host; `None` where that was not measured.
    pub host: Option<HostCosts>,
}

/// Why a profile cannot be used.
#[derive(Debug, Error, Diagnostic)]
#[allow(missing_docs, reason = "the message of each variant says it")]
pub enum ProfileError {
    #[error("{}: {source}", path.display())]
    #[diagnostic(code(profile::io), help("check that the path exists and may be read and written"))]
    Io {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("{name} is no profile: {source}")]
    #[diagnostic(code(profile::malformed), help("a profile is the JSON file that `magneton-ir measure` writes"))]
    Malformed {
        name: String,
        #[source]
        source: serde_json::Error,
    },
    #[error("{name} is written in the format {found:?}; this program reads {wanted:?}")]
    #[diagnostic(code(profile::version), help("measure again, or use the version of the program that wrote it"))]
    Version { name: String, found: String, wanted: &'static str },
    #[error("{name}: {source}")]
    #[diagnostic(code(profile::key), help("keys read like `add(f32[8, 4], f32[4])`"))]
    Key {
        name: String,
        #[source]
        source: super::key_parse::KeyError,
    },
    #[error("{name} was measured by version {found} of the method; this program knows versions 1 to {known}")]
    #[diagnostic(code(profile::method), help("use the version of the program that measured it"))]
    Method { name: String, found: u32, known: u32 },
    #[error("{name}: two runs have the number {run}")]
    #[diagnostic(code(profile::runs), help("entries refer to runs by their numbers"))]
    Twice { name: String, run: u32 },
    #[error("{name}: the figures of `{key}` make no sense")]
    #[diagnostic(
        code(profile::figures),
        help(
            "energy and time have to be above 0, inside their intervals, and what a GPU can take; entries name a run of the file"
        )
    )]
    Figures { name: String, key: String },
    #[error("the runs have only {0} measured keys in common, too few to tell how their cards differ")]
    #[diagnostic(
        code(profile::nothing_in_common),
        help("measure at least {} of the keys of one profile for the other one too", MIN_COMMON)
    )]
    NothingInCommon(usize),
    #[error("the profiles differ in {what}: {left:?} and {right:?}")]
    #[diagnostic(
        code(profile::mixed),
        help(
            "figures of different devices or libraries are never joined; compare them with `magneton-ir profile diff`"
        )
    )]
    Mixed { what: &'static str, left: String, right: String },
}

impl ProfileError {
    pub(super) fn version(name: &str, found: &str) -> ProfileError {
        ProfileError::Version { name: name.to_owned(), found: found.chars().take(80).collect(), wanted: SCHEMA }
    }
}

impl Profile {
    /// Energy in mJ and time in µs of a key, if it was measured. The intervals hold the difference between runs.
    pub fn figures(&self, key: &KernelKey) -> Option<(Figure, Figure)> {
        let entry = self.entries.get(key)?;
        let spreads = || self.runs.iter().filter_map(|r| r.against_others.as_ref());
        let pooled = |launch_bound| Repeat::pooled(spreads().map(move |s| s.of(launch_bound)));
        // Where no two runs have launch-bound keys in common, those differ at least as much as the others.
        let (launch_bound, all) = match pooled(entry.launch_bound) {
            Repeat { keys: 0, .. } => (false, pooled(false)),
            all => (entry.launch_bound, all),
        };
        let run = self.runs.iter().find(|r| r.id == entry.run).and_then(|r| r.against_others.as_ref());
        let own = run.map_or(Repeat::default(), |spread| *spread.of(launch_bound));
        let repeat = own.drawn_to(&all);
        Some((repeated(&entry.energy_mj, repeat.energy_sd), repeated(&entry.time_us, repeat.time_sd)))
    }

    /// Fits the estimator anew on the entries.
    pub fn fit(&mut self) {
        self.estimator = Some(Estimator::fit(self));
    }
}

/// Fewest device-bound keys that a run has to share with the runs before it.
pub(crate) const MIN_COMMON: usize = 3;

/// The format this program reads and writes.
pub(super) const SCHEMA: &str = "magneton-ir/profile/6";
