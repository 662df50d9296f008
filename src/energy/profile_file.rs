//! Profiles as files: JSON with one entry a line, so that a change to one shows as one line.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::estimate::Estimator;
use super::key::Key;
use super::profile::{Device, Entry, Profile, ProfileError, Protocol, Run};
use crate::files;

/// The format this program reads and writes.
pub const SCHEMA: &str = "magneton-ir/profile/4";

/// The profile that the program carries.
const SHIPPED: &str = include_str!("../../corpus/energy/h200.json");

/// What stands in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "schema")]
    _schema: String,
    device: Device,
    protocol: Protocol,
    runs: Vec<Run>,
    entries: BTreeMap<String, Entry>,
    #[serde(default)]
    replays: BTreeMap<String, Entry>,
    #[serde(default)]
    estimator: Option<Estimator>,
}

/// Refuses a file of another format as such, before its unknown keys are met.
pub(super) fn want_schema(name: &str, text: &str, schema: &str) -> Result<(), ProfileError> {
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

impl Profile {
    /// The profile that the program carries.
    pub fn shipped() -> Result<Profile, ProfileError> {
        Profile::parse("the shipped profile", SHIPPED)
    }

    /// Reads a profile from its text; `name` is what errors call it.
    pub fn parse(name: &str, text: &str) -> Result<Profile, ProfileError> {
        want_schema(name, text, SCHEMA)?;
        let file: File =
            serde_json::from_str(text).map_err(|source| ProfileError::Malformed { name: name.to_owned(), source })?;
        let senseless =
            |key: &str| ProfileError::Figures { name: name.to_owned(), key: key.chars().take(200).collect() };
        let sane = |r: &Run| r.against_first.is_none_or(|s| s.is_sane()) && r.warmth.is_none_or(|w| w.is_sane());
        if let Some(run) = file.runs.iter().find(|r| !sane(r)) {
            return Err(senseless(&format!("run {}", run.id)));
        }
        let known = |entry: &Entry| entry.is_sane() && file.runs.iter().any(|r| r.id == entry.run);
        if let Some((name, _)) = file.replays.iter().find(|(_, e)| !known(e)) {
            return Err(senseless(name));
        }
        let mut entries: BTreeMap<Key, Entry> = BTreeMap::new();
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
        let File { device, protocol, runs, replays, estimator, .. } = file;
        let estimator = estimator.filter(Estimator::is_sane);
        Ok(Profile { device, protocol, runs, entries, replays, estimator })
    }

    pub fn load(path: &Path) -> Result<Profile, ProfileError> {
        let text =
            std::fs::read_to_string(path).map_err(|source| ProfileError::Io { path: path.to_owned(), source })?;
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
        if let Some(estimator) = &self.estimator {
            let (groups, overall) = (lines(&estimator.groups), line(&estimator.overall));
            text += &format!(",\n\"estimator\": {{ \"groups\": {groups}, \"overall\": {overall} }}");
        }
        text + "\n}\n"
    }

    /// Writes the file whole or not at all: a reader never sees half of it.
    pub fn save(&self, path: &Path) -> Result<(), ProfileError> {
        files::write(path, self.to_json().as_bytes())
            .map_err(|source| ProfileError::Io { path: path.to_owned(), source })
    }
}

#[cfg(test)]
#[path = "profile_tests.rs"]
mod tests;
