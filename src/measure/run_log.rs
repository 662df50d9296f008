//! The raw windows of one run: what every figure is reckoned from, one JSON object a line.
//!
//! The first line says what was measured on and how; every other line is one finished measurement. A line is written as
//! soon as it is there, so a run that is stopped loses nothing but what it was at; its profile follows from the lines.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use miette::Diagnostic;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::leakage;
use super::measurement::Measurement;
use super::meter::{MeterError, counter_s};
use super::passes::join;
use crate::energy::{
    BackendKind, Device, KernelKey, KeyError, MeterKind, Profile, ProfileError, Protocol, Run, want_schema,
};

/// The format this program reads and writes.
pub const RUN_LOG_SCHEMA: &str = "magneton-ir/windows/3";

/// Why the windows of a run cannot be read or written.
#[derive(Debug, Error, Diagnostic)]
pub enum RunLogError {
    #[error("{}: {source}", path.display())]
    #[diagnostic(code(profile::io), help("check that the path exists and may be read and written"))]
    Io {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("{name} does not hold the raw windows of a run: {reason}")]
    #[diagnostic(
        code(profile::windows),
        help("`magneton-ir measure` writes them beside the profile, as FILE.windows.jsonl")
    )]
    Malformed { name: String, reason: String },
    #[error("{name}: {source}")]
    #[diagnostic(code(profile::key), help("keys read like `add(f32[8, 4], f32[4])`"))]
    Key {
        name: String,
        #[source]
        source: KeyError,
    },
    #[error("{name}: the windows of `{key}` give no figure: {source}")]
    #[diagnostic(code(profile::reckon))]
    NoFigure {
        name: String,
        key: String,
        #[source]
        source: MeterError,
    },
    #[error(transparent)]
    #[diagnostic(transparent)]
    Profile(#[from] ProfileError),
}

/// The most bytes of windows that are read from one file, unpacked.
const MOST_BYTES: u64 = 256 << 20;

/// The first line: what was measured on, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    pub schema: String,
    pub device: Device,
    pub protocol: Protocol,
    /// The card: the first digits of its UUID.
    pub card: String,
    pub date: String,
    pub idle_w: f64,
    #[serde(default, skip_serializing_if = "BackendKind::is_default")]
    pub backend: BackendKind,
    /// The temperature that every measurement starts from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_c: Option<f64>,
}

impl Header {
    /// The run as a profile lists it, as its first.
    pub fn run(&self) -> Run {
        Run {
            id: 1,
            card: self.card.clone(),
            date: self.date.clone(),
            idle_w: self.idle_w,
            backend: self.backend,
            leakage: leakage::correction(&self.device.name),
            counter_s: counter_s(&self.device.name).filter(|_| self.protocol.meter == MeterKind::EnergyCounter),
            against_others: None,
        }
    }
}

/// One side of an A-against-A trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialSide {
    A,
    B,
}

/// One measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Line {
    /// An operator, by its key.
    Operator {
        key: String,
        #[serde(flatten)]
        taken: Measurement,
    },
    /// A whole graph or a region, replayed in one piece.
    Replay {
        name: String,
        #[serde(flatten)]
        taken: Measurement,
    },
    /// One side of the comparison of an operator with itself.
    Trial {
        number: u32,
        side: TrialSide,
        key: String,
        #[serde(flatten)]
        taken: Measurement,
    },
    /// Time per execution with the meter polled and without, median of alternating spells.
    Overhead { key: String, polled_us: f64, alone_us: f64 },
}

impl Line {
    /// What the measurement saw; `None` for a test of the meter.
    pub(super) fn taken(&self) -> Option<&Measurement> {
        match self {
            Line::Operator { taken, .. } | Line::Replay { taken, .. } | Line::Trial { taken, .. } => Some(taken),
            Line::Overhead { .. } => None,
        }
    }
}

/// The windows of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunLog {
    pub header: Header,
    pub lines: Vec<Line>,
}

/// Where the windows of a profile under measurement are kept: beside it.
pub fn run_log_path(profile: &Path) -> PathBuf {
    profile.with_extension("windows.jsonl")
}

impl RunLog {
    /// Reads the lines of one run. A last line without an end was being written when the run was stopped: it is left out.
    pub fn parse(name: &str, text: &str) -> Result<RunLog, RunLogError> {
        let reason = |reason: String| RunLogError::Malformed { name: name.to_owned(), reason };
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let mut lines = whole.lines();
        let first = lines.next().ok_or_else(|| reason("it is empty".to_owned()))?;
        want_schema(name, first, RUN_LOG_SCHEMA)?;
        let header = serde_json::from_str(first).map_err(|e| reason(e.to_string()))?;
        let parse =
            |(i, line): (usize, &str)| serde_json::from_str(line).map_err(|e| reason(format!("line {}: {e}", i + 2)));
        let lines: Vec<Line> = lines.enumerate().map(parse).collect::<Result<_, _>>()?;
        Ok(RunLog { header, lines })
    }

    /// Reads the runs of a file: one from text, one per member from a zip archive, in the order of their names.
    pub fn load(path: &Path) -> Result<Vec<RunLog>, RunLogError> {
        RunLog::load_within(path, MOST_BYTES)
    }

