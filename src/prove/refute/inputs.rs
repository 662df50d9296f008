//! Inputs on which graphs are compared: valid ones, and such that single elements of a whole model's output are cheap.
//!
//! Weights are sparse, so that an element of a product needs a few elements of its operands. Token ids lie within
//! their tables, masks leave no row without a key, variances are positive.

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::bind::{Binding, HeldWeights};
use super::probes::{marks, named_numbers, probes};
use crate::eval::{Arranged, DIAGONALS, Draw, Sparse, random};
use crate::ir::{Graph, NodeKind, Role, TensorType, Value};
use crate::ops::{Arithmetic, Ask, Call, Op};

/// Rows of a table that token ids name. The others are never read.
const ROWS: usize = 64;

/// Places that are tried beside what marks others.
const PROBED: usize = 4;

/// What the graphs do with an input, as far as it limits the values that make sense.
#[derive(Clone, Debug, Default)]
struct Use {
    /// Rows are picked from it.
    table: bool,
    /// It holds positions below this.
    limit: Option<usize>,
    /// It has to be positive.
    positive: bool,
    /// It is a matrix of a product, behind this many batch dimensions.
    weight: Option<usize>,
}

/// What both graphs do with each of their common inputs.
pub(super) struct Uses<'a> {
    binding: &'a Binding,
    uses: Vec<Use>,
    /// Numbers that either graph names.
    named: Vec<f64>,
    /// Negative integers that labels and places may hold.
    marks: Vec<f64>,
}

/// One choice of values for all inputs.
#[derive(Clone, Debug, Default)]
pub(super) struct Choice {
    pub seed: u64,
    /// Numbers of the parameters that are 0.
    pub silent: FxHashSet<u32>,
    /// Standard deviation of what enters the model, and of its vectors: weights and biases of norms. Small values show
    /// a wrong epsilon.
    pub scale: f64,
    /// Whether what enters the model is positive: then an odd power under a root is no NaN.
    pub positive: bool,
    /// Whether masks are all ones.
    pub all_visible: bool,
    /// Whether weights are 0 but for some rows and columns, so that the model is a narrow one inside the wide one.
    pub narrow: bool,
    /// Values that enter the model are chosen from those that the graphs name, and from numbers where functions part.
    pub probing: Option<Arranged>,
    /// Whether most tokens are padding without features, so that few rows of a long sequence matter.
    pub padded: bool,
}

/// Dimensions below this are never narrowed.
const WIDE: usize = 128;

/// The distance of places that are not 0 in a narrowed dimension of `size` elements. A power of two: places of a
/// wide dimension are then places of every head in it. Those of a head of 128 have to be two at least, for rotary embedding
/// turns them in pairs; dimensions beyond 32768 are not made of heads.
fn stride(size: usize) -> usize {
    match size {
        ..WIDE => 1,
        WIDE..4096 => 16,
        4096..8192 => 32,
        8192..32768 => 64,
        _ => size.ilog2().checked_sub(7).map_or(1, |bits| 1 << bits),
    }
}

/// The input number behind a value, if only views and casts lie between, or a choice among integers: of two inputs, the first one.
pub(super) fn traced(graph: &Graph, numbers: &[u32]) -> FxHashMap<Value, u32> {
    let mut traced: FxHashMap<Value, u32> =
        graph.inputs().iter().zip(numbers).map(|(&node, &n)| (Value::from(node), n)).collect();
    for (id, node) in graph.nodes() {
        let NodeKind::Op { op: Op::Table(op), .. } = &node.kind else { continue };
        let operands = graph.operands(id);
        let behind = match operands[..] {
            [only] if op.is_view_or_cast() => traced.get(&only),
            [_, x, y] if op.arithmetic() == Arithmetic::Select && node.types[0].dtype.is_int() => {
                traced.get(&x).or_else(|| traced.get(&y))
            }
            _ => None,
        };
        if let Some(&n) = behind {
            traced.extend((0..node.types.len()).map(|slot| (Value::new(id, slot as u32), n)));
        }
    }
    traced
}

impl<'a> Uses<'a> {
    pub(super) fn new(a: &Graph, b: &Graph, binding: &'a Binding) -> Self {
        let mut uses = vec![Use::default(); binding.inputs.len()];
        for (graph, numbers) in [(a, &binding.a), (b, &binding.b)] {
            let traced = traced(graph, numbers);
            for (id, node) in graph.nodes() {
                if let NodeKind::Op { op: Op::Table(op), attrs } = &node.kind {
                    let operands = graph.operands(id);
                    let types: Vec<&TensorType> = operands.iter().map(|&v| graph.ty(v)).collect();
                    let call = Call { op, attrs, operands: &types };
                    let number = |i: usize| operands.get(i).and_then(|v| traced.get(v)).map(|&n| n as usize);
                    note(&call, number, &mut uses);
                }
            }
        }
        Uses { binding, uses, named: named_numbers([a, b]), marks: marks([a, b]) }
    }

