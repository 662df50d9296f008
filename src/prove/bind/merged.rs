//! Weights that one graph keeps merged and the other apart, told from shapes and from what the graphs do with them:
//! linear layers over one value on one side, a single linear layer on the other.

use rustc_hash::FxHashMap;

use super::plan::{Plan, Source};
use crate::ir::{Graph, NodeId, NodeKind, Value};
use crate::prove::Side;

/// A linear layer whose weight is an input.
#[derive(Clone, Copy, Debug)]
struct Layer {
    over: Value,
    weight: usize,
    bias: Option<usize>,
}

impl Plan {
    /// Guesses that a weight of one side is the weights of several linear layers of the other side, which all work
    /// on one value, joined in the order in which that side uses them. Gives up where the layers of both sides cannot be
    /// told apart by order.
    pub(super) fn by_use(&mut self, a: &Graph, b: &Graph) {
        self.merged_of(Side::B, b, a);
        self.merged_of(Side::A, a, b);
    }

    fn merged_of(&mut self, side: Side, own: &Graph, other: &Graph) {
        let groups = groups(&layers(other));
        let mut next = 0;
        for layer in layers(own) {
            if !self.side(side)[layer.weight].is_free() {
                continue;
            }
            let found = (next..groups.len()).find_map(|g| Some((g, self.part_of(side, layer, &groups[g])?)));
            let Some((group, parts)) = found else { continue };
            next = group;
            let weights: Vec<usize> = parts.iter().map(|p| p.weight).collect();
            let biases = parts.iter().map(|p| p.bias).collect::<Option<Vec<_>>>();
            for (target, parts) in [(Some(layer.weight), Some(weights)), (layer.bias, biases)] {
                let Some((target, parts)) = target.zip(parts).filter(|(t, p)| !self.denies(side, *t, p)) else {
                    continue;
                };
                if let Some(expression) = self.joined(side, target, &parts, 0, false) {
                    self.derive(side, target, expression, Source::Use);
                }
            }
        }
    }

    /// The neighbouring layers of a group whose weights make up the weight of `layer`; `None` unless there is just one
    /// such choice.
    fn part_of(&self, side: Side, layer: Layer, group: &[Layer]) -> Option<Vec<Layer>> {
        let slots = self.side(side.other());
        let target = &self.side(side)[layer.weight].input.ty;
        let (&rows, rest) = target.shape.split_first()?;
        let fits = |run: &&[Layer]| {
            let size = |part: &Layer| {
                let slot = &slots[part.weight];
                let (&rows, columns) = slot.input.ty.shape.split_first()?;
                let same = columns == rest && slot.input.ty.dtype == target.dtype && slot.is_free();
                let bias = match (layer.bias, part.bias) {
                    (Some(own), Some(bias)) => self.side(side)[own].is_free() && slots[bias].is_free(),
                    (None, None) => true,
                    _ => false,
                };
                (same && bias).then_some(rows)
            };
            let weights: Vec<usize> = run.iter().map(|part| part.weight).collect();
            run.iter().map(size).sum::<Option<usize>>() == Some(rows) && !self.denies(side, layer.weight, &weights)
        };
        let runs = (2..=group.len()).flat_map(|n| group.windows(n)).filter(fits);
        match runs.collect::<Vec<_>>().as_slice() {
            [one] => Some(one.to_vec()),
            _ => None,
        }
    }
}

/// The linear layers over inputs, in the order of the graph.
fn layers(graph: &Graph) -> Vec<Layer> {
    let positions: FxHashMap<NodeId, usize> = graph.inputs().iter().zip(0..).map(|(&id, i)| (id, i)).collect();
    let layer = |(id, node): (NodeId, &crate::ir::Node)| {
        let linear = matches!(&node.kind, NodeKind::Op { op, .. } if op.name() == "linear");
        let operands = graph.operands(id);
        let weight = *positions.get(&operands.get(1).filter(|_| linear)?.node)?;
        let bias = match operands.get(2) {
            Some(bias) => Some(*positions.get(&bias.node)?),
            None => None,
        };
        Some(Layer { over: operands[0], weight, bias })
    };
    graph.nodes().filter_map(layer).collect()
}

/// Layers that work on one value, two or more.
fn groups(layers: &[Layer]) -> Vec<Vec<Layer>> {
    let mut numbers: FxHashMap<Value, usize> = FxHashMap::default();
    let mut groups: Vec<Vec<Layer>> = Vec::new();
    for &layer in layers {
        let group = *numbers.entry(layer.over).or_insert(groups.len());
        match groups.get_mut(group) {
            Some(group) => group.push(layer),
            None => groups.push(vec![layer]),
        }
    }
    groups.retain(|g| g.len() > 1);
    groups
}
