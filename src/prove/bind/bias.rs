//! Biases whose values say nothing, such as zeros, go where the weight of their layer goes.

use rustc_hash::FxHashMap;

use super::plan::{Meaning, Plan, Source};
use crate::ir::{Graph, NodeId, NodeKind, Value};
use crate::ops::{Movement, Op, Vanishes};
use crate::prove::Side;

impl Plan {
    /// Takes the bias of a layer whose weight is bound by its values for the biases of the layers that the weight is made of.
    /// A guess where the files do not hold the values of the biases.
    pub(super) fn bias_with_weight(&mut self, a: &Graph, b: &Graph) {
        if !self.same_weights {
            return;
        }
        let [of_a, of_b] = [biases(a), biases(b)];
        for (side, own, others) in [(Side::B, &of_b, &of_a), (Side::A, &of_a, &of_b)] {
            for weight in 0..self.side(side).len() {
                let weights: Vec<usize> = match &self.side(side)[weight].meaning {
                    Some((Meaning::Same(other), Source::Content)) => vec![*other],
                    Some((Meaning::Derived(expression), Source::Content)) => expression.inputs().collect(),
                    _ => continue,
                };
                let parts: Option<Vec<usize>> = weights.iter().map(|weight| others.get(weight).copied()).collect();
                if let (Some(&bias), Some(parts)) = (own.get(&weight), parts) {
                    self.bind_bias(side, bias, &parts);
                }
            }
        }
    }

    fn bind_bias(&mut self, side: Side, bias: usize, parts: &[usize]) {
        let free = self.side(side)[bias].is_free() && parts.iter().all(|&i| self.side(side.other())[i].is_free());
        let source = match self.same_values(side, bias, parts) {
            Some(true) => Source::Layer,
            Some(false) => return,
            None => Source::Use,
        };
        let Some(expression) = self.joined(side, bias, parts, 0, false).filter(|_| free) else { return };
        match (side, parts) {
            (Side::B, &[part]) => self.pair(part, bias, source),
            (Side::A, &[part]) => self.pair(bias, part, source),
            _ => self.derive(side, bias, expression, source),
        }
    }
}

/// The biases of linear layers by their weights, both as numbers of inputs.
fn biases(graph: &Graph) -> FxHashMap<usize, usize> {
    let positions: FxHashMap<NodeId, usize> = graph.inputs().iter().zip(0..).map(|(&id, i)| (id, i)).collect();
    let layer = |(id, node): (NodeId, &crate::ir::Node)| {
        let NodeKind::Op { op: Op::Table(op), .. } = &node.kind else { return None };
        let Vanishes::WithWeight { weight, bias: Some(bias) } = op.vanishes else { return None };
        let operands = graph.operands(id);
        let (weight, bias) = (*operands.get(weight)?, *operands.get(bias)?);
        Some((*positions.get(&untransposed(graph, weight).node)?, *positions.get(&bias.node)?))
    };
    let mut found: FxHashMap<usize, Option<usize>> = FxHashMap::default();
    for (weight, bias) in graph.nodes().filter_map(layer) {
        // A weight that several layers share has no bias of its own.
        let shared = found.get(&weight).is_some_and(|known| *known != Some(bias));
        found.insert(weight, (!shared).then_some(bias));
    }
    found.into_iter().filter_map(|(weight, bias)| Some((weight, bias?))).collect()
}

/// What stands before a transposition.
fn untransposed(graph: &Graph, value: Value) -> Value {
    match &graph.node(value.node).kind {
        NodeKind::Op { op, .. } if op.movement() == Some(Movement::Permute) => {
            graph.operands(value.node).first().copied()
        }
        _ => None,
    }
    .unwrap_or(value)
}
