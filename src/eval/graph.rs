//! A graph as a program.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{Constant, Draw, Interval, Program, Source, Support, fold, random, range_of};
use crate::ir::{Graph, Node, NodeId, NodeKind, Number, TensorType, Value};
use crate::ops::{Arithmetic, Call, Known, Op, OpDef, RowFunction, support};

/// A graph whose inputs are random tensors, or what the caller gives.
pub struct GraphProgram<'g> {
    graph: &'g Graph,
    seed: u64,
    /// Position of each input.
    positions: FxHashMap<Value, u64>,
    given: FxHashMap<Value, Vec<Number>>,
    drawn: FxHashMap<Value, Draw>,
    /// Masks and positions that depend on no input.
    constants: FxHashMap<Value, Constant>,
    intervals: FxHashMap<Value, Interval>,
    supports: FxHashMap<Value, Support>,
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
        GraphProgram {
            graph,
            seed,
            positions,
            given: FxHashMap::default(),
            drawn: FxHashMap::default(),
            constants: FxHashMap::default(),
            intervals: FxHashMap::default(),
            supports: FxHashMap::default(),
        }
    }

    /// Input number `n` is `draws[n]`. What follows for all other values without evaluating them is worked out at
    /// once: masks as formulas, bounds on elements, and where they can be other than 0, so that a product with 0 is
    /// not looked into.
    pub fn drawn(graph: &'g Graph, draws: Vec<Draw>) -> Self {
        let mut program = GraphProgram::new(graph, 0);
        program.drawn = graph.inputs().iter().map(|&node| Value::from(node)).zip(draws).collect();
        for (id, node) in graph.nodes() {
            program.fold(id, node);
            for slot in 0..node.types.len() {
                let value = Value::new(id, slot as u32);
                if let Some(interval) = program.bounds(value, node) {
                    program.intervals.insert(value, interval);
                }
                if let Some(support) = program.places(value, node) {
                    program.supports.insert(value, support);
                }
            }
        }
        program
    }

    /// Keeps the outputs of an operator over constants as formulas. Only bools and integers: floats are real numbers
    /// here, which a folded constant is not.
    fn fold(&mut self, id: NodeId, node: &Node) {
        let NodeKind::Op { op: Op::Table(op), attrs } = &node.kind else { return };
        let operands = self.graph.operands(id);
        let Some(constants) = operands.iter().map(|v| self.constants.get(v)).collect::<Option<Vec<_>>>() else {
            return;
        };
        let types: SmallVec<[&TensorType; 4]> = operands.iter().map(|&v| self.graph.ty(v)).collect();
        let call = Call { op, attrs, operands: &types };
        let folded: Vec<(Value, Constant)> = node
            .types
            .iter()
            .enumerate()
            .filter(|(_, ty)| !ty.dtype.is_float())
            .filter_map(|(slot, ty)| Some((Value::new(id, slot as u32), fold(&call, slot, &constants, ty)?.value)))
            .collect();
        self.constants.extend(folded);
    }

    fn bounds(&self, value: Value, node: &Node) -> Option<Interval> {
        let ty = self.graph.ty(value);
        if let Some(constant) = self.constants.get(&value) {
            return Interval::of(constant, ty);
        }
        match &node.kind {
            NodeKind::Input { .. } => self.drawn.get(&value)?.interval(ty),
            NodeKind::Literal(literal) => Interval::over(literal.data.iter().map(|v| v.to_f64())),
            NodeKind::Op { op: Op::Table(op), attrs } => {
                let operands = self.graph.operands(value.node);
                if op.arithmetic() == Arithmetic::Mul
                    && let Some(length) = self.normalised(&operands)
                {
                    return Interval::new(-1.001 * length.sqrt(), 1.001 * length.sqrt());
                }
                let known = operands.iter().map(|v| (self.graph.ty(*v), self.intervals.get(v).copied()));
                range_of(op, attrs, value.slot, known, operands.windows(2).all(|pair| pair[0] == pair[1]))
            }
            NodeKind::Op { op: Op::Custom(_), .. } => None,
        }
    }

    fn places(&self, value: Value, node: &Node) -> Option<Support> {
        match &node.kind {
            NodeKind::Input { .. } => self.drawn.get(&value)?.support(self.graph.ty(value)),
            NodeKind::Op { op: Op::Table(op), attrs } => {
                let operands = self.graph.operands(value.node);
                let types: SmallVec<[&TensorType; 4]> = operands.iter().map(|&v| self.graph.ty(v)).collect();
                let known: SmallVec<[Known; 4]> = operands
                    .iter()
                    .map(|v| Known {
                        ty: self.graph.ty(*v),
                        interval: self.intervals.get(v).copied(),
                        support: self.supports.get(v),
                    })
                    .collect();
                let call = Call { op, attrs, operands: &types };
                support(&call, value.slot as usize, &known, self.graph.ty(value))
            }
            _ => None,
        }
    }

    /// For `x * rsqrt(mean(x^2) + eps)`: how many elements the mean is over. None of the product's elements is larger
    /// than the root of that, whatever `x` is.
    fn normalised(&self, operands: &[Value]) -> Option<f64> {
        let [x, root] = operands else { return None };
        let made_by = |v: Value, is: fn(&OpDef) -> bool| -> Option<Value> {
            match &self.graph.node(v.node).kind {
                NodeKind::Op { op: Op::Table(op), .. } if is(op) => self.graph.operands(v.node).first().copied(),
                _ => None,
            }
        };
        let sum = made_by(*root, |op| op.arithmetic() == Arithmetic::InverseSqrt)?;
        let mean = made_by(sum, |op| op.arithmetic() == Arithmetic::Add)?;
        let eps = self.intervals.get(self.graph.operands(sum.node).get(1)?)?;
        let square = made_by(mean, |op| op.row_function() == RowFunction::Mean)?;
        let of = made_by(square, |op| op.arithmetic() == Arithmetic::Power)?;
        let NodeKind::Op { attrs, .. } = &self.graph.node(square.node).kind else { return None };
        let NodeKind::Op { op: Op::Table(op), attrs: kept } = &self.graph.node(mean.node).kind else { return None };
        let keeps = op.attr_index("keepdim").and_then(|i| kept.get(i)?.as_bool()) == Some(true);
        let is_square = attrs.first().and_then(crate::ir::AttrValue::as_float) == Some(2.0);
        // The mean of squares is that of the same tensor, and not a number only if that is not finite.
        let fits = of == *x && is_square && keeps && eps.low > 0.0 && self.intervals.contains_key(x);
        let (whole, means) = (self.graph.ty(*x).numel() as f64, self.graph.ty(mean).numel() as f64);
        fits.then(|| whole / means.max(1.0))
    }

    /// Takes the elements of input `i` from random stream `numbers[i]`, so that inputs of two graphs can be
    /// the same tensors.
    pub fn numbered(mut self, numbers: &[u32]) -> Self {
        for (&node, &number) in self.graph.inputs().iter().zip(numbers) {
            self.positions.insert(Value::from(node), u64::from(number));
        }
        self
    }

    /// Sets the elements, in row-major order, of a value that somebody has computed.
    pub fn with_value(mut self, value: Value, data: Vec<Number>) -> Self {
        self.given.insert(value, data);
        self
    }

    /// Sets the elements, in row-major order, of input number `position`.
    pub fn with_input(mut self, position: usize, data: Vec<Number>) -> Result<Self, InputSize> {
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
        if let Some(constant) = self.constants.get(&value) {
            return Source::Constant(constant);
        }
        if let Some(data) = self.given.get(&value) {
            return Source::Data(data);
        }
        match &self.graph.node(value.node).kind {
            NodeKind::Input { .. } => match self.drawn.get(&value) {
                Some(draw) => Source::Drawn(draw),
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

    fn interval(&self, value: Value) -> Option<Interval> {
        self.intervals.get(&value).copied()
    }

    fn support(&self, value: Value) -> Option<&Support> {
        self.supports.get(&value)
    }
}
