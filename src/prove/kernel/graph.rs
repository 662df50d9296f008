//! Graphs as terms, exactly as their files write them: no normal forms.

use smallvec::SmallVec;

use super::arena::{Draw, Head, Operands, Side, TermArena, TermId};
use crate::eval::{Constant, DENSE_LIMIT, canonical};
use crate::ir::{AttrValue, Graph, Literal, NodeId, NodeKind};
use crate::ops::{DRAW, Draws, Given, Op, TypeError, effects};

/// Terms of each value of a graph, by node index and slot.
pub(crate) type Values = Vec<SmallVec<[TermId; 1]>>;

/// The numbers of a graph's inputs, by node index.
pub(crate) struct InputNumbers(Vec<u32>);

impl InputNumbers {
    /// `numbers` are those of the graph's inputs in their order.
    pub(crate) fn new(graph: &Graph, numbers: &[u32]) -> InputNumbers {
        let mut of_node = vec![u32::MAX; graph.len()];
        for (input, &number) in graph.inputs().iter().zip(numbers) {
            of_node[input.index()] = number;
        }
        InputNumbers(of_node)
    }
}

/// The terms of a node's outputs as the graph writes them: its operator over the terms of its operands.
pub(crate) fn raw_terms(
    arena: &mut TermArena,
    graph: &Graph,
    id: NodeId,
    side: Side,
    inputs: &InputNumbers,
    values: &Values,
) -> Result<SmallVec<[TermId; 1]>, TypeError> {
    let node = graph.node(id);
    match &node.kind {
        NodeKind::Input { .. } => {
            Ok(SmallVec::from_elem(arena.leaf(Head::Input(inputs.0[id.index()]), &node.types[0], None), 1))
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
                        let draw = Draw { side, node: id.index() as u32, slot: slot as u32 };
                        return Ok(arena.leaf(Head::Random(draw), &node.types[slot], None));
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

/// Every value of a graph as a term. `inputs` are the numbers of its inputs.
pub(crate) fn graph_terms(
    arena: &mut TermArena,
    graph: &Graph,
    side: Side,
    inputs: &[u32],
) -> Result<Values, TypeError> {
    let inputs = InputNumbers::new(graph, inputs);
    let mut values = Values::with_capacity(graph.len());
    for (id, _) in graph.nodes() {
        let terms = raw_terms(arena, graph, id, side, &inputs, &values)?;
        values.push(terms);
    }
    Ok(values)
}

/// Whether two calls of the operator give different results. Front ends mark such calls by an attribute; a graph that is written
/// as text may leave it out.
fn is_random(op: &Op, attrs: &[AttrValue]) -> bool {
    let attr = |name: &str| (0..attrs.len()).find(|&i| op.attr_name(i) == Some(name)).map(|i| &attrs[i]);
    let given = |name: &str| match attr(name) {
        None | Some(AttrValue::None) => Given::None,
        Some(AttrValue::Bool(false) | AttrValue::Int(0)) => Given::Off,
        Some(value) if value.as_float() == Some(0.0) => Given::Off,
        Some(_) => Given::On,
    };
    match op {
        Op::Table(def) => match def.draws {
            Draws::Never => false,
            Draws::Where(switch) => given(switch) != Given::Off,
            Draws::Always => true,
        },
        Op::Custom(op) => attr(DRAW).is_some() || effects(&op.name).is_some_and(|e| e.draws(given)),
    }
}
