//! Profiles: measured figures by operator key, as one readable JSON file per device and software.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use miette::Diagnostic;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::cost::{Figure, Source};
use super::estimate::Estimator;
use super::key::Key;

/// The format this program reads and writes.
pub const SCHEMA: &str = "magneton-ir/profile/1";

/// The profile that the program carries.
const SHIPPED: &str = include_str!("../../corpus/energy/h200.json");

/// What the figures were measured on. Figures of two profiles may be compared or joined only where it is the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    pub name: String,
    pub driver: String,
    pub libtorch: String,
    pub cuda: String,
}

/// How the figures were measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Protocol {
    /// The version of the measuring method.
    pub version: u32,
    /// Counter changes that a figure rests on, at least.
    pub least_changes: u32,
    pub warm_up_s: f64,
    /// Work queued between two synchronisations.
    pub queue_ms: f64,
    /// Operand sets are rotated up to this many bytes in all.
    pub rotate_mib: u32,
    /// Half-width that no interval goes under, as a fraction of the figure.
    pub least_half_width: f64,
}

/// A measured quantity and its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

impl Measured {
    pub fn figure(&self) -> Figure {
        Figure::new(self.mean, self.low, self.high, Source::Measured)
    }

    fn is_sane(&self) -> bool {
        let ordered = self.low <= self.mean && self.mean <= self.high;
        ordered && self.low >= 0.0 && self.mean > 0.0 && self.high.is_finite()
    }
}

/// One measuring run: one process on one card. Cards of one model differ, by up to a tenth in the energy of
/// memory traffic, so every run says how its figures stand to those of the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// From 1; what entries refer to.
    pub id: u32,
    /// The day, as `2026-11-21`.
    pub date: String,
    /// Power with a context open and nothing running.
    pub idle_w: f64,
    /// Figures of this run over those of the first, for what both measured; `None` for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against_first: Option<Spread>,
}

/// How the figures of one run stand to those of the first, by what limits the operator: device or host.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// Keys that the comparison rests on.
    pub keys: usize,
    pub energy: Ratio,
    pub time: Ratio,
    pub launch_bound_energy: Ratio,
    pub launch_bound_time: Ratio,
}

/// The range of a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ratio {
    pub low: f64,
    pub high: f64,
}

impl Ratio {
    pub const ONE: Ratio = Ratio { low: 1.0, high: 1.0 };

    /// A figure of a run in terms of the first run: the value stays, the interval reaches as far as the runs differ.
    fn widen(&self, m: &Measured) -> Figure {
        Figure::new(m.mean, m.low / self.high, m.high / self.low, Source::Measured)
    }

    fn is_sane(&self) -> bool {
        0.0 < self.low && self.low <= self.high && self.high.is_finite()
    }
}

impl Spread {
    /// The ratios of energy and time that apply to an entry.
    pub fn of(&self, entry: &Entry) -> (Ratio, Ratio) {
        if entry.launch_bound { (self.launch_bound_energy, self.launch_bound_time) } else { (self.energy, self.time) }
    }

    fn is_sane(&self) -> bool {
        [self.energy, self.time, self.launch_bound_energy, self.launch_bound_time].iter().all(Ratio::is_sane)
    }
}

/// What was measured for one key, per execution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The run that measured it.
    pub run: u32,
    pub energy_mj: Measured,
    pub time_us: Measured,
    /// Mean power while it ran.
    pub watts: f64,
    pub executions: u64,
    pub windows: u32,
    pub temperature_c: u32,
    pub sm_clock_mhz: u32,
    /// The host could not queue the work as fast as the device did it: the figure holds waiting too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub launch_bound: bool,
    /// Why the driver held the clocks down meanwhile; empty when it did not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub throttled: String,
}

impl Entry {
    fn is_sane(&self) -> bool {
        self.energy_mj.is_sane() && self.time_us.is_sane() && self.watts.is_finite() && self.watts > 0.0
    }
}

