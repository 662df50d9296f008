//! What the operators of the file write, by their schemas.

use super::argument::{Argument, Number};
use super::lowering::Refusal;
use super::schema;
use super::target::Target;
use crate::ops::{Effects, Given, effects};

pub(super) const HELP: &str = "use the operator's functional form in the model, or export with `run_decompositions()`";

/// The name of the operator that computes what the in-place operator `name` stores; `None` if it is not in-place by its name.
pub(super) fn functional_name(name: &str) -> Option<String> {
    match name.strip_prefix("__i") {
        // `__iand__` and its like.
        Some(rest) if matches!(rest, "and__" | "or__" | "xor__" | "lshift__" | "rshift__") => Some(format!("__{rest}")),
        _ => name.strip_suffix('_').filter(|_| !name.ends_with("__")).map(str::to_owned),
    }
}

/// What the schema of the operator that `node` calls says of it besides its results.
pub(super) fn effects_of(node: &schema::Node) -> Option<&'static Effects> {
    // As `Target::full_name`, which would take memory for every node.
    let path = node.target.strip_prefix("torch.ops.").unwrap_or(&node.target);
    effects(path.strip_suffix(".default").unwrap_or(path))
}

/// What argument `name` says where an effect depends on it.
pub(super) fn given(node: &schema::Node, name: &str) -> Given {
    match node.inputs.iter().find(|i| i.name == name).map(|i| &i.arg) {
        None | Some(Argument::None) => Given::None,
        Some(Argument::Bool(Number::Known(false)) | Argument::Int(Number::Known(0))) => Given::Off,
        Some(Argument::Float(Number::Known(p))) if *p == 0.0 => Given::Off,
        Some(_) => Given::On,
    }
}

/// Whether the call draws random numbers, or gives memory as it finds it.
pub(super) fn draws(node: &schema::Node) -> bool {
    effects_of(node).is_some_and(|effects| effects.draws(|name| given(node, name)))
}

/// The tensors that `node` writes, each once.
///
/// Refuses operators that change an argument in place by their name, but whose schema is not known.
pub(super) fn written(node: &schema::Node) -> Result<Vec<&str>, Refusal> {
    let Some(effects) = effects_of(node) else {
        return match functional_name(Target::of(&node.target).name) {
            None => Ok(Vec::new()),
            Some(_) => Err(Refusal::new("changes its argument in place, by its name")
                .help("only PyTorch's own in-place operators are understood; use a functional form")),
        };
    };
    let mut names: Vec<&str> = Vec::new();
    for argument in effects.writes(|name| given(node, name)) {
        let arg = node.inputs.iter().find(|i| i.name == *argument).map(|i| &i.arg);
        for name in arg.map(Argument::tensors).unwrap_or_default() {
            if names.contains(&name) {
                return Err(Refusal::new(format!("writes `{name}` twice")).help(HELP));
            }
            names.push(name);
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_place_operators_have_a_functional_name() {
        let names = ["add_", "__iand__", "__and__", "relu", "index_put_"].map(functional_name);
        let expected = [Some("add"), Some("__and__"), None, None, Some("index_put")].map(|n| n.map(str::to_owned));
        assert_eq!(names, expected);
    }
}
