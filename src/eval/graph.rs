//! A graph as a program.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{Program, Source, random};
use crate::ir::{Graph, NodeKind, TensorType, Value};
use crate::ops::Op;

/// A graph whose inputs are random tensors, or tensors that the caller gives.
pub struct GraphProgram<'g> {
    graph: &'g Graph,
    seed: u64,
    /// Position of each input.
    positions: FxHashMap<Value, u64>,
    given: FxHashMap<Value, Vec<f64>>,
}

/// A given input has the wrong number of elements, or there is no such input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("input {position} takes {wanted} elements, not {found}")]
pub struct InputSize {
    pub position: usize,
    pub wanted: usize,
    pub found: usize,
}

impl<'g> GraphProgram<'g> {
    /// All inputs random: input number `n` has the seed `mix(seed, n)`.
    pub fn new(graph: &'g Graph, seed: u64) -> Self {
        let positions = graph.inputs().iter().zip(0..).map(|(&node, n)| (Value::from(node), n)).collect();
        GraphProgram { graph, seed, positions, given: FxHashMap::default() }
    }

    /// Takes the elements of input `i` from random stream `numbers[i]`, so that inputs of two graphs can be
    /// the same tensors.
    pub fn numbered(mut self, numbers: &[u32]) -> Self {
        for (&node, &number) in self.graph.inputs().iter().zip(numbers) {
            self.positions.insert(Value::from(node), u64::from(number));
        }
        self
    }

    /// Sets the elements, in row-major order, of input number `position`.
    pub fn with_input(mut self, position: usize, data: Vec<f64>) -> Result<Self, InputSize> {
        let input = self.graph.inputs().get(position).map(|&node| Value::from(node));
        let wanted = input.map_or(0, |v| self.graph.ty(v).numel());
        match input {
            Some(input) if wanted == data.len() => {
                self.given.insert(input, data);
                Ok(self)
            }
            _ => Err(InputSize { position, wanted, found: data.len() }),
        }
    }
}

impl Program for GraphProgram<'_> {
    type Id = Value;

    fn source(&self, value: Value) -> Source<'_, Value> {
        match &self.graph.node(value.node).kind {
            NodeKind::Input { .. } => match self.given.get(&value) {
                Some(data) => Source::Data(data),
                None => {
                    let position = self.positions.get(&value).copied().unwrap_or(u64::MAX);
                    Source::Random { seed: random::mix(self.seed, position) }
                }
            },
            NodeKind::Literal(literal) => Source::Data(&literal.data),
            NodeKind::Op { op: Op::Table(op), attrs } => {
                let operands = self.graph.operands(value.node);
                let types: SmallVec<[&TensorType; 4]> = operands.iter().map(|&v| self.graph.ty(v)).collect();
                Source::Call { op, attrs, types, slot: value.slot as usize, operands }
            }
            NodeKind::Op { op: Op::Custom(_), .. } => Source::Opaque,
        }
    }

    fn ty(&self, value: Value) -> &TensorType {
        self.graph.ty(value)
    }
}