/// Measured figures of one device with one set of libraries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    pub device: Device,
    pub protocol: Protocol,
    pub runs: Vec<Run>,
    pub entries: BTreeMap<Key, Entry>,
    /// The estimator fitted on these entries; `None` until `profile fit` has run since they last changed.
    pub estimator: Option<Estimator>,
}

/// What stands in the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: String,
    device: Device,
    protocol: Protocol,
    runs: Vec<Run>,
    entries: BTreeMap<String, Entry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    estimator: Option<Estimator>,
}

/// Why a profile cannot be used.
#[derive(Debug, Error, Diagnostic)]
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
    #[error("{name} is written in the format {found:?}; this program reads {SCHEMA:?}")]
    #[diagnostic(code(profile::version), help("measure again, or use the version of the program that wrote it"))]
    Version { name: String, found: String },
    #[error("{name}: {source}")]
    #[diagnostic(code(profile::key), help("keys read like `add(f32[8, 4], f32[4])`"))]
    Key {
        name: String,
        #[source]
        source: super::key_parse::KeyError,
    },
    #[error("{name}: the figures of `{key}` make no sense")]
    #[diagnostic(code(profile::figures), help("energy and time have to be above 0, inside their intervals and finite"))]
    Figures { name: String, key: String },
    #[error("the runs have only {0} measured keys in common, too few to tell how their cards differ")]
    #[diagnostic(
        code(profile::nothing_in_common),
        help("measure at least {} of the first run's keys in the other run too", super::merge::LEAST_COMMON)
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

impl Profile {
    /// The profile that the program carries.
    pub fn shipped() -> Result<Profile, ProfileError> {
        Profile::parse("the shipped profile", SHIPPED)
    }

    /// Reads a profile from its text; `name` is what errors call it.
    pub fn parse(name: &str, text: &str) -> Result<Profile, ProfileError> {
        let malformed = |source| ProfileError::Malformed { name: name.to_owned(), source };
        // The schema first, so that a newer format is refused as such and not for its unknown keys.
        #[derive(Deserialize)]
        struct Schema {
            schema: String,
        }
        let Schema { schema } = serde_json::from_str(text).map_err(malformed)?;
        if schema != SCHEMA {
            return Err(ProfileError::Version { name: name.to_owned(), found: schema.chars().take(80).collect() });
        }
        let file: File = serde_json::from_str(text).map_err(malformed)?;
        if let Some(run) = file.runs.iter().find(|r| r.against_first.is_some_and(|s| !s.is_sane())) {
            return Err(ProfileError::Figures { name: name.to_owned(), key: format!("run {}", run.id) });
        }
        let mut entries = BTreeMap::new();
        for (text, entry) in file.entries {
            if !entry.is_sane() || !file.runs.iter().any(|r| r.id == entry.run) {
                return Err(ProfileError::Figures { name: name.to_owned(), key: text.chars().take(200).collect() });
            }
            let key = text.parse().map_err(|source| ProfileError::Key { name: name.to_owned(), source })?;
            entries.insert(key, entry);
        }
        let File { device, protocol, runs, estimator, .. } = file;
        let estimator = estimator.filter(Estimator::is_sane);
        Ok(Profile { device, protocol, runs, entries, estimator })
    }

    pub fn load(path: &Path) -> Result<Profile, ProfileError> {
        let text =
            std::fs::read_to_string(path).map_err(|source| ProfileError::Io { path: path.to_owned(), source })?;
        Profile::parse(&path.display().to_string(), &text)
    }

    /// The text of the file.
    pub fn to_json(&self) -> String {
        let file = File {
            schema: SCHEMA.to_owned(),
            device: self.device.clone(),
            protocol: self.protocol.clone(),
            runs: self.runs.clone(),
            entries: self.entries.iter().map(|(k, e)| (k.to_string(), e.clone())).collect(),
            estimator: self.estimator.clone(),
        };
        // Maps with string keys and finite numbers cannot fail to serialise.
        serde_json::to_string_pretty(&file).unwrap_or_default() + "\n"
    }

