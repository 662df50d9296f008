//! Reads the JSON of an exported program.

use std::path::Path;

use super::foreach;
use super::schema::{ExportedProgram, MAJOR_VERSIONS, SchemaVersion, VersionOnly};
use crate::frontend::LoadError;

/// Reads the JSON of a program, if it is of a version that is known.
pub(super) fn parse(path: &Path, member: &str, json: &[u8]) -> Result<ExportedProgram, LoadError> {
    let foreign = |version: &SchemaVersion| !MAJOR_VERSIONS.contains(&version.major);
    match serde_json::from_slice::<ExportedProgram>(json) {
        Ok(p) if foreign(&p.schema_version) => Err(foreign_version(path, &p.schema_version, p.torch_version)),
        Ok(mut program) => {
            foreach::expand(&mut program.graph_module.graph);
            Ok(program)
        }
        // A file of another version fails in odd places; say so rather than where.
        Err(error) => match serde_json::from_slice::<VersionOnly>(json) {
            Ok(v) if foreign(&v.schema_version) => Err(foreign_version(path, &v.schema_version, v.torch_version)),
            _ => Err(json_error(path, member, &error)),
        },
    }
}

fn foreign_version(path: &Path, version: &SchemaVersion, torch: Option<String>) -> LoadError {
    LoadError::Archive {
        file: path.to_owned(),
        reason: format!("has schema version {} (PyTorch {})", version.major, torch.as_deref().unwrap_or("unknown")),
        help: format!(
            "schema versions {} to {} are read; PyTorch 2.5 to 2.11 write them",
            MAJOR_VERSIONS.start(),
            MAJOR_VERSIONS.end()
        ),
    }
}

/// What is said of JSON that cannot be read.
pub(super) fn json_error(path: &Path, member: &str, error: &serde_json::Error) -> LoadError {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    LoadError::Json {
        file: path.to_owned(),
        member: member.to_owned(),
        line: error.line(),
        column: error.column(),
        reason: text.strip_suffix(&place).unwrap_or(&text).to_owned(),
        help: "the member is not what `torch.export.save` writes; the file may be damaged".to_owned(),
    }
}
