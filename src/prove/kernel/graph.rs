//! Graphs as terms, exactly as their files write them: no normal forms.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::arena::{Draw, Head, Operands, Side, TermArena, TermId};
use super::draws::{is_random, shared_draws};
use crate::eval::{Constant, DENSE_LIMIT, canonical};
use crate::ir::{Graph, Literal, NodeId, NodeKind};
use crate::ops::TypeError;

/// Terms of each value of a graph, by node index and slot.
pub(crate) type Values = Vec<SmallVec<[TermId; 1]>>;

/// What a graph does not compute.
pub(crate) struct GraphLeaves {
    side: Side,
    /// Numbers of inputs, by node index.
    inputs: Vec<u32>,
    /// Calls of B that give what a call of A gives.
    shared: FxHashMap<NodeId, NodeId>,
}

impl GraphLeaves {
    /// Of one graph. `numbers` are those of its inputs in their order.
    pub(crate) fn of(graph: &Graph, side: Side, numbers: &[u32]) -> GraphLeaves {
        let mut inputs = vec![u32::MAX; graph.len()];
        for (input, &number) in graph.inputs().iter().zip(numbers) {
            inputs[input.index()] = number;
        }
        GraphLeaves { side, inputs, shared: FxHashMap::default() }
    }

    /// Of both graphs of a pair, with the numbers of their inputs. What [`shared_draws`] finds is one leaf.
    pub(crate) fn of_both(a: (&Graph, &[u32]), b: (&Graph, &[u32])) -> [GraphLeaves; 2] {
        let mut of_b = GraphLeaves::of(b.0, Side::B, b.1);
        of_b.shared = shared_draws(a.0, b.0).calls.into_iter().map(|(a, b)| (b, a)).collect();
        [GraphLeaves::of(a.0, Side::A, a.1), of_b]
    }

    fn draw(&self, id: NodeId, slot: usize) -> Draw {
        let (side, node) = self.shared.get(&id).map_or((self.side, id), |&a| (Side::A, a));
        Draw { side, node: node.index() as u32, slot: slot as u32 }
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
                    if is_random(op, attrs) {
                        return Ok(arena.leaf(Head::Random(leaves.draw(id, slot)), &node.types[slot], None));
                    }
                    arena.call(op, attrs, slot as u32, &operands, Some(&node.types[slot]))
                })
                .collect()
        }
    }
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
