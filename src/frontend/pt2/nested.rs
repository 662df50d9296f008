//! Graphs that an operator takes as arguments, such as the branches of `cond`, where the operator stays opaque: what they
//! compute as text, and what else they do.

use std::fmt::Write;

use rustc_hash::{FxHashMap, FxHashSet};

use super::argument::{Argument, GraphArgument, Size};
use super::lowering::Refusal;
use super::mutation;
use super::schema::{Graph, Node};
use super::target::{TRITON, Target, is_check};

/// What a nested graph computes. Equal texts mean equal functions: values are numbered in the order of their definition and
/// described in full, and nothing depends on names or on where the graph was written.
pub(super) fn text(graph: &Graph) -> Result<String, Refusal> {
    let mut text = String::new();
    write_graph(&mut text, graph)?;
    Ok(text)
}

/// Whether a node of one of the graphs that `node` takes, or of a graph nested in these, draws.
pub(super) fn draws(node: &Node) -> bool {
    let draws_itself = |node: &Node| mutation::draws(node) || handles_generators(node);
    draws_itself(node) || graphs(node).iter().flat_map(|g| &g.nodes).any(draws)
}

/// Operators whose business is the state of generators.
fn handles_generators(node: &Node) -> bool {
    let Target { namespace, name, .. } = Target::of(&node.target);
    namespace == "higher_order" && name.contains("rng_state")
}

/// The nested node that may write a tensor from outside of its graph.
pub(super) fn writes_outside(node: &Node) -> Option<&Node> {
    graphs(node).into_iter().find_map(outside_writer)
}

fn outside_writer(graph: &Graph) -> Option<&Node> {
    let mut outer: FxHashSet<&str> = graph.inputs.iter().flat_map(Argument::tensors).collect();
    for node in &graph.nodes {
        let reaches_out = node.inputs.iter().flat_map(|i| i.arg.tensors()).any(|t| outer.contains(t));
        let writes = match mutation::written(node) {
            Ok(written) => written.iter().any(|name| outer.contains(name)),
            Err(_) => true,
        };
        if writes {
            return Some(node);
        }
        if let Some(writer) = writes_outside(node).filter(|_| reaches_out) {
            return Some(writer);
        }
        // What shares memory with a tensor from outside cannot be told; take it that everything does.
        if reaches_out {
            outer.extend(node.outputs.iter().flat_map(Argument::tensors));
        }
    }
    None
}

/// The graphs among the arguments of `node`.
pub(super) fn graphs(node: &Node) -> Vec<&Graph> {
    fn of(argument: &Argument) -> Vec<&Graph> {
        match argument {
            Argument::Graph(GraphArgument { graph }) => vec![graph],
            Argument::Map(all) => all.iter().flat_map(|(_, a)| of(a)).collect(),
            _ => Vec::new(),
        }
    }
    node.inputs.iter().flat_map(|i| of(&i.arg)).collect()
}

/// The numbers of a graph's values.
struct Numbers<'g> {
    graph: &'g Graph,
    of: FxHashMap<&'g str, usize>,
}

impl<'g> Numbers<'g> {
    /// Numbers the values that come to be here.
    fn define(&mut self, text: &mut String, arguments: &'g [Argument]) -> Result<(), Refusal> {
        for argument in arguments {
            if argument.symbol().is_some() {
                return Err(symbolic(argument));
            }
            let names = argument.tensors();
            if names.is_empty() {
                let _ = write!(text, " {}", argument.literal()?);
            }
            for name in names {
                let number = self.of.len();
                if self.of.insert(name, number).is_some() {
                    return Err(Refusal::new(format!("defines `{name}` a second time in a nested graph")));
                }
                let _ = write!(text, " %{number}: {}", self.described(name)?);
            }
            text.push(';');
        }
        Ok(())
    }

    /// The type of a value in full.
    fn described(&self, name: &str) -> Result<String, Refusal> {
        let missing =
            || Refusal::new(format!("has no type for `{name}` of a nested graph")).help("the file is damaged");
        let meta = self.graph.tensor_values.get(name).ok_or_else(missing)?;
        let sizes = |all: &[Size]| -> Result<String, Refusal> {
            let size = |s: &Size| match s {
                Size::Int(n) => Ok(n.to_string()),
                Size::Symbolic(expression) => Err(Refusal::symbolic(expression)),
            };
            Ok(all.iter().map(size).collect::<Result<Vec<_>, Refusal>>()?.join(","))
        };
        let offset = meta.storage_offset.as_slice();
        let (shape, strides, offset) = (sizes(&meta.sizes)?, sizes(&meta.strides)?, sizes(offset)?);
        Ok(format!("{}[{shape}] strides [{strides}] offset {offset} layout {}", meta.dtype, meta.layout))
    }

    fn used(&self, name: &str) -> Result<String, Refusal> {
        match self.of.get(name) {
            Some(number) => Ok(format!("%{number}")),
            None => Err(Refusal::new(format!("uses `{name}` in a nested graph, which nothing computes there"))
                .help("the file is damaged")),
        }
    }

    fn argument(&self, text: &mut String, argument: &Argument) -> Result<(), Refusal> {
        let list = |names: &[String]| -> Result<String, Refusal> {
            Ok(names.iter().map(|n| self.used(n)).collect::<Result<Vec<_>, _>>()?.join(", "))
        };
        match argument {
            Argument::Tensor(name) => text.push_str(&self.used(name)?),
            Argument::Tensors(names) => text.push_str(&format!("[{}]", list(names)?)),
            Argument::NestedTensors(all) => {
                for names in all {
                    text.push_str(&format!("[{}]", list(names)?));
                }
            }
            Argument::OptionalTensors(names) => {
                let one = |n: &Option<String>| n.as_ref().map_or(Ok("none".to_owned()), |n| self.used(n));
                text.push_str(&format!("[{}]", names.iter().map(one).collect::<Result<Vec<_>, _>>()?.join(", ")));
            }
            Argument::Map(all) => {
                for (key, argument) in all {
                    let _ = write!(text, "{key:?}: ");
                    self.argument(text, argument)?;
                    text.push(' ');
                }
            }
            Argument::Graph(g) => write_graph(text, &g.graph)?,
            Argument::Device(_) | Argument::Layout => {}
            other if other.symbol().is_some() => return Err(symbolic(other)),
            other => text.push_str(&other.literal()?),
        }
        Ok(())
    }
}

fn symbolic(argument: &Argument) -> Refusal {
    Refusal::symbolic(argument.symbol().unwrap_or_default())
}

fn write_graph(text: &mut String, graph: &Graph) -> Result<(), Refusal> {
    let mut numbers = Numbers { graph, of: FxHashMap::default() };
    text.push_str("graph");
    numbers.define(text, &graph.inputs)?;
    text.push_str(" {");
    for node in &graph.nodes {
        if is_check(&node.target) {
            continue;
        }
        if node.target == TRITON {
            return Err(Refusal::new(
                "calls a Triton kernel in a nested graph, where the file leaves out what numbers it is given",
            ));
        }
        let mut call = format!(" = {}(", node.target);
        for input in &node.inputs {
            let _ = write!(call, "{}=", input.name);
            numbers.argument(&mut call, &input.arg)?;
            call.push_str("; ");
        }
        numbers.define(text, &node.outputs)?;
        text.push_str(&call);
        text.push(')');
    }
    text.push_str(" return");
    for output in &graph.outputs {
        text.push(' ');
        numbers.argument(text, output)?;
    }
    text.push_str(" }");
    Ok(())
}
