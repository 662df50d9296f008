//! A graph in two parts: what is computed once, before the first execution, and what every execution computes.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::apply::Writer;
use super::worth::is_worth_keeping;
use crate::energy::Item;
use crate::ir::{Fixed, Graph, GraphError, NodeId, NodeKind, Role, TensorType, Value};

/// A graph in two parts.
#[derive(Clone, Debug)]
pub struct Once {
    /// Computes tensors from parameters and constants: its outputs.
    pub before: Graph,
    /// Computes the rest. Its last inputs are the outputs of `before`, by name.
    pub each: Graph,
}

/// A graph cut in two, and which of its nodes every execution computes.
pub(super) struct Cut {
    /// None where nothing is computed once.
    pub once: Option<Once>,
    pub kept: Vec<bool>,
}

impl Once {
    /// The inputs of `each` that are computed once.
    pub fn precomputed(&self) -> impl Iterator<Item = NodeId> + '_ {
        let own = self.each.inputs().len().saturating_sub(self.before.outputs().len());
        self.each.inputs().iter().skip(own).copied()
    }

    /// The graph of which `each`, which may have been written and read again, is the second part, and where its inputs stand among
    /// those of `each`. `name` says what `each` calls an output of the first part. `None` where `each` lacks an input.
    pub(crate) fn joined(&self, each: &Graph, name: impl Fn(&str) -> String) -> Option<(Graph, Vec<usize>)> {
        let names = [each, &self.before].into_iter().flat_map(Graph::nodes).map(|(_, n)| n.name.clone());
        let mut writer = Writer::new(each, names.collect());
        let given: Vec<(String, Value)> =
            self.before.outputs().iter().map(|output| (name(&output.name), output.value)).collect();
        let made_here = |input: NodeId| given.iter().find(|(name, _)| **name == *each.node(input).name);
        let mut of_each: FxHashMap<Value, Value> = FxHashMap::default();
        let mut places = Vec::new();
        for (place, &input) in each.inputs().iter().enumerate() {
            if made_here(input).is_none() {
                let node = each.node(input);
                of_each.insert(input.into(), writer.copy(&node.name, node, &[]).ok()?.into());
                places.push(place);
            }
        }
        let mut of_before: FxHashMap<Value, Value> = FxHashMap::default();
        for (id, node) in self.before.nodes() {
            if let NodeKind::Input { .. } = node.kind {
                let input = each.inputs().iter().find(|&&input| each.node(input).name == node.name)?;
                of_before.insert(id.into(), *of_each.get(&(*input).into())?);
            } else {
                let name = writer.fresh(&node.name);
                copy(&mut writer, &self.before, id, &name, &mut of_before).ok()?;
            }
        }
        for &input in each.inputs() {
            if let Some((_, value)) = made_here(input) {
                of_each.insert(input.into(), *of_before.get(value)?);
            }
        }
        for (id, node) in each.nodes() {
            if !matches!(node.kind, NodeKind::Input { .. }) {
                copy(&mut writer, each, id, &node.name, &mut of_each).ok()?;
            }
        }
        let mut graph = writer.into_graph();
        graph.take_outputs(each, |value| of_each.get(&value).copied().ok_or(())).ok()?;
        Some((graph, places))
    }
}

/// Copies a node whose operands stand where `moved` says, and notes where its results stand.
fn copy(
    writer: &mut Writer,
    graph: &Graph,
    id: NodeId,
    name: &str,
    moved: &mut FxHashMap<Value, Value>,
) -> Result<(), GraphError> {
    let node = graph.node(id);
    let missing = |v: &Value| GraphError::Missing { node: graph.node(v.node).name.to_string() };
    let operands = graph.operands(id).into_iter().map(|v| moved.get(&v).copied().ok_or_else(|| missing(&v)));
    let operands: SmallVec<[Value; 4]> = operands.collect::<Result<_, _>>()?;
    let copy = writer.copy(name, node, &operands)?;
    let slots = 0..node.types.len() as u32;
    moved.extend(slots.map(|slot| (Value::new(id, slot), Value::new(copy, slot))));
    Ok(())
}

