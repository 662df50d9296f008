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
fn single<'n>(name: &'n str, overload: &str) -> Option<(&'n str, &'static str, &'static [&'static str])> {
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
        // Functions of a single tensor have the name of their own.
        (name, "") => (name, "", &[]),
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What becomes of one call on the tensors `a` and `b`: for each operator its name, the tensors that it reads, and its result.
    fn expanded(
        target: &str,
        rest: &[serde_json::Value],
        results: &serde_json::Value,
    ) -> Vec<(String, Vec<String>, Vec<String>)> {
        let lists = json!({"as_tensors": [{"name": "a"}, {"name": "b"}]});
        let mut inputs = vec![json!({"name": "self", "arg": lists})];
        inputs.extend_from_slice(rest);
        let meta = json!({"dtype": 7, "sizes": [{"as_int": 3}]});
        let mut graph: Graph = serde_json::from_value(json!({
            "inputs": [], "outputs": [],
            "nodes": [{"target": format!("torch.ops.aten.{target}"), "inputs": inputs, "outputs": results}],
            "tensor_values": {"a": meta, "b": meta},
        }))
        .unwrap();
        expand(&mut graph);
        let names = |all: Vec<&str>| all.into_iter().map(str::to_owned).collect();
        let shown = |node: &Node| {
            let read = node.inputs.iter().flat_map(|input| input.arg.tensors()).collect();
            let given: Vec<&str> = node.outputs.iter().flat_map(Argument::tensors).collect();
            assert!(given.iter().all(|name| graph.tensor_values.contains_key(*name) || name.starts_with('r')));
            (node.target.clone(), names(read), names(given))
        };
        graph.nodes.iter().map(shown).collect()
    }

    fn is(found: &(String, Vec<String>, Vec<String>), target: &str, read: &[&str], given: &str) {
        assert_eq!(found.0, target);
        assert_eq!(found.1, read);
        assert_eq!(found.2, [given]);
    }

    #[test]
    fn each_tensor_has_an_operator_of_its_own() {
        let results = json!([{"as_tensors": [{"name": "r0"}, {"name": "r1"}]}]);
        let others = json!({"name": "tensors1", "arg": {"as_tensors": [{"name": "c"}, {"name": "d"}]}});
        let divisors = json!({"name": "tensors2", "arg": {"as_tensors": [{"name": "e"}, {"name": "f"}]}});
        let numbers = json!({"name": "scalars", "arg": {"as_floats": [0.5, 0.25]}});
        let all = expanded("_foreach_addcdiv.ScalarList", &[others, divisors, numbers], &results);
        is(&all[0], "torch.ops.aten.addcdiv.default", &["a", "c", "e"], "r0");
        is(&all[1], "torch.ops.aten.addcdiv.default", &["b", "d", "f"], "r1");
        let all = expanded("_foreach_sqrt.default", &[], &results);
        is(&all[1], "torch.ops.aten.sqrt.default", &["b"], "r1");
    }

    #[test]
    fn operators_in_place_have_results_of_their_own() {
        let number = json!({"name": "scalar", "arg": {"as_float": 0.5}});
        let all = expanded("_foreach_mul_.Scalar", &[number], &json!([]));
        is(&all[0], "torch.ops.aten.mul_.Scalar", &["a"], "a.foreach.0");
        is(&all[1], "torch.ops.aten.mul_.Scalar", &["b"], "b.foreach.0");
    }

    #[test]
    fn what_is_not_known_or_does_not_fit_stays() {
        let results = json!([{"as_tensors": [{"name": "r0"}]}]);
        assert_eq!(expanded("_foreach_sqrt.default", &[], &results)[0].0, "torch.ops.aten._foreach_sqrt.default");
        let results = json!([{"as_tensors": [{"name": "r0"}, {"name": "r1"}]}]);
        let short = json!({"name": "scalars", "arg": {"as_floats": [0.5]}});
        assert_eq!(expanded("_foreach_mul.ScalarList", &[short], &results).len(), 1);
    }
}
