//! Parts of the JSON of an exported program.

use serde_json::Value as Json;

use crate::emit::EmitError;

pub(super) fn damaged() -> EmitError {
    EmitError::archive("the archive holds no graph")
}

pub(super) fn part<'j>(json: &'j mut Json, name: &str) -> Result<&'j mut Json, EmitError> {
    json.get_mut(name).ok_or_else(damaged)
}
