//! Graphs as terms, exactly as their files write them: no normal forms.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::arena::{Draw, Head, Operands, Side, TermArena, TermId};
use super::draws::{Chance, DRAWN, chances, is_random};
use crate::eval::{Constant, DENSE_LIMIT, canonical};
use crate::ir::{AttrValue, Attrs, Graph, Literal, NodeId, NodeKind};
use crate::ops::{CustomOp, DRAW, Op, TypeError};

/// Terms of each value of a graph, by node index and slot.
pub(crate) type Values = Vec<SmallVec<[TermId; 1]>>;

/// What a graph does not compute.
pub(crate) struct GraphLeaves {
    side: Side,
    /// Numbers of inputs, by node index.
    inputs: Vec<u32>,
    /// Calls whose results nothing determines, where they are compared with those of another graph.
    chances: FxHashMap<NodeId, Chance>,
}

impl GraphLeaves {
    /// Of one graph. `numbers` are those of its inputs in their order.
    pub(crate) fn of(graph: &Graph, side: Side, numbers: &[u32]) -> GraphLeaves {
        let mut inputs = vec![u32::MAX; graph.len()];
        for (input, &number) in graph.inputs().iter().zip(numbers) {
            inputs[input.index()] = number;
        }
        GraphLeaves { side, inputs, chances: FxHashMap::default() }
    }

    /// Of a graph that is compared with another one.
    pub(crate) fn compared(graph: &Graph, side: Side, numbers: &[u32]) -> GraphLeaves {
        GraphLeaves { chances: chances(graph), ..GraphLeaves::of(graph, side, numbers) }
    }
}

/// The terms of a node's outputs as the graph writes them: its operator over the terms of its operands.
pub(crate) fn raw_terms(
    arena: &mut TermArena,
    graph: &Graph,
    id: NodeId,
    leaves: &GraphLeaves,
    values: &Values,
) -> Result<SmallVec<[TermId; 1]>, TypeError> {
    let node = graph.node(id);
    match &node.kind {
        NodeKind::Input { .. } => {
            Ok(SmallVec::from_elem(arena.leaf(Head::Input(leaves.inputs[id.index()]), &node.types[0], None), 1))
        }
        NodeKind::Literal(literal) => {
            let ty = &node.types[0];
            let head = literal_leaf(literal);
            let constant = canonical(Constant::Dense(literal.data.clone()), ty);
            // What is large and no formula is not computed with.
            let is_kept = !matches!(&constant, Constant::Dense(data) if data.len() > DENSE_LIMIT);
            Ok(SmallVec::from_elem(arena.leaf(head, ty, is_kept.then_some(constant)), 1))
        }
        NodeKind::Op { op, attrs } => {
            let operands: Operands =
                graph.operands(id).iter().map(|v| values[v.node.index()][v.slot as usize]).collect();
            (0..node.types.len())
                .map(|slot| {
                    let (ty, number) = (&node.types[slot], slot as u32);
                    if !is_random(op, attrs) {
                        return arena.call(op, attrs, number, &operands, Some(ty));
                    }
                    let Some(&chance) = leaves.chances.get(&id) else {
                        let draw = Draw { side: leaves.side, node: id.index() as u32, slot: number };
                        return Ok(arena.leaf(Head::Random(draw), ty, None));
                    };
                    let (op, attrs, before) = drawn(op, attrs, chance);
                    let before = before.map(|id| values[id.index()][0]);
                    let operands: Operands = operands.iter().copied().chain(before).collect();
                    arena.call(&op, &attrs, number, &operands, Some(ty))
                })
                .collect()
        }
    }
}

/// A call by chance as a call of an operator that nothing is known of, and the draw that it follows.
fn drawn(op: &Op, attrs: &[AttrValue], chance: Chance) -> (Op, Attrs, Option<NodeId>) {
    let named = attrs.iter().enumerate().filter_map(|(i, value)| Some((op.attr_name(i)?.to_owned(), value.clone())));
    let mut named: Vec<(String, AttrValue)> = named.filter(|(name, _)| name != DRAW).collect();
    let before = match chance {
        Chance::After(before) => before,
        Chance::Memory(number) => {
            named.push((DRAW.to_owned(), AttrValue::Int(number)));
            None
        }
    };
    let (op, attrs) = CustomOp::called(&format!("{DRAWN}{}", op.name()), named);
    (op, attrs, before)
}

/// What a literal is as a term.
pub(crate) fn literal_leaf(literal: &Literal) -> Head {
    Head::Literal(literal.data.clone())
}

/// Every value of a graph as a term.
pub(crate) fn graph_terms(arena: &mut TermArena, graph: &Graph, leaves: &GraphLeaves) -> Result<Values, TypeError> {
    let mut values = Values::with_capacity(graph.len());
    for (id, _) in graph.nodes() {
        let terms = raw_terms(arena, graph, id, leaves, &values)?;
        values.push(terms);
    }
    Ok(values)
}
