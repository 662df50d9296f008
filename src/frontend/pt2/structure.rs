//! The structure that a program returns: the paths of its leaves, from the spec that PyTorch's pytrees write.

use serde::Deserialize;
use serde_json::Value as Json;

use super::schema::GraphModule;
use crate::ir::{Path, Step};

/// Structures nested deeper than this are taken for damage.
const MOST_DEPTH: usize = 64;

/// The leaves of a structure in order, and what its containers hold beside them.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Structure {
    pub leaves: Vec<Path>,
    /// Data that is part of a container and no leaf: the path of the container, and the data as text.
    pub contexts: Vec<(Path, String)>,
}

/// A container or, without a type, a leaf.
#[derive(Deserialize)]
struct Spec {
    #[serde(rename = "type")]
    kind: Option<String>,
    /// What the container needs to be made again, usually as JSON text.
    #[serde(default)]
    context: Json,
    #[serde(default)]
    children_spec: Vec<Spec>,
}

/// What a program of this module returns; `None` if the file does not say so, as older ones.
pub(super) fn returned(module: &GraphModule) -> Option<Structure> {
    let program = module.module_call_graph.iter().find(|call| call.fqn.is_empty())?;
    structure(program.signature.as_ref()?.out_spec.as_deref()?)
}

fn structure(text: &str) -> Option<Structure> {
    let (_, spec): (u64, Spec) = serde_json::from_str(text).ok()?;
    let mut structure = Structure::default();
    structure.add(&spec, &Path::default(), 0)?;
    Some(structure)
}

impl Structure {
    fn add(&mut self, spec: &Spec, path: &Path, depth: usize) -> Option<()> {
        let Some(kind) = &spec.kind else {
            self.leaves.push(path.clone());
            return Some(());
        };
        if depth == MOST_DEPTH {
            return None;
        }
        let count = spec.children_spec.len();
        let by_number = || (0..count as i64).map(Step::Index).collect();
        let steps: Vec<Step> = match kind.as_str() {
            // The context of a named tuple is its type, that of a deque its greatest length.
            "builtins.tuple" | "builtins.list" | "collections.namedtuple" | "collections.deque" => by_number(),
            _ => {
                let context = parsed(&spec.context);
                keys(&context, count).unwrap_or_else(|| {
                    if !context.is_null() {
                        self.contexts.push((path.clone(), context.to_string()));
                    }
                    by_number()
                })
            }
        };
        steps
            .into_iter()
            .zip(&spec.children_spec)
            .try_for_each(|(step, child)| self.add(child, &path.then(step), depth + 1))
    }
}

/// Contexts are JSON, most of them written as text.
fn parsed(context: &Json) -> Json {
    match context {
        Json::String(text) => serde_json::from_str(text).unwrap_or_else(|_| context.clone()),
        other => other.clone(),
    }
}

/// The keys of `count` children, where the context of their container is known to list them: a dict has a list of its
/// keys, a dict with a default has that beside the default, and a data class has its fields and those that are none.
fn keys(context: &Json, count: usize) -> Option<Vec<Step>> {
    let list = |json: &Json| {
        let all = json.as_array().filter(|all| all.len() == count)?;
        all.iter().map(step).collect::<Option<Vec<_>>>()
    };
    let of_class = |json: &Json| match json.as_array()?.as_slice() {
        [fields, Json::Array(none)] if none.iter().all(Json::is_string) => list(fields),
        _ => None,
    };
    list(context).or_else(|| list(context.get("dict_context")?)).or_else(|| of_class(context))
}

fn step(key: &Json) -> Option<Step> {
    match key {
        Json::String(name) => Some(Step::Name(name.as_str().into())),
        Json::Number(number) => number.as_i64().map(Step::Index),
        Json::Object(_) | Json::Bool(_) => Some(Step::Name(key.to_string().into())),
        Json::Null | Json::Array(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf() -> Json {
        serde_json::json!({"type": null, "context": null, "children_spec": []})
    }

    fn paths(spec: Json) -> (Vec<String>, usize) {
        let structure = structure(&serde_json::json!([1, spec]).to_string()).unwrap();
        (structure.leaves.iter().map(ToString::to_string).collect(), structure.contexts.len())
    }

    #[test]
    fn containers_name_their_parts() {
        assert_eq!(paths(leaf()), (vec![".".to_owned()], 0));
        let of = |kind: &str, context: &str| {
            let inner = serde_json::json!({"type": "builtins.tuple", "context": "null", "children_spec": [leaf()]});
            paths(serde_json::json!({"type": kind, "context": context, "children_spec": [leaf(), inner]}))
        };
        let names = |first: &str, second: &str, contexts| (vec![first.to_owned(), second.to_owned()], contexts);
        assert_eq!(of("builtins.list", "null"), names("[0]", "[1][0]", 0));
        assert_eq!(of("builtins.dict", "[\"b\", \"odd key\"]"), names(".b", "[\"odd key\"][0]", 0));
        assert_eq!(of("builtins.dict", "[1, 0]"), names("[1]", "[0][0]", 0));
        assert_eq!(of("collections.defaultdict", "{\"dict_context\": [\"a\", \"b\"]}"), names(".a", ".b[0]", 0));
        assert_eq!(of("lib.Output", "[[\"x\", \"y\"], [\"z\"]]"), names(".x", ".y[0]", 0));
        assert_eq!(of("lib.Own", "{\"mode\": 3}"), names("[0]", "[1][0]", 1));
    }

    #[test]
    fn a_damaged_spec_is_none() {
        assert_eq!(structure("[1, {\"type\": 3}]"), None);
        let mut deep = leaf();
        for _ in 0..100 {
            deep = serde_json::json!({"type": "builtins.list", "context": null, "children_spec": [deep]});
        }
        assert_eq!(structure(&serde_json::json!([1, deep]).to_string()), None);
    }
}
