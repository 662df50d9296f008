//! Calls whose results nothing determines: random numbers, and memory as it is found.
//!
//! A graph is a function of its inputs and of the state of the random generators, which is the same for both sides: as long as
//! both call the same, in the same order, what they draw is the same. Memory that nothing has written is taken to hold the same
//! on both sides, allocation by allocation: what both make of it is then what either could.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::ir::{AttrValue, Graph, NodeId, NodeKind, TensorType};
use crate::ops::{DRAW, Draws, Given, Op, effects};

/// Whether two calls of the operator give different results. Front ends mark such calls by an attribute; a graph that is written
/// as text may leave it out.
pub(super) fn is_random(op: &Op, attrs: &[AttrValue]) -> bool {
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
            Draws::Memory => true,
        },
        Op::Custom(op) => attr(DRAW).is_some() || effects(&op.name).is_some_and(|e| e.draws(given)),
    }
}

/// A call of A and one of B that are taken to give the same.
pub(crate) struct SharedDraws {
    /// Of calls that read nothing. What is drawn in dependence on operands may be drawn from others.
    pub calls: Vec<(NodeId, NodeId)>,
    pub assumptions: Vec<String>,
}

/// The calls of two graphs that give the same.
pub(crate) fn shared_draws(a: &Graph, b: &Graph) -> SharedDraws {
    let of = |graph| -> (Vec<_>, Vec<_>) { draws(graph).partition(|(_, call)| call.is_memory) };
    let ((memory_a, drawn_a), (memory_b, drawn_b)) = (of(a), of(b));
    let mut waiting: FxHashMap<Call, VecDeque<NodeId>> = FxHashMap::default();
    for (id, call) in memory_a {
        waiting.entry(call).or_default().push_back(id);
    }
    let memory: Vec<_> =
        memory_b.into_iter().filter_map(|(b, call)| Some((waiting.get_mut(&call)?.pop_front()?, b))).collect();
    // From the first call on that the other side does not make, the generators are in other states.
    let alike = drawn_a.into_iter().zip(drawn_b).take_while(|((_, x), (_, y))| x == y);
    let drawn: Vec<_> = alike.filter(|((_, x), _)| x.operands.is_empty()).map(|((a, _), (b, _))| (a, b)).collect();
    let mut assumptions = Vec::new();
    if !memory.is_empty() {
        let count = memory.len();
        assumptions.push(format!("memory that nothing has written holds the same on both sides ({count} allocations)"));
    }
    if !drawn.is_empty() {
        let count = drawn.len();
        assumptions.push(format!("random generators are in the same state on both sides ({count} draws)"));
    }
    SharedDraws { calls: [memory, drawn].concat(), assumptions }
}

/// What a call draws, but for the number of the call.
#[derive(PartialEq, Eq, Hash)]
struct Call<'g> {
    name: &'g str,
    is_memory: bool,
    attrs: Vec<(Option<&'g str>, &'g AttrValue)>,
    operands: Vec<&'g TensorType>,
    results: &'g [TensorType],
}

fn draws(graph: &Graph) -> impl Iterator<Item = (NodeId, Call<'_>)> {
    graph.nodes().filter_map(|(id, node)| {
        let NodeKind::Op { op, attrs } = &node.kind else { return None };
        if !is_random(op, attrs) {
            return None;
        }
        let named = attrs.iter().enumerate().map(|(i, value)| (op.attr_name(i), value));
        let attrs = named.filter(|(name, _)| *name != Some(DRAW)).collect();
        let operands = graph.operands(id).iter().map(|value| graph.ty(*value)).collect();
        let is_memory = op.def().is_some_and(|def| def.draws == Draws::Memory);
        Some((id, Call { name: op.name(), is_memory, attrs, operands, results: &node.types }))
    })
}
