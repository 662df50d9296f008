//! Operators on lists of tensors, as optimisers call them: `_foreach_add` is an `add` of each tensor.

use super::argument::{Argument, Number};
use super::mutation::functional_name;
use super::schema::{Graph, Metadata, NamedArgument, Node};
use super::target::Target;

/// Puts an operator for each tensor in the place of operators on lists.
pub(super) fn expand(graph: &mut Graph) {
    let mut nodes = Vec::with_capacity(graph.nodes.len());
    for node in std::mem::take(&mut graph.nodes) {
        match each(&node, nodes.len()) {
            Some(own) => {
                for (name, of) in &own.changed {
                    let Some(meta) = graph.tensor_values.get(of).cloned() else { continue };
                    graph.tensor_values.insert(name.clone(), meta);
                }
                nodes.extend(own.nodes);
            }
            None => nodes.push(node),
        }
    }
    graph.nodes = nodes;
}

/// What stands for one operator on lists.
struct Each {
    nodes: Vec<Node>,
    /// The results of operators that work in place, which the file does not name, and the tensors that they change.
    changed: Vec<(String, String)>,
}

/// The operator of a single tensor that one on lists of tensors calls, and the names of its arguments behind the first.
fn single(name: &str, overload: &str) -> Option<(&'static str, &'static str, &'static [&'static str])> {
    let of_tensors = matches!(overload, "List" | "Tensor");
    let of_numbers = matches!(overload, "Scalar" | "ScalarList");
    Some(match (name, overload) {
        ("add", "List" | "Tensor") => ("add", "Tensor", &["other", "alpha"]),
        ("sub", "List") => ("sub", "Tensor", &["other", "alpha"]),
        ("mul", _) if of_tensors => ("mul", "Tensor", &["other"]),
        ("div", _) if of_tensors => ("div", "Tensor", &["other"]),
        ("add", _) if of_numbers => ("add", "Scalar", &["other"]),
        ("sub", _) if of_numbers => ("sub", "Scalar", &["other"]),
        ("mul", _) if of_numbers => ("mul", "Scalar", &["other"]),
        ("div", _) if of_numbers => ("div", "Scalar", &["other"]),
        ("pow", "List") => ("pow", "Tensor_Tensor", &["exponent"]),
        ("pow", _) if of_numbers => ("pow", "Tensor_Scalar", &["exponent"]),
        ("maximum" | "clamp_min", "List") => ("maximum", "", &["other"]),
        ("minimum" | "clamp_max", "List") => ("minimum", "", &["other"]),
        ("maximum" | "clamp_min", _) if of_numbers => ("clamp_min", "", &["min"]),
        ("minimum" | "clamp_max", _) if of_numbers => ("clamp_max", "", &["max"]),
        ("lerp", "List") => ("lerp", "Tensor", &["end", "weight"]),
        ("lerp", _) if of_numbers => ("lerp", "Scalar", &["end", "weight"]),
        ("addcdiv", _) if of_numbers => ("addcdiv", "", &["tensor1", "tensor2", "value"]),
        ("addcmul", _) if of_numbers => ("addcmul", "", &["tensor1", "tensor2", "value"]),
        ("norm", "Scalar") => ("linalg_vector_norm", "", &["ord"]),
        ("copy", "") => ("copy", "", &["src"]),
        ("zero", "") => ("zero", "", &[]),
        ("abs", "") => ("abs", "", &[]),
        ("exp", "") => ("exp", "", &[]),
        ("log", "") => ("log", "", &[]),
        ("neg", "") => ("neg", "", &[]),
        ("reciprocal", "") => ("reciprocal", "", &[]),
        ("rsqrt", "") => ("rsqrt", "", &[]),
        ("sigmoid", "") => ("sigmoid", "", &[]),
        ("sign", "") => ("sign", "", &[]),
        ("sqrt", "") => ("sqrt", "", &[]),
        ("tanh", "") => ("tanh", "", &[]),
        _ => return None,
    })
}

/// `None` for a node that is no such operator, or not one that is known. `number` tells it from all others.
fn each(node: &Node, number: usize) -> Option<Each> {
    let target = Target::of(&node.target);
    let name = target.name.strip_prefix("_foreach_").filter(|_| target.namespace == "aten")?;
    let functional = functional_name(name);
    let (op, overload, arguments) = single(functional.as_deref().unwrap_or(name), target.overload)?;
    let [first, rest @ ..] = &node.inputs[..] else { return None };
    let Argument::Tensors(tensors) = &first.arg else { return None };
    if rest.len() > arguments.len() {
        return None;
    }
    let results: Vec<String> = match (&node.outputs[..], &functional) {
        ([Argument::Tensors(names)], _) if names.len() == tensors.len() => names.clone(),
        (_, Some(_)) if node.outputs.iter().all(|o| o.tensors().is_empty()) => {
            tensors.iter().map(|tensor| format!("{tensor}.foreach.{number}")).collect()
        }
        _ => return None,
    };
    let in_place = if functional.is_some() { "_" } else { "" };
    let overload = if overload.is_empty() { "default" } else { overload };
    let mut each = Each { nodes: Vec::new(), changed: Vec::new() };
    for (i, (tensor, result)) in tensors.iter().zip(results).enumerate() {
        let mut inputs =
            vec![NamedArgument { name: "self".to_owned(), arg: Argument::Tensor(tensor.clone()), kind: first.kind }];
        for (given, &name) in rest.iter().zip(arguments) {
            let arg = one_of(&given.arg, i, tensors.len())?;
            inputs.push(NamedArgument { name: name.to_owned(), arg, kind: given.kind });
        }
        if functional.is_some() {
            each.changed.push((result.clone(), tensor.clone()));
        }
        let Metadata { stack_trace, nn_module_stack } = &node.metadata;
        each.nodes.push(Node {
            target: format!("torch.ops.aten.{op}{in_place}.{overload}"),
            inputs,
            outputs: vec![Argument::Tensor(result)],
            metadata: Metadata { stack_trace: stack_trace.clone(), nn_module_stack: nn_module_stack.clone() },
            name: None,
        });
    }
    Some(each)
}

/// What call number `i` of `count` gets of an argument.
fn one_of(argument: &Argument, i: usize, count: usize) -> Option<Argument> {
    fn number<T: Clone>(all: &[Number<T>], i: usize, count: usize) -> Option<Number<T>> {
        all.get(i).filter(|_| all.len() == count).cloned()
    }
    Some(match argument {
        Argument::Tensors(names) if names.len() == count => Argument::Tensor(names.get(i)?.clone()),
        Argument::Floats(all) => Argument::Float(number(all, i, count)?),
        Argument::Ints(all) => Argument::Int(number(all, i, count)?),
        Argument::Tensor(name) => Argument::Tensor(name.clone()),
        Argument::Float(number) => Argument::Float(number.clone()),
        Argument::Int(number) => Argument::Int(number.clone()),
        Argument::Bool(number) => Argument::Bool(number.clone()),
        _ => return None,
    })
}