    /// Writes the file beside its place, then renames it there, so that a reader never sees half of it.
    pub fn save(&self, path: &Path) -> Result<(), ProfileError> {
        let io = |source| ProfileError::Io { path: path.to_owned(), source };
        let mut beside = path.as_os_str().to_owned();
        beside.push(".part");
        let beside = PathBuf::from(beside);
        let write = || {
            let mut file = std::fs::File::create(&beside)?;
            file.write_all(self.to_json().as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&beside, path)
        };
        write().map_err(io)
    }

    /// Energy in mJ and time in µs of a key, if it was measured. The intervals hold the difference between runs.
    pub fn figures(&self, key: &Key) -> Option<(Figure, Figure)> {
        let entry = self.entries.get(key)?;
        let spread = self.runs.iter().find(|r| r.id == entry.run).and_then(|r| r.against_first);
        let (energy, time) = spread.map_or((Ratio::ONE, Ratio::ONE), |s| s.of(entry));
        Some((energy.widen(&entry.energy_mj), time.widen(&entry.time_us)))
    }

    /// Fits the estimator anew on the entries.
    pub fn fit(&mut self) {
        self.estimator = Some(Estimator::fit(self));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: &str = r#"{ "run": 1, "energy_mj": {"mean": 2.0, "low": 1.9, "high": 2.1}, "time_us": {"mean": 5.0, "low": 4.9,
        "high": 5.1}, "watts": 400.0, "executions": 100, "windows": 5, "temperature_c": 40, "sm_clock_mhz": 1980 }"#;

    fn text(schema: &str, entries: &str) -> String {
        format!(
            r#"{{ "schema": "{schema}", "device": {{"name": "d", "driver": "1", "libtorch": "2", "cuda": "3"}}, "protocol":
            {{"version": 1, "least_changes": 10, "warm_up_s": 0.3, "queue_ms": 20, "rotate_mib": 256, "least_half_width": 0.005}},
            "runs": [{{"id": 1, "date": "2026-11-21", "idle_w": 120}}], "entries": {{ {entries} }} }}"#
        )
    }

    #[test]
    fn a_profile_survives_writing_and_reading() {
        let profile = Profile::parse("p", &text(SCHEMA, &format!(r#""neg(f32[4])": {ENTRY}"#))).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("p.json");
        profile.save(&path).unwrap();
        assert_eq!(Profile::load(&path).unwrap(), profile);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "the partial file is gone");
    }

    #[test]
    fn other_formats_are_refused() {
        let error = Profile::parse("p", &text("magneton-ir/profile/2", r#""x": 1"#)).unwrap_err();
        assert!(matches!(error, ProfileError::Version { .. }), "{error}");
    }

    #[test]
    fn hostile_files_give_errors() {
        let bad_number = ENTRY.replace("2.0", "-2.0");
        let outside = ENTRY.replace("2.0", "2.2");
        let huge = ENTRY.replace("2.1", "1e999");
        for entries in [
            format!(r#""nope(f32[4])": {ENTRY}"#),
            format!(r#""neg(f32[99999999999999999])": {ENTRY}"#),
            format!(r#""neg(f32[4])": {bad_number}"#),
            format!(r#""neg(f32[4])": {outside}"#),
            format!(r#""neg(f32[4])": {huge}"#),
            format!(r#""neg(f32[4])": {}"#, ENTRY.replace("\"run\": 1", "\"run\": 2")),
            r#""neg(f32[4])": {}"#.to_owned(),
            r#""neg(f32[4])": null"#.to_owned(),
        ] {
            assert!(Profile::parse("p", &text(SCHEMA, &entries)).is_err(), "{entries}");
        }
        for whole in ["", "[]", "{", "null", "{\"schema\": 3}", &"[".repeat(100_000)] {
            assert!(Profile::parse("p", whole).is_err());
        }
    }

    #[test]
    fn the_shipped_profile_reads() {
        let profile = Profile::shipped().unwrap();
        assert_eq!(profile.device.name, "NVIDIA H200");
    }
}