    /// The values of all inputs, by number: `held` ones as they are.
    pub(super) fn draws(&self, choice: &Choice, held: Option<&HeldWeights>) -> Vec<Draw> {
        let held = |n: usize| held.and_then(|all| all.get(&(n as u32))).map(|elements| Draw::Held(elements.clone()));
        (0..self.binding.inputs.len()).map(|n| held(n).unwrap_or_else(|| self.draw(n, choice))).collect()
    }

    fn draw(&self, n: usize, choice: &Choice) -> Draw {
        let (input, of) = (&self.binding.inputs[n], &self.uses[n]);
        let seed = random::mix(choice.seed, n as u64);
        let ty = &input.ty;
        if choice.silent.contains(&(n as u32)) {
            return Draw::Fill(0.0);
        }
        if let Some(arranged) = choice.probing
            && of.limit.is_none()
            && of.weight.is_none()
        {
            let mut values = probes(ty.dtype, &self.named);
            if of.positive {
                values.iter_mut().for_each(|value| *value = value.abs().max(0.5));
            }
            return Draw::Chosen { seed, values: values.into(), arranged };
        }
        if let (Some(arranged), Some(limit)) = (choice.probing, of.limit)
            && !self.marks.is_empty()
            && ty.dtype.is_int()
        {
            let places = (0..limit.min(PROBED)).map(|place| place as f64);
            return match arranged {
                // Nothing but labels that are left out.
                Arranged::Rows => Draw::Fill(self.marks[seed as usize % self.marks.len()]),
                _ => Draw::Chosen { seed, values: self.marks.iter().copied().chain(places).collect(), arranged },
            };
        }
        if !ty.dtype.is_float() {
            return match of.limit {
                Some(limit) if ty.dtype.is_int() && choice.padded => Draw::Padded { seed, limit: limit.min(ROWS) },
                Some(limit) if ty.dtype.is_int() => Draw::Below { seed, limit: limit.min(ROWS) },
                _ if choice.all_visible => Draw::Fill(1.0),
                _ => Draw::Mask { seed },
            };
        }
        let fan = if ty.rank() < 2 { 1.0 } else { ty.shape[1..].iter().map(|&d| d as f64).product::<f64>().max(1.0) };
        let enters = of.table || input.role == Role::User;
        let scale = if enters || ty.rank() < 2 { choice.scale } else { 1.0 / fan.sqrt() };
        let first = (random::mix(choice.seed, u64::MAX) % NARROWEST) as usize;
        match of {
            _ if enters && choice.positive => Draw::Positive { seed },
            Use { positive: true, .. } => Draw::Positive { seed },
            &Use { weight: Some(batch), table: false, .. } if input.role != Role::User && is_matrix(ty, batch) => {
                let narrowed = |d: usize| if choice.narrow { stride(ty.shape[d]) } else { 1 };
                // Of a convolution, only whole filters are left out.
                let columns = if ty.rank() == batch + 2 { narrowed(batch + 1) } else { 1 };
                let strides = [narrowed(batch), columns];
                if !is_large(ty, batch) && strides == [1, 1] {
                    return Draw::Dense { seed, scale };
                }
                let scale = 1.0 / (DIAGONALS as f64).sqrt();
                Draw::Sparse(Sparse { seed, scale, batch, strides, first })
            }
            _ if choice.padded && of.table && ty.rank() == 2 => {
                Draw::Table { seed, scale, stride: stride(ty.shape[1]), first }
            }
            _ if choice.narrow && input.role != Role::User => match ty.shape.last().copied().map_or(1, stride) {
                1 => Draw::Dense { seed, scale },
                stride => Draw::Strided { seed, scale, stride, first },
            },
            _ => Draw::Dense { seed, scale },
        }
    }
}

/// The smallest stride of a narrowed dimension.
const NARROWEST: u64 = 16;

/// Whether a weight has rows and columns behind its batch dimensions.
fn is_matrix(ty: &TensorType, batch: usize) -> bool {
    ty.rank() >= batch + 2
}

/// Whether a matrix is large enough that leaving most of it out pays, and leaves enough of it.
fn is_large(ty: &TensorType, batch: usize) -> bool {
    let columns: usize = ty.shape.iter().skip(batch + 1).product();
    is_matrix(ty, batch) && ty.shape[batch].min(columns) >= 4 * DIAGONALS
}

/// Notes what one operator does with the inputs that it reads; `number` gives the input behind an operand.
fn note(call: &Call, number: impl Fn(usize) -> Option<usize>, uses: &mut [Use]) {
    for (operand, ask) in (call.op.asks)(call) {
        let Some(of) = number(operand).and_then(|n| uses.get_mut(n)) else { continue };
        match ask {
            Ask::Below(below) => of.limit = Some(of.limit.map_or(below, |old| old.min(below))),
            // Positions in order are found by other strategies.
            Ask::Ends(_) | Ask::Starts(_) => {}
            Ask::Table => of.table = true,
            Ask::Positive => of.positive = true,
            Ask::Weight { batch } => of.weight = Some(batch),
        }
    }
}