/// Cuts `graph`, whose nodes are priced as `items`. What launches nothing, such as a view of a parameter, stays where it is; so does
/// what is given out, which is the caller's from then on. What the file says is computed once is, in any case.
pub(super) fn cut(graph: &Graph, items: &[Item], frozen: bool) -> Result<Cut, GraphError> {
    let fixed = Fixed::of(graph, frozen);
    if !fixed.any() {
        return Ok(Cut { once: None, kept: vec![true; graph.len()] });
    }
    let given_out = given_out(graph, items);
    let is_once = |id: NodeId| {
        let node = graph.node(id);
        let bytes = node.types.iter().map(TensorType::bytes).fold(0, usize::saturating_add);
        matches!(node.kind, NodeKind::Op { .. })
            && !matches!(items.get(id.index()), None | Some(Item::Free))
            && fixed
                .made_of(id)
                .is_some_and(|made_of| node.origin.once || !given_out[id.index()] && is_worth_keeping(bytes, made_of))
    };
    let outputs = graph.outputs().iter().map(|o| o.value);
    let changing = graph.nodes().map(|(id, _)| id).filter(|&id| fixed.made_of(id).is_none());
    let mut kept = vec![false; graph.len()];
    let mut taken: Vec<Value> = Vec::new();
    let mut stack: Vec<Value> = outputs.chain(changing.map(Value::from)).collect();
    while let Some(value) = stack.pop() {
        if is_once(value.node) {
            taken.push(value);
        } else if !std::mem::replace(&mut kept[value.node.index()], true) {
            stack.extend(graph.operands(value.node));
        }
    }
    graph.inputs().iter().for_each(|id| kept[id.index()] = true);
    taken.sort_unstable();
    taken.dedup();
    let once = if taken.is_empty() { None } else { Some(parts(graph, &kept, &taken)?) };
    Ok(Cut { once, kept })
}

/// The nodes whose memory outputs may lie in: those that are given out, and what they are views of.
fn given_out(graph: &Graph, items: &[Item]) -> Vec<bool> {
    let mut given_out = vec![false; graph.len()];
    let mut stack: Vec<NodeId> = graph.outputs().iter().map(|o| o.value.node).collect();
    while let Some(id) = stack.pop() {
        if !std::mem::replace(&mut given_out[id.index()], true) && matches!(items.get(id.index()), Some(Item::Free)) {
            stack.extend(graph.operands(id).iter().map(|v| v.node));
        }
    }
    given_out
}

/// The two parts of a graph of which every execution computes the nodes that are `kept`, and `taken` is computed before.
fn parts(graph: &Graph, kept: &[bool], taken: &[Value]) -> Result<Once, GraphError> {
    let mut needed = vec![false; graph.len()];
    let mut stack: Vec<NodeId> = taken.iter().map(|v| v.node).collect();
    while let Some(id) = stack.pop() {
        if !std::mem::replace(&mut needed[id.index()], true) {
            stack.extend(graph.operands(id).iter().map(|v| v.node));
        }
    }
    let names = || graph.nodes().map(|(_, n)| n.name.clone()).collect();
    let mut first = Writer::new(graph, names());
    let mut of_first: FxHashMap<Value, Value> = FxHashMap::default();
    for (id, node) in graph.nodes().filter(|(id, _)| needed[id.index()]) {
        copy(&mut first, graph, id, &node.name, &mut of_first)?;
    }
    let mut second = Writer::new(graph, names());
    let mut of_second: FxHashMap<Value, Value> = FxHashMap::default();
    for &id in graph.inputs() {
        copy(&mut second, graph, id, &graph.node(id).name, &mut of_second)?;
    }
    let mut before = first.into_graph();
    before.mark_once();
    for &value in taken {
        let node = graph.node(value.node);
        let name: Arc<str> = if value.slot == 0 { node.name.clone() } else { second.fresh(&node.name) };
        let input = second.add_input(&name, Role::Buffer, graph.ty(value).clone(), node.origin.clone());
        of_second.insert(value, input.into());
        let made = of_first.get(&value).copied();
        before.add_output(&name, made.ok_or_else(|| GraphError::Missing { node: name.to_string() })?);
    }
    for (id, node) in graph.nodes().filter(|(id, _)| kept[id.index()]) {
        if !matches!(node.kind, NodeKind::Input { .. }) {
            copy(&mut second, graph, id, &node.name, &mut of_second)?;
        }
    }
    let mut each = second.into_graph();
    let place = |value: Value| of_second.get(&value).copied();
    each.take_outputs(graph, |value| {
        place(value).ok_or_else(|| GraphError::Missing { node: graph.node(value.node).name.to_string() })
    })?;
    Ok(Once { before, each })
}
