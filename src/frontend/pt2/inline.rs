//! Nested graphs that only carry a flag: they are dissolved into the graph around them.

use super::argument::{Argument, Number};
use super::import::{Importer, Scope, VIEW, node_name};
use super::schema;
use super::site::Refusal;
use crate::frontend::LoadError;

/// Whether the operator computes what the graph in its arguments computes, and nothing else.
pub(super) fn is_transparent(target: &str) -> bool {
    matches!(
        target.strip_prefix("torch.ops.higher_order."),
        Some(
            "wrap_with_set_grad_enabled"
                | "wrap_with_autocast"
                | "wrap"
                | "wrap_activation_checkpoint"
                | "tag_activation_checkpoint"
                | "invoke_subgraph"
        )
    )
}

impl<'a> Importer<'a> {
    /// Takes over the nodes of the graph that `node` carries.
    pub(super) fn inline(
        &mut self,
        outer: &mut Scope<'a>,
        node: &'a schema::Node,
        name: &str,
    ) -> Result<(), LoadError> {
        let refused = |importer: &Self, refusal| importer.refused(name, &node.target, refusal);
        let graph = nested_graph(node).map_err(|refusal| refused(self, refusal))?;
        let mut inner = Scope::new(graph);
        inner.autocast = runs_under_autocast(node).unwrap_or(outer.autocast);
        bind_inputs(outer, &mut inner, node, graph).map_err(|refusal| refused(self, refusal))?;
        for nested in &graph.nodes {
            let short = node_name(nested);
            let unique =
                if self.names.take(short) { short.to_owned() } else { self.names.fresh(&format!("{name}.{short}")) };
            self.node(&mut inner, nested, &unique)?;
        }
        bind_outputs(outer, &inner, node, graph).map_err(|refusal| refused(self, refusal))
    }
}

/// Whether `wrap_with_autocast` turns autocast on; `None` for other operators.
fn runs_under_autocast(node: &schema::Node) -> Option<bool> {
    // Its arguments have no names: device, element type, whether it is on, whether casts are cached.
    let on = node.inputs.get(2).map(|i| &i.arg);
    (node.target == "torch.ops.higher_order.wrap_with_autocast")
        .then_some(!matches!(on, Some(Argument::Bool(Number::Known(false)))))
}

fn nested_graph(node: &schema::Node) -> Result<&schema::Graph, Refusal> {
    let mut graphs = node.inputs.iter().filter_map(|i| match &i.arg {
        Argument::Graph(g) => Some(&*g.graph),
        _ => None,
    });
    match (graphs.next(), graphs.next()) {
        (Some(graph), None) => Ok(graph),
        _ => Err(Refusal::new("needs exactly one nested graph").help("the file is damaged")),
    }
}

/// Binds the inputs of the nested graph to the operands, which follow the graph in the argument list.
fn bind_inputs<'a>(
    outer: &mut Scope<'a>,
    inner: &mut Scope<'a>,
    node: &'a schema::Node,
    graph: &'a schema::Graph,
) -> Result<(), Refusal> {
    let after_graph = node.inputs.iter().skip_while(|i| !matches!(i.arg, Argument::Graph(_)));
    let operands: Vec<&str> = after_graph.flat_map(|i| i.arg.tensors()).collect();
    let inputs: Vec<&'a str> = graph.inputs.iter().flat_map(Argument::tensors).collect();
    if operands.len() != inputs.len() {
        let reason = format!("gives {} tensors to a nested graph that takes {}", operands.len(), inputs.len());
        return Err(Refusal::new(reason));
    }
    for (operand, input) in operands.into_iter().zip(inputs) {
        let cell = outer.cell(operand)?;
        // The tensor now has names in two graphs; changing it in either would have to show in the other.
        outer.at(cell).shared.get_or_insert(VIEW);
        inner.bind(input, outer.at(cell).value, Some(VIEW))?;
        let (given, taken) = (outer.stated(operand)?, inner.stated(input)?);
        if given != taken {
            return Err(Refusal::new(format!("gives `{operand}`, {given}, for `{input}`, {taken}")));
        }
    }
    Ok(())
}

fn bind_outputs<'a>(
    outer: &mut Scope<'a>,
    inner: &Scope<'a>,
    node: &'a schema::Node,
    graph: &'a schema::Graph,
) -> Result<(), Refusal> {
    let names: Vec<&'a str> = node.outputs.iter().flat_map(Argument::tensors).collect();
    let results: Vec<&'a str> = graph.outputs.iter().flat_map(Argument::tensors).collect();
    if names.len() != results.len() {
        let reason = format!("has {} outputs, its nested graph has {}", names.len(), results.len());
        return Err(Refusal::new(reason));
    }
    for (name, result) in names.into_iter().zip(results) {
        outer.bind(name, inner.value(result)?, Some(VIEW))?;
        let (stated, given) = (outer.stated(name)?, inner.stated(result)?);
        if stated != given {
            return Err(Refusal::new(format!("states {stated} for `{name}`, its nested graph gives {given}")));
        }
    }
    Ok(())
}
