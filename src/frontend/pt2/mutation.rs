//! In-place operators: `add_` computes `add` and puts the result into the cell of its first argument.

use super::argument::Argument;
use super::convert::Target;
use super::import::Scope;
use super::schema;
use super::site::Refusal;

const HELP: &str = "use the operator's functional form in the model, or export with `run_decompositions()`";

/// The name of the operator that computes what the in-place operator `name` stores; `None` if it is not in-place.
pub(super) fn functional_name(name: &str) -> Option<String> {
    // Cuts a tensor off from gradients and changes nothing.
    if name == "detach_" {
        return None;
    }
    match name.strip_prefix("__i") {
        // `__iand__` and its like.
        Some(rest) if matches!(rest, "and__" | "or__" | "xor__" | "lshift__" | "rshift__") => Some(format!("__{rest}")),
        _ => name.strip_suffix('_').filter(|_| !name.ends_with("__")).map(str::to_owned),
    }
}

/// The cell that `node` changes; `None` if it changes none.
///
/// Refuses changes that would have to show elsewhere: in an input, in a view, or in the tensor that a view shows.
pub(super) fn mutated_cell(scope: &mut Scope, node: &schema::Node) -> Result<Option<usize>, Refusal> {
    if node.inputs.iter().any(|i| i.name == "out" && matches!(i.arg, Argument::Tensor(_))) {
        return Err(Refusal::new("writes its result into the argument `out`").help(HELP));
    }
    if functional_name(Target::of(&node.target).name).is_none() {
        return Ok(None);
    }
    let Some(Argument::Tensor(name)) = node.inputs.first().map(|i| &i.arg) else {
        return Err(Refusal::new("looks in-place but has no tensor as its first argument").help(HELP));
    };
    let cell = scope.cell(name)?;
    match scope.at(cell).shared {
        None => Ok(Some(cell)),
        Some(why) => Err(Refusal::new(format!("changes `{name}` in place, which {why}")).help(HELP)),
    }
}
