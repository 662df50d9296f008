//! Single semantic edits of a graph: what a wrong port of a model looks like. Tests and the mutation campaign put them
//! to the prover, which must call none of them equivalent.
//!
//! An edit is only offered where it changes what the graph computes, by its construction: see [`kinds`].

mod constants;
mod kinds;
mod site;

pub(crate) use kinds::{EditKind, KINDS};
pub(crate) use site::EditSite;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use magneton_ir::ir::{Attrs, Graph, NodeId, NodeKind, Value};
use magneton_ir::ops::{Op, OpDef};
use site::Facts;

/// What an edit does to one node.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// Other attributes.
    Attrs(Attrs),
    /// Other operands. They stand before the node.
    Operands(SmallVec<[Value; 4]>),
    /// Another operator.
    Op(&'static OpDef, Attrs, SmallVec<[Value; 4]>),
    /// More operators behind the node.
    Then(Vec<(&'static OpDef, Attrs)>),
    /// More operators between the node and its first operand.
    Before(Vec<(&'static OpDef, Attrs)>),
}

/// One edit of one node.
#[derive(Clone, Debug)]
pub(crate) struct Mutation {
    pub kind: &'static EditKind,
    pub node: NodeId,
    pub change: Change,
}

/// All edits of a graph, by kind and then in topological order.
pub(crate) fn mutations(graph: &Graph) -> Vec<Mutation> {
    let facts = Facts::new(graph);
    let mut all = Vec::new();
    for kind in KINDS {
        for (id, node) in graph.nodes() {
            if let Some(site) = EditSite::new(graph, &facts, id, node)
                && let Some(change) = (kind.change)(&site)
            {
                all.push(Mutation { kind, node: id, change });
            }
        }
    }
    all
}

/// Up to `per_kind` edits of each kind, spread over the graph, that give a well-typed graph of the same outputs.
pub(crate) fn sample(graph: &Graph, per_kind: usize) -> Vec<(Mutation, Graph)> {
    let mut by_kind: Vec<Vec<Mutation>> = Vec::new();
    for mutation in mutations(graph) {
        match by_kind.last_mut() {
            Some(all) if all[0].kind.name == mutation.kind.name => all.push(mutation),
            _ => by_kind.push(vec![mutation]),
        }
    }
    let mut chosen = Vec::new();
    for all in by_kind {
        let wanted = per_kind.min(all.len());
        for i in 0..wanted {
            // The middle of each of as many equal parts.
            let mutation = &all[(2 * i + 1) * all.len() / (2 * wanted)];
            if let Some(mutant) = mutation.apply(graph) {
                chosen.push((mutation.clone(), mutant));
            }
        }
    }
    chosen
}

impl Mutation {
    /// The graph with this edit. `None` if the edit is ill-typed there, or has no effect on the constants that it is for.
    pub(crate) fn apply(&self, graph: &Graph) -> Option<Graph> {
        let mut out = Graph::new(graph.name.clone());
        out.config = graph.config.clone();
        let mut moved: FxHashMap<Value, Value> = FxHashMap::default();
        for (id, node) in graph.nodes() {
            let origin = node.origin.clone();
            let operands: SmallVec<[Value; 4]> = graph.operands(id).iter().map(|v| moved[v]).collect();
            let mut new = match &node.kind {
                NodeKind::Input { role } => out.add_input(&node.name, *role, node.types[0].clone(), origin),
                NodeKind::Literal(literal) => {
                    out.add_literal(&node.name, node.types[0].clone(), literal.data.clone(), origin).ok()?
                }
                NodeKind::Op { op: Op::Table(def), attrs } => {
                    let (mut def, mut attrs, mut operands) = (*def, attrs.clone(), operands);
                    if id == self.node {
                        let translate = |given: &SmallVec<[Value; 4]>| given.iter().map(|v| moved[v]).collect();
                        match &self.change {
                            Change::Attrs(new) => attrs.clone_from(new),
                            Change::Operands(new) => operands = translate(new),
                            Change::Op(op, new, given) => {
                                (def, attrs, operands) = (op, new.clone(), translate(given));
                            }
                            Change::Before(chain) => {
                                operands[0] = append(&mut out, &format!("{}_in", node.name), operands[0], chain)?;
                            }
                            Change::Then(_) => {}
                        }
                    }
                    out.add_op(&node.name, def, attrs, &operands, origin).ok()?
                }
                NodeKind::Op { op, attrs } => {
                    let types = node.types.iter().cloned();
                    out.add_custom(&node.name, op.clone(), attrs.clone(), &operands, types, origin).ok()?
                }
            };
            if id == self.node
                && let Change::Then(chain) = &self.change
            {
                new = append(&mut out, &node.name, new.into(), chain)?.node;
            }
            if out.node(new).types != node.types {
                return None;
            }
            moved.extend((0..node.types.len() as u32).map(|slot| (Value::new(id, slot), Value::new(new, slot))));
        }
        out.take_outputs(graph, |value| moved.get(&value).copied().ok_or(())).ok()?;
        (!self.kind.of_constants || constants::differ(graph, &out)).then_some(out)
    }
}

/// Adds a chain of operators of one operand each.
fn append(out: &mut Graph, name: &str, from: Value, chain: &[(&'static OpDef, Attrs)]) -> Option<Value> {
    let mut value = from;
    for (i, (def, attrs)) in chain.iter().enumerate() {
        let name = format!("{name}_edit_{i}");
        value = out.add_op(&name, def, attrs.clone(), &[value], magneton_ir::ir::Origin::default()).ok()?.into();
    }
    Some(value)
}
