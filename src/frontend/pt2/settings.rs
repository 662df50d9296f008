//! What was set in the process that wrote a file. The Python package records it beside the program.

use std::io::{Read, Seek};
use std::path::Path;

use serde_json::{Map, Value};

use super::archive::Archive;
use super::program::json_error;
use crate::frontend::LoadError;
use crate::ir::{MathConfig, Settings};

/// Where it lies, behind the root of the archive.
const MEMBER: &str = "extra/magneton_ir/environment.json";

/// The most bytes that are read. Versions and variables of a process take a few kilobytes.
const MAX_BYTES: u64 = 1 << 20;

/// The most settings that are read.
const MAX_SETTINGS: usize = 1_000;

/// The settings that the archive names beside the graph `model`; none where it does not.
pub(super) fn settings<R: Read + Seek>(
    path: &Path,
    archive: &mut Archive<R>,
    model: &str,
) -> Result<Settings, LoadError> {
    let Some((root, _)) = model.split_once("models/") else { return Ok(Settings::default()) };
    let member = format!("{root}{MEMBER}");
    let Some(size) = archive.declared_size(&member) else { return Ok(Settings::default()) };
    let refused = |reason: String| LoadError::Archive {
        file: path.to_owned(),
        reason,
        help: "write it with the Python package `magneton_ir`, or without that member".to_owned(),
    };
    if size > MAX_BYTES {
        return Err(refused(format!("`{member}` takes {size} bytes, at most {MAX_BYTES} are read")));
    }
    let json = archive.read(&member)?;
    let map: Map<String, Value> = serde_json::from_slice(&json).map_err(|error| json_error(path, &member, &error))?;
    let mut settings = Settings::default();
    flatten("", &map, &mut settings);
    if settings.len() > MAX_SETTINGS {
        let count = settings.len();
        return Err(refused(format!("`{member}` has {count} settings, at most {MAX_SETTINGS} are read")));
    }
    Ok(settings)
}

/// Settings within others are called by both names. JSON that is read nests at most 128 levels.
fn flatten(prefix: &str, map: &Map<String, Value>, settings: &mut Settings) {
    for (name, value) in map {
        let name = format!("{prefix}{name}");
        match value {
            Value::Object(inner) => flatten(&format!("{name}."), inner, settings),
            Value::String(text) => drop(settings.insert(name, text.clone())),
            other => drop(settings.insert(name, other.to_string())),
        }
    }
}

/// The math flags that they say.
pub(super) fn math_config(settings: &Settings) -> MathConfig {
    let is = |name: &str, value: &str| settings.get(name).is_some_and(|v| v == value);
    MathConfig { allow_tf32: is("cuda.matmul.allow_tf32", "true"), cudnn_tf32_off: is("cudnn.allow_tf32", "false") }
}
