//! Calls whose results nothing determines: random numbers, and memory as it is found.
//!
//! A graph is a function of its inputs and of the state of the random generators, which is the same for both sides at first. A
//! draw is a function of its operands and of that state, which follows from the draw before. Memory that nothing has written is
//! taken to hold the same on both sides, allocation by allocation: what both make of it is then what either could.

use rustc_hash::FxHashMap;

use super::arena::Head;
use crate::ir::{AttrValue, Graph, NodeId, NodeKind, TensorType};
use crate::ops::{DRAW, Draws, Given, Op, effects};

/// What the operator of a draw as a term begins with. No operator of a file is taken for one.
pub(super) const DRAWN: &str = "drawn ";

/// What a call depends on beside its operands.
#[derive(Clone, Copy)]
pub(super) enum Chance {
    /// The state of the random generators, as this draw left it.
    After(Option<NodeId>),
    /// What the allocation of this number holds, of those with its shape and type.
    Memory(i64),
}

/// What each call of a graph depends on whose result nothing determines.
pub(super) fn chances(graph: &Graph) -> FxHashMap<NodeId, Chance> {
    let (mut last, mut is_lost) = (None, false);
    let mut allocations: FxHashMap<&[TensorType], i64> = FxHashMap::default();
    let mut chances = FxHashMap::default();
    for (id, node) in graph.nodes() {
        let NodeKind::Op { op, attrs } = &node.kind else { continue };
        if !is_random(op, attrs) {
            continue;
        }
        let chance = if is_memory(op) {
            let number = allocations.entry(&node.types).or_default();
            *number += 1;
            Chance::Memory(*number)
        } else if node.types.is_empty() {
            // Nothing stands for the state that it leaves: no later draw is compared with those of another graph.
            is_lost = true;
            continue;
        } else if is_lost {
            continue;
        } else {
            Chance::After(last.replace(id))
        };
        chances.insert(id, chance);
    }
    chances
}

/// What is assumed where both graphs depend on it.
pub(crate) fn chance_assumptions(a: &Graph, b: &Graph) -> Vec<String> {
    let [a, b] = [a, b].map(|graph| {
        let is_allocation = |chance: &Chance| matches!(chance, Chance::Memory(_));
        let all: Vec<Chance> = chances(graph).into_values().collect();
        (all.iter().any(is_allocation), all.iter().any(|chance| !is_allocation(chance)))
    });
    let memory = (a.0 && b.0).then(|| "memory that nothing has written holds the same on both sides".to_owned());
    let generators = (a.1 && b.1).then(|| "random generators are in the same state on both sides".to_owned());
    memory.into_iter().chain(generators).collect()
}

/// Whether a term is a draw.
pub(in crate::prove) fn is_drawn(head: &Head) -> bool {
    match head {
        Head::Random(_) => true,
        Head::Apply { op: Op::Custom(op), .. } => op.name.starts_with(DRAWN),
        _ => false,
    }
}

fn is_memory(op: &Op) -> bool {
    op.def().is_some_and(|def| def.draws == Draws::Memory)
}

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
        Op::Custom(op) => {
            op.name.starts_with(DRAWN) || attr(DRAW).is_some() || effects(&op.name).is_some_and(|e| e.draws(given))
        }
    }
}
