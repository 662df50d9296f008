//! Profiles as files: JSON with one entry a line, so that a change to one shows as one line.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::estimate::Estimator;
use super::host::HostCosts;
use super::key::KernelKey;
use super::profile::{Device, Entry, METHOD_VERSION, Profile, ProfileError, Protocol, Run, SCHEMA};
use super::unique::unique;
use crate::files;
use crate::ops::KernelClass;

/// The profile that the program carries.
const SHIPPED: &str = include_str!("../../corpus/energy/h200.json");

/// The largest file that is read, in bytes.
const MOST_BYTES: u64 = 64 << 20;

/// What stands in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    #[serde(rename = "schema")]
    _schema: String,
    device: Device,
    protocol: Protocol,
    runs: Vec<Run>,
    #[serde(deserialize_with = "unique")]
    entries: BTreeMap<String, Entry>,
    #[serde(default, deserialize_with = "unique")]
    replays: BTreeMap<String, Entry>,
    #[serde(default)]
    estimator: Option<Estimator>,
    #[serde(default)]
    host: Option<HostCosts>,
}

/// Refuses a file of another format as such, before its unknown keys are met.
pub(crate) fn want_schema(name: &str, text: &str, schema: &str) -> Result<(), ProfileError> {
    #[derive(Deserialize)]
    struct Schema {
        schema: String,
    }
    let found: Schema =
        serde_json::from_str(text).map_err(|source| ProfileError::Malformed { name: name.to_owned(), source })?;
    if found.schema == schema { Ok(()) } else { Err(ProfileError::version(name, &found.schema)) }
}

fn line(value: &impl Serialize) -> String {
    // Structures with string keys and finite numbers cannot fail to serialise.
    serde_json::to_string(value).unwrap_or_default()
}

/// `"key": value` lines between braces.
fn lines<'a, K: ToString + 'a, V: Serialize + 'a>(all: impl IntoIterator<Item = (K, V)>) -> String {
    let all: Vec<String> = all.into_iter().map(|(k, v)| format!("{}: {}", line(&k.to_string()), line(&v))).collect();
    if all.is_empty() { "{}".to_owned() } else { format!("{{\n  {}\n}}", all.join(",\n  ")) }
}

/// The name of a class as serde writes it.
fn class_name(class: &KernelClass) -> String {
    line(class).trim_matches('"').to_owned()
}

impl Profile {
    /// The profile that the program carries.
    ///
    /// # Errors
    /// A damaged profile, which tests rule out.
    pub fn shipped() -> Result<Profile, ProfileError> {
        Profile::parse("the shipped profile", SHIPPED)
    }

    /// Reads a profile from its text; `name` is what errors call it.
    ///
    /// # Errors
    /// Text that is no profile, or a profile of another version.
    pub fn parse(name: &str, text: &str) -> Result<Profile, ProfileError> {
        want_schema(name, text, SCHEMA)?;
        let file: Content =
            serde_json::from_str(text).map_err(|source| ProfileError::Malformed { name: name.to_owned(), source })?;
        let senseless =
            |key: &str| ProfileError::Figures { name: name.to_owned(), key: key.chars().take(200).collect() };
        let version = file.protocol.version;
        // A profile without runs was measured by no method.
        if version > METHOD_VERSION || version == 0 && !file.runs.is_empty() {
            return Err(ProfileError::Method { name: name.to_owned(), found: version, known: METHOD_VERSION });
        }
        if !file.protocol.is_sane() {
            return Err(senseless("protocol"));
        }
        let mut ids = BTreeSet::new();
        for run in &file.runs {
            if !ids.insert(run.id) {
                return Err(ProfileError::Twice { name: name.to_owned(), run: run.id });
            }
            if !run.is_sane() {
                return Err(senseless(&format!("run {}", run.id)));
            }
        }
        if file.estimator.as_ref().is_some_and(|e| !e.is_sane()) {
            return Err(senseless("estimator"));
        }
        if file.host.as_ref().is_some_and(|h| !h.is_sane()) {
            return Err(senseless("host"));
        }
        let known = |entry: &Entry| entry.is_sane() && ids.contains(&entry.run);
        if let Some((name, _)) = file.replays.iter().find(|(_, e)| !known(e)) {
            return Err(senseless(name));
        }
        let mut entries: BTreeMap<KernelKey, Entry> = BTreeMap::new();
        for (text, entry) in file.entries {
            if !known(&entry) {
                return Err(senseless(&text));
            }
            let key = text.parse().map_err(|source| ProfileError::Key { name: name.to_owned(), source })?;
            // Two spellings of one key: the earlier run counts, then the entry that rests on more.
            let rank = |e: &Entry| (e.run, std::cmp::Reverse(e.executions));
            if entries.get(&key).is_none_or(|other| rank(&entry) < rank(other)) {
                entries.insert(key, entry);
            }
        }
        let Content { device, protocol, runs, replays, estimator, host, .. } = file;
        Ok(Profile { device, protocol, runs, entries, replays, estimator, host })
    }

    /// Reads a profile and verifies its figures.
    ///
    /// # Errors
    /// A file that cannot be read, or is no profile; figures that do not follow from their parts.
    pub fn load(path: &Path) -> Result<Profile, ProfileError> {
        let io = |source| ProfileError::Io { path: path.to_owned(), source };
        let mut text = String::new();
        File::open(path).map_err(io)?.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(io)?;
        if text.len() as u64 > MOST_BYTES {
            return Err(io(std::io::Error::other(format!("the file is larger than {} MiB", MOST_BYTES >> 20))));
        }
        Profile::parse(&path.display().to_string(), &text)
    }

    /// The text of the file.
    pub fn to_json(&self) -> String {
        let runs: Vec<String> = self.runs.iter().map(line).collect();
        let runs = if runs.is_empty() { "[]".to_owned() } else { format!("[\n  {}\n]", runs.join(",\n  ")) };
        let mut text = format!(
            "{{\n\"schema\": {},\n\"device\": {},\n\"protocol\": {},\n\"runs\": {runs},\n\"entries\": {},\n\"replays\": {}",
            line(&SCHEMA),
            line(&self.device),
            line(&self.protocol),
            lines(&self.entries),
            lines(&self.replays),
        );
        if let Some(host) = &self.host {
            text += &format!(",\n\"host\": {}", line(host));
        }
        if let Some(Estimator { device, classes, overall }) = &self.estimator {
            let classes = lines(classes.iter().map(|(class, fit)| (class_name(class), fit)));
            let (device, overall) = (line(device), line(overall));
            text += &format!(
                ",\n\"estimator\": {{ \"device\": {device}, \"classes\": {classes}, \"overall\": {overall} }}"
            );
        }
        text + "\n}\n"
    }

    /// Writes the file whole or not at all: a reader never sees half of it.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), ProfileError> {
        files::write(path, self.to_json().as_bytes())
            .map_err(|source| ProfileError::Io { path: path.to_owned(), source })
    }
}

#[cfg(test)]
#[path = "profile_tests.rs"]
mod tests;