    fn load_within(path: &Path, max_bytes: u64) -> Result<Vec<RunLog>, RunLogError> {
        let io = |source| RunLogError::Io { path: path.to_owned(), source };
        let name = path.display().to_string();
        let bytes = std::fs::read(path).map_err(io)?;
        if !bytes.starts_with(b"PK") {
            return Ok(vec![RunLog::parse(&name, &String::from_utf8_lossy(&bytes))?]);
        }
        let broken = |e: String| RunLogError::Malformed { name: name.clone(), reason: e };
        let mut archive = zip::ZipArchive::new(std::io::Cursor::new(&bytes)).map_err(|e| broken(e.to_string()))?;
        let mut members = BTreeMap::new();
        let mut room = max_bytes;
        for i in 0..archive.len() {
            let member = archive.by_index(i).map_err(|e| broken(e.to_string()))?;
            let of = format!("{} in {name}", member.name().map_err(|e| broken(e.to_string()))?);
            let mut text = String::new();
            // What is cut off would be taken for a line that was being written when its run was stopped.
            member.take(room + 1).read_to_string(&mut text).map_err(|e| broken(e.to_string()))?;
            room = room
                .checked_sub(text.len() as u64)
                .ok_or_else(|| broken(format!("its members take more than {} MiB unpacked", max_bytes >> 20)))?;
            members.insert(of.clone(), RunLog::parse(&of, &text)?);
        }
        Ok(members.into_values().collect())
    }

    /// The profile that the windows give, as run 1. Several measurements of one key are passes of one figure.
    pub fn profile(&self, name: &str) -> Result<Profile, RunLogError> {
        let h = &self.header;
        let run = h.run();
        let mut operators: IndexMap<&str, Vec<&Measurement>> = IndexMap::new();
        let mut replays: IndexMap<&str, Vec<&Measurement>> = IndexMap::new();
        for line in &self.lines {
            match line {
                Line::Operator { key, taken } => operators.entry(key).or_default().push(taken),
                Line::Replay { name, taken } => replays.entry(name).or_default().push(taken),
                Line::Trial { .. } | Line::Overhead { .. } => {}
            }
        }
        let joined = |of: &str, passes: &[&Measurement]| match join(passes, &run, &h.protocol) {
            // Earlier versions of the method wrote down what was not steady.
            Err(MeterError::Unsteady(_)) => Ok(None),
            Err(source) => Err(RunLogError::NoFigure { name: name.to_owned(), key: of.to_owned(), source }),
            Ok(entry) => Ok(Some(entry)),
        };
        let mut profile = Profile { device: h.device.clone(), protocol: h.protocol.clone(), ..Profile::default() };
        for (text, passes) in operators {
            let key: KernelKey = text.parse().map_err(|source| RunLogError::Key { name: name.to_owned(), source })?;
            let Some(entry) = joined(text, &passes)? else { continue };
            // Two spellings of one key: the first counts.
            profile.entries.entry(key).or_insert(entry);
        }
        for (text, passes) in replays {
            if let Some(entry) = joined(text, &passes)? {
                profile.replays.insert(text.to_owned(), entry);
            }
        }
        profile.runs.push(run);
        Ok(profile)
    }

    /// How often each operator was measured with nothing amiss.
    pub(super) fn passes(&self) -> FxHashMap<KernelKey, u32> {
        let mut all = FxHashMap::default();
        let run = self.header.run();
        for line in &self.lines {
            if let Line::Operator { key, taken } = line
                && taken.entry(&run, &self.header.protocol).is_ok()
                && let Ok(key) = key.parse()
            {
                *all.entry(key).or_default() += 1;
            }
        }
        all
    }

    /// Whole A-against-A trials among the lines.
    pub(super) fn trials(&self) -> u32 {
        self.lines.iter().filter(|l| matches!(l, Line::Trial { side: TrialSide::B, .. })).count() as u32
    }

    /// The lines as text.
    pub fn to_text(&self) -> String {
        let mut text = json(&self.header);
        for line in &self.lines {
            text += &json(line);
        }
        text
    }
}

fn json(value: &impl Serialize) -> String {
    // Structures with string keys and finite numbers cannot fail to serialise.
    serde_json::to_string(value).unwrap_or_default() + "\n"
}

/// A file of windows under measurement.
pub(super) struct RunLogFile {
    path: PathBuf,
}

impl RunLogFile {
    /// Begins a file with its header.
    pub(super) fn create(path: &Path, header: &Header) -> Result<RunLogFile, RunLogError> {
        let io = |source| RunLogError::Io { path: path.to_owned(), source };
        std::fs::write(path, json(header)).map_err(io)?;
        Ok(RunLogFile { path: path.to_owned() })
    }

    /// Goes on with a file; what stands behind its last whole line is cut off.
    pub(super) fn resume(path: &Path) -> Result<(RunLogFile, RunLog), RunLogError> {
        let io = |source| RunLogError::Io { path: path.to_owned(), source };
        let text = String::from_utf8_lossy(&std::fs::read(path).map_err(io)?).into_owned();
        let windows = RunLog::parse(&path.display().to_string(), &text)?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        if whole < text.len() {
            let file = std::fs::OpenOptions::new().write(true).open(path).map_err(io)?;
            file.set_len(whole as u64).map_err(io)?;
        }
        Ok((RunLogFile { path: path.to_owned() }, windows))
    }

    /// Adds a line and sees it on disk.
    pub(super) fn append(&self, line: &Line) -> Result<(), RunLogError> {
        let write = || {
            let mut file = std::fs::OpenOptions::new().append(true).open(&self.path)?;
            file.write_all(json(line).as_bytes())?;
            file.sync_data()
        };
        write().map_err(|source| RunLogError::Io { path: self.path.clone(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_that_are_too_large_are_refused_and_not_cut_off() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/energy/h200.windows.zip");
        let whole = RunLog::load(&path).unwrap();
        let size: u64 = whole.iter().map(|w| w.to_text().len() as u64).sum();
        assert_eq!(RunLog::load_within(&path, 2 * size).unwrap(), whole);
        for max_bytes in [0, 1000, size / 2] {
            assert!(matches!(RunLog::load_within(&path, max_bytes), Err(RunLogError::Malformed { .. })));
        }
    }
}
