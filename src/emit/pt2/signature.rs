//! What the caller of an exported program sees: where each of its outputs goes.

use serde_json::{Value as Json, json};

use super::argument::tensor;
use super::parts::damaged;
use crate::emit::EmitError;
use crate::emit::program::{Program, Source};
use crate::frontend::pt2::Record;
use crate::ir::{Output, Target};

/// The outputs of a graph, and what the signature says of each.
#[derive(Default)]
pub(super) struct Outputs {
    pub values: Vec<Json>,
    pub specs: Vec<Json>,
}

/// The outputs of `program` in the places that the old graph had them. What the program writes without that its signature says so
/// is said now.
pub(super) fn outputs(program: &Program, record: &Record, json: &Json, names: &[String]) -> Result<Outputs, EmitError> {
    let list = |path: &str| json.pointer(path).and_then(Json::as_array).ok_or_else(damaged);
    let specs = list("/graph_module/signature/output_specs")?;
    let old = list("/graph_module/graph/outputs")?;
    let given: Vec<(&Output, &String)> =
        program.graph.outputs().iter().zip(program.outputs.iter().map(|&id| &names[id])).collect();
    let tensors = specs.iter().filter(|spec| argument(spec).is_some()).count();
    let unlisted = given.len().checked_sub(tensors).ok_or_else(damaged)?;
    let (unlisted, listed) = given.split_at(unlisted);
    let mut outputs = Outputs::default();
    for (output, name) in unlisted {
        outputs.specs.push(written(program, record, json, output, name)?);
        outputs.values.push(json!({ "as_tensor": tensor(name) }));
    }
    let mut listed = listed.iter();
    for (spec, value) in specs.iter().zip(old) {
        let mut spec = spec.clone();
        match argument(&spec) {
            None => outputs.values.push(value.clone()),
            Some(path) => {
                let (_, name) = listed.next().ok_or_else(damaged)?;
                *spec.pointer_mut(&path).ok_or_else(damaged)? = name.as_str().into();
                outputs.values.push(json!({ "as_tensor": tensor(name) }));
            }
        }
        outputs.specs.push(spec);
    }
    Ok(outputs)
}

/// Where a spec names its tensor; none if it is of a constant or a token.
fn argument(spec: &Json) -> Option<String> {
    let (kind, _) = spec.as_object()?.iter().next()?;
    let path = match kind.as_str() {
        "user_output" => format!("/{kind}/arg/as_tensor/name"),
        "token" => return None,
        _ => format!("/{kind}/arg/name"),
    };
    spec.pointer(&path).map(|_| path)
}

/// What the signature says of a new value of an input.
fn written(program: &Program, record: &Record, json: &Json, output: &Output, name: &str) -> Result<Json, EmitError> {
    let Target::Write(input) = &output.target else { return Err(damaged()) };
    let is_input = |held: &crate::emit::program::Held| matches!(held.source, Source::Input(_)) && held.name == **input;
    let known = record.placeholders.iter().find(|(own, _)| own == input).map(|(_, name)| name.as_str());
    let specs = json.pointer("/graph_module/signature/input_specs").and_then(Json::as_array).ok_or_else(damaged)?;
    let places = |spec: &&Json| {
        let named = |path: &str| spec.pointer(path).and_then(Json::as_str) == known;
        ["/user_input/arg/as_tensor/name", "/parameter/arg/name", "/buffer/arg/name"].iter().any(|path| named(path))
    };
    let spec = specs.iter().find(places).filter(|_| known.is_some() && program.tensors.iter().any(is_input));
    let spec = spec.ok_or_else(|| {
        EmitError::archive(format!("`{input}` is written, which the archive names neither as an input nor as a buffer"))
    })?;
    let arg = tensor(name);
    Ok(match (spec.get("parameter"), spec.get("buffer")) {
        (Some(of), _) => json!({ "parameter_mutation": { "arg": arg, "parameter_name": of["parameter_name"] } }),
        (_, Some(of)) => json!({ "buffer_mutation": { "arg": arg, "buffer_name": of["buffer_name"] } }),
        _ => json!({ "user_input_mutation": { "arg": arg, "user_input_name": known } }),
    })
}
