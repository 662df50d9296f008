//! Nested graphs that only carry a flag: they are dissolved into the graph around them.

use super::argument::Argument;
use super::autocast::Autocast;
use super::import::Importer;
use super::lowering::Refusal;
use super::schema;
use super::schema::node_name;
use super::scope::Scope;
use crate::frontend::LoadError;

/// The operator that runs its graph under autocast.
const AUTOCAST: &str = "torch.ops.higher_order.wrap_with_autocast";

impl<'a> Importer<'a> {
    /// Takes over the nodes of the graph that `node` carries.
    ///
    /// Where autocast does something else than what is known of it, which shows in the types that the file states, the graph
    /// stays what it is: one operator.
    pub(super) fn inline(
        &mut self,
        outer: &mut Scope<'a>,
        node: &'a schema::Node,
        name: &str,
    ) -> Result<(), LoadError> {
        let refused = |importer: &Self, refusal| importer.builder.refused(name, &node.target, refusal);
        let autocast = match node.target == AUTOCAST {
            true => outer.autocast.inside(node).map_err(|refusal| refused(self, refusal))?,
            false => outer.autocast.clone(),
        };
        let before = (node.target == AUTOCAST && autocast.is_on()).then(|| self.state());
        match (self.dissolve(outer, node, name, autocast), before) {
            (Err(LoadError::TypeMismatch { .. }), Some(before)) => {
                self.restore(before);
                let unique =
                    if self.builder.names.take(name) { name.to_owned() } else { self.builder.names.fresh(name) };
                self.operator(outer, node, &unique)
            }
            (done, _) => done,
        }
    }

    fn dissolve(
        &mut self,
        outer: &mut Scope<'a>,
        node: &'a schema::Node,
        name: &str,
        autocast: Autocast,
    ) -> Result<(), LoadError> {
        let refused = |importer: &Self, refusal| importer.builder.refused(name, &node.target, refusal);
        let graph = nested_graph(node).map_err(|refusal| refused(self, refusal))?;
        let mut inner = Scope::new(graph, autocast);
        bind_inputs(outer, &mut inner, node, graph).map_err(|refusal| refused(self, refusal))?;
        for nested in &graph.nodes {
            let short = node_name(nested);
            let unique = if self.builder.names.take(short) {
                short.to_owned()
            } else {
                self.builder.names.fresh(&format!("{name}.{short}"))
            };
            self.node(&mut inner, nested, &unique)?;
        }
        bind_outputs(outer, &inner, node, graph).map_err(|refusal| refused(self, refusal))
    }
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
    outer: &Scope<'a>,
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
        inner.bind(input, outer.tensor(operand)?)?;
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
        outer.bind(name, inner.tensor(result)?)?;
        let (stated, given) = (outer.stated(name)?, inner.stated(result)?);
        if stated != given {
            return Err(Refusal::new(format!("states {stated} for `{name}`, its nested graph gives {given}")));
        }
    }
    Ok(())
}
