//! Evaluation on demand: only the elements asked for, and what they need, are computed.

mod attention;
mod lookup;
mod node;
mod products;
mod shortcut;
mod shortcuts;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::{Interval, Program, Support, random};
use crate::ir::{DType, Number, flat_index, unflatten};
use crate::ops::shapes::{broadcast_index, visit_axes};
use crate::ops::ties::{self, Ties};
use crate::ops::{Amplifies, Arithmetic, Call, Elements, EvalError, Family, OpDef, RowFunction, as_number, is_number};
use node::{Application, Computation, Node, Operands};
use shortcut::Shortcut;

/// Nested operators that are computed on the machine's stack before the evaluator starts over from the innermost one.
const MAX_DEPTH: usize = 128;

/// The largest relative disturbance of an element where disturbances are asked for: see [`LazyEvaluator::disturbed`].
const DISTURBANCE: f64 = 1e-11;

/// A value that moves under disturbance is trusted up to this many times as far as it moves.
pub const TRUSTED_MOVES: f64 = 1000.0;

/// A value this many times beyond its type is no witness: PyTorch gives an infinity. Masks that are added to each other stay below.
const BEYOND: f64 = 4.0;

/// How many roundings a literal may be away from the real number that it stands for, where that is near 1.
const LITERAL_ROUNDINGS: f64 = 4.0;

/// What computing an element costs, in reads of a leaf.
const COMPUTED: u64 = 16;

/// The most elements that one step may read: kernels keep what they have read.
const MOST_READ: usize = 1 << 22;

/// How to evaluate.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Round every operator's result to its element type. Otherwise floats are real numbers (f64), as they are
    /// between the operators of a fused kernel. Integers and bools are always kept in range.
    pub rounding: bool,
    /// Elements that may be computed, over the whole life of a [`LazyEvaluator`]; 16 elements that are only read or moved
    /// count as one.
    pub budget: usize,
}

/// Computes elements of a program's values and remembers them.
pub struct LazyEvaluator<'p, P: Program> {
    program: &'p P,
    rounding: bool,
    /// What is left of the budget, in reads of a leaf.
    left: u64,
    ids: FxHashMap<P::Id, u32>,
    nodes: Vec<Arc<Node<'p, P::Id>>>,
    memo: FxHashMap<(u32, usize), Number>,
    /// Lines through values, by number, axis and first element: whether all their elements are finite.
    finite_lines: FxHashMap<(u32, usize, usize), bool>,
    /// Mean and factor of rows that were normalised, by number and first element.
    rows: FxHashMap<(u32, usize), (f64, f64)>,
    /// For rows of masks, by number and first element: the places that are not hidden, given how large scores are.
    visible_rows: FxHashMap<(u32, usize), VisibleRow>,
    depth: usize,
    max_depth: usize,
    disturbance: Option<u64>,
    ties: Ties,
    /// Elements of drawn leaves that were read, if somebody wants to know.
    reads: Option<FxHashSet<(u32, usize)>>,
    /// The element at which the recursion became too deep.
    too_deep: Option<(P::Id, usize)>,
}

/// Whole numbers up to this are taken to be exact. Rounding makes such a number of one that is not whole by changing it
/// by less than 10^-11, which nobody takes for a difference.
const EXACT: f64 = 65536.0;

fn is_inexact(value: f64, exact: f64) -> bool {
    value.is_finite() && (value.fract() != 0.0 || value.abs() > exact)
}

/// Whether an element of the result is one of the operands' elements as it is.
fn selects(op: &OpDef) -> bool {
    match op.elements {
        Elements::Moved(_, movement) => !movement.adds_numbers(),
        Elements::Placewise(function) => matches!(function, Arithmetic::Max | Arithmetic::Min | Arithmetic::Select),
        Elements::Lane(function) => {
            use RowFunction::{Max, Min, RunningMax, RunningMin};
            matches!(function, Max | Min | RunningMax | RunningMin)
        }
        _ => false,
    }
}

/// Refuses to read more elements than one step may.
fn few(elements: usize) -> Result<(), EvalError> {
    if elements > MOST_READ { Err(EvalError::Budget) } else { Ok(()) }
}

/// Refuses a float that lies far beyond its type.
fn within(dtype: DType, value: f64) -> Result<(), EvalError> {
    let far = value.is_finite() && value.abs() > BEYOND * dtype.magnitude();
    if far { Err(EvalError::Unrepresentable) } else { Ok(()) }
}

/// The type in which PyTorch squares values of a type.
fn squares_in(dtype: DType) -> DType {
    if dtype == DType::F64 { DType::F64 } else { DType::F32 }
}

/// Places along a row of a mask that it does not hide, if that is certain for scores up to the given size.
type VisibleRow = (Option<Arc<[usize]>>, f64);

impl<'p, P: Program> LazyEvaluator<'p, P> {
    pub fn new(program: &'p P, options: Options) -> Self {
        LazyEvaluator {
            program,
            rounding: options.rounding,
            left: (options.budget as u64).saturating_mul(COMPUTED),
            ids: FxHashMap::default(),
            nodes: Vec::new(),
            memo: FxHashMap::default(),
            finite_lines: FxHashMap::default(),
            rows: FxHashMap::default(),
            visible_rows: FxHashMap::default(),
            depth: 0,
            max_depth: MAX_DEPTH,
            disturbance: None,
            ties: Ties::Reference,
            reads: None,
            too_deep: None,
        }
    }

    /// Lets `depth` operators nest on the machine's stack, for callers that have made room for them.
    pub fn with_depth(mut self, depth: usize) -> Self {
        self.max_depth = depth;
        self
    }

    /// Keeps which elements of drawn leaves are read.
    pub fn recording(mut self) -> Self {
        self.reads = Some(FxHashSet::default());
        self
    }

    /// The elements of drawn leaves that were read since [`LazyEvaluator::recording`], in no order.
    pub fn reads(&self) -> FxHashMap<P::Id, Vec<usize>> {
        let mut all: FxHashMap<P::Id, Vec<usize>> = FxHashMap::default();
        for &(number, flat) in self.reads.iter().flatten() {
            all.entry(self.nodes[number as usize].id).or_default().push(flat);
        }
        all
    }

    /// Disturbs every computed float by a part in 10^11, anew for each seed. How much a result moves shows how far
    /// it can be trusted: the evaluator's own rounding is a hundred thousand times smaller.
    pub fn disturbed(mut self, seed: u64) -> Self {
        self.disturbance = Some(seed);
        self
    }

    /// Answers what operators leave open in another way than the reference semantics.
    pub fn with_ties(mut self, ties: Ties) -> Self {
        self.ties = ties;
        self
    }

    /// Lets so many elements be computed from here on. What is computed already stays known.
    pub fn allow(&mut self, budget: usize) {
        self.left = (budget as u64).saturating_mul(COMPUTED);
    }

    /// Elements that may still be computed.
    pub fn left(&self) -> usize {
        (self.left / COMPUTED) as usize
    }

    /// Element `index` of value `id`.
    pub fn element(&mut self, id: P::Id, index: &[usize]) -> Result<Number, EvalError> {
        let ty = self.program.ty(id);
        if index.len() != ty.rank() || index.iter().zip(&ty.shape).any(|(&i, &size)| i >= size) {
            return Err(EvalError::IndexOutOfRange);
        }
        // Elements to compute, each needed by the one below it.
        let mut pending = vec![(id, flat_index(&ty.shape, index))];
        while let Some(&(id, flat)) = pending.last() {
            self.depth = 0;
            self.too_deep = None;
            let node = self.node(id);
            match self.read(&node, &unflatten(&node.ty.shape, flat)) {
                Ok(value) if pending.len() == 1 => return Ok(value),
                Ok(_) => {
                    pending.pop();
                }
                Err(error) => pending.push(self.too_deep.ok_or(error)?),
            }
        }
        Err(EvalError::Budget)
    }

    /// All elements of value `id` in row-major order.
    pub fn tensor(&mut self, id: P::Id) -> Result<Vec<Number>, EvalError> {
        let ty = self.program.ty(id);
        if ty.numel() as u64 > self.left {
            return Err(EvalError::Budget);
        }
        (0..ty.numel()).map(|flat| self.element(id, &unflatten(&ty.shape, flat))).collect()
    }

    /// Element number `flat` of a value, if it has been computed.
    pub fn known(&self, id: P::Id, flat: usize) -> Option<Number> {
        let number = *self.ids.get(&id)?;
        self.memo.get(&(number, flat)).copied()
    }

    /// All elements that have been computed, by value: places in row-major order, and values, in no order.
    pub fn computed(&self) -> FxHashMap<P::Id, Vec<(usize, Number)>> {
        let mut all: FxHashMap<P::Id, Vec<(usize, Number)>> = FxHashMap::default();
        for (&(number, flat), &value) in &self.memo {
            all.entry(self.nodes[number as usize].id).or_default().push((flat, value));
        }
        all
    }

    fn spend(&mut self, reads: u64) -> Result<(), EvalError> {
        self.left = self.left.checked_sub(reads).ok_or(EvalError::Budget)?;
        Ok(())
    }

    /// Element `index` of a value that an operator or the caller asks for.
    fn read(&mut self, node: &Node<'p, P::Id>, index: &[usize]) -> Result<Number, EvalError> {
        let outside = |support: &Support| !support.contains(index);
        // A literal may be -0.
        let is_zero = node.interval.is_some_and(Interval::is_zero) && !node.is_literal();
        if is_zero || node.support.is_some_and(outside) {
            self.spend(1)?;
            return Ok(node.ty.dtype.element(0.0));
        }
        match &node.kind {
            Computation::Drawn(draw) => {
                self.spend(1)?;
                let flat = flat_index(&node.ty.shape, index);
                if let Some(reads) = &mut self.reads {
                    if reads.len() == MOST_READ {
                        return Err(EvalError::Budget);
                    }
                    reads.insert((node.number, flat));
                }
                Ok(node.ty.dtype.element(draw.element(node.ty, flat)))
            }
            Computation::Random { seed } => {
                self.spend(1)?;
                Ok(node.ty.dtype.element(random::element(*seed, node.ty, flat_index(&node.ty.shape, index))))
            }
            Computation::Constant(constant) => {
                self.spend(1)?;
                let value = constant.at(node.ty, index);
                Ok(self.disturb_literal(node, node.ty.dtype, flat_index(&node.ty.shape, index), value))
            }
            Computation::Data(data) => {
                self.spend(1)?;
                let flat = flat_index(&node.ty.shape, index);
                let value = data.get(flat).copied().ok_or(EvalError::IndexOutOfRange)?;
                Ok(self.disturb_literal(node, node.ty.dtype, flat, self.stored(node.ty.dtype, value)?))
            }
            Computation::Call(call) => {
                let flat = flat_index(&node.ty.shape, index);
                if let Some(&value) = self.memo.get(&(node.number, flat)) {
                    self.spend(1)?;
                    return Ok(value);
                }
                if self.depth == self.max_depth {
                    self.too_deep = Some((node.id, flat));
                    return Err(EvalError::Budget);
                }
                self.depth += 1;
                let value = self.compute(node, call, index, flat);
                self.depth -= 1;
                value
            }
            Computation::Opaque => Err(EvalError::NoSemantics("an operator that is not in the table".into())),
        }
    }

    fn compute(
        &mut self,
        node: &Node<'p, P::Id>,
        application: &Application<'p, P::Id>,
        index: &[usize],
        flat: usize,
    ) -> Result<Number, EvalError> {
        let operands = self.operands(application);
        let call = Call { op: application.op, attrs: application.attrs, operands: &application.types };
        let dtype = node.ty.dtype;
        let (kernel, ties) = (application.op.kernel, self.ties);
        let Some(axes) = kernel.axes(&call) else {
            // An operator that only moves elements costs a read, and is not worth remembering, except for the
            // element on which a restart waits.
            let moves = application.op.family == Family::View;
            self.spend(if moves { 1 } else { COMPUTED })?;
            // Before it reads the first.
            few((call.op.reads)(&call, node.ty.numel()))?;
            if self.disturbance.is_some() && dtype == DType::Bool && self.nearly_ties(operands, index)? {
                return Err(EvalError::Unrepresentable);
            }
            let mut value = match self.shortcut(&call, operands, index)? {
                Shortcut::Value(value) => value,
                Shortcut::Same(operand, at) => {
                    let value = self.read(&operands[operand], &at)?;
                    return self.stored(dtype, value);
                }
                Shortcut::None => {
                    ties::compute(&kernel, &call, application.slot, index, &mut self.fetch(&call, operands), ties)?[0]
                }
            };
            value = match is_number(application.op) {
                true if self.rounding => as_number(dtype, value),
                true => value,
                false => self.stored(dtype, value)?,
            };
            if application.operands.is_empty() {
                // What a literal stands for was rounded when it was made.
                let computed_in = if is_number(application.op) && dtype != DType::F64 { DType::F32 } else { dtype };
                value = self.disturb_literal(node, computed_in, flat, value);
            } else if !moves {
                value = self.disturb(node, flat, value)?;
            }
            if !moves || self.depth == 1 {
                self.memo.insert((node.number, flat), value);
            }
            return Ok(value);
        };
        let is_softmax = application.op.row_function() == RowFunction::Softmax;
        if is_softmax && self.vanishes(&operands[0], index, &axes)? {
            self.memo.insert((node.number, flat), Number::float(0.0));
            return Ok(Number::float(0.0));
        }
        if is_softmax
            && axes.iter().map(|a| a + 1).eq([index.len()])
            && let Some(visible) = self.visible(&operands[0], index)?
        {
            return self.softmax_of(node, &operands[0], index, &visible);
        }
        if let Some(value) = self.normalised(&call, node, operands, index)? {
            let value = self.stored(dtype, value.into())?;
            let value = self.disturb(node, flat, value)?;
            self.memo.insert((node.number, flat), value);
            return Ok(value);
        }
        let length: usize = axes.iter().map(|&a| node.ty.shape[a]).product();
        // Paid before the kernel allocates the lane.
        self.spend((length as u64).saturating_mul(COMPUTED))?;
        few(operands.first().map_or(0, |x| x.ty.numel()) / (node.ty.numel() / length.max(1)).max(1))?;
        let values: SmallVec<[Number; 1]> = match self.attention(&call, node, operands, index)? {
            Some(values) => values.into_iter().map(Number::float).collect(),
            None => ties::compute(&kernel, &call, application.slot, index, &mut self.fetch(&call, operands), ties)?,
        };
        let mut values = values.into_iter();
        visit_axes(&node.ty.shape, &axes, index, |at| {
            let value = values.next().ok_or(EvalError::IndexOutOfRange)?;
            let flat = flat_index(&node.ty.shape, at);
            let value = self.stored(dtype, value)?;
            let value = self.disturb(node, flat, value)?;
            self.memo.insert((node.number, flat), value);
            Ok(())
        })?;
        self.memo.get(&(node.number, flat)).copied().ok_or(EvalError::IndexOutOfRange)
    }

    /// Whether a comparison has two floats before it that only rounding tells apart.
    fn nearly_ties(&mut self, operands: &Operands<'p, P::Id>, index: &[usize]) -> Result<bool, EvalError> {
        let [x, y] = &operands[..] else { return Ok(false) };
        if !x.ty.dtype.is_float() || !y.ty.dtype.is_float() {
            return Ok(false);
        }
        let (x, y) = (
            self.read_real(x, &broadcast_index(&x.ty.shape, index))?,
            self.read_real(y, &broadcast_index(&y.ty.shape, index))?,
        );
        // No rounding brings a number near infinity.
        Ok((x - y).is_finite() && x != y && (x - y).abs() <= TRUSTED_MOVES * DISTURBANCE * x.abs().max(y.abs()))
    }

    /// An element as a real number.
    fn read_real(&mut self, node: &Node<'p, P::Id>, index: &[usize]) -> Result<f64, EvalError> {
        self.read(node, index).map(Number::to_f64)
    }

    /// What a kernel reads its operands with.
    fn fetch(
        &mut self,
        call: &Call,
        operands: &Operands<'p, P::Id>,
    ) -> impl FnMut(usize, &[usize]) -> Result<Number, EvalError> {
        let mut left = MOST_READ;
        let squared = self.disturbance.is_some() && call.op.amplifies == Amplifies::Inside;
        move |operand, at| {
            left = left.checked_sub(1).ok_or(EvalError::Budget)?;
            let value = self.read(&operands[operand], at)?;
            match squared && operand == 0 {
                true => {
                    within(squares_in(operands[0].ty.dtype), value.to_f64() * value.to_f64())?;
                    Ok(value)
                }
                false => Ok(value),
            }
        }
    }

    /// As [`LazyEvaluator::disturb`], for a literal of type `dtype`, which may be what somebody computed in that type.
    fn disturb_literal(&self, node: &Node<'p, P::Id>, dtype: DType, flat: usize, value: Number) -> Number {
        let epsilon = dtype.epsilon().unwrap_or(0.0);
        let rounding = epsilon * LITERAL_ROUNDINGS / TRUSTED_MOVES;
        // Beyond this, a type does not hold every whole number: 65 504 is 65 536 in bf16.
        let exact = EXACT.min(2.0 / epsilon);
        match (self.disturbance, value) {
            (Some(seed), Number::Float(v)) if is_inexact(v.0, exact) => {
                // In a table, small elements may be what is left of large ones.
                let size = if node.ty.rank() == 0 { v.0.abs() } else { v.0.abs().max(1.0) };
                Number::float(v.0 + rounding * size * self.noise(node, flat, seed).signum())
            }
            _ => value,
        }
    }

    /// A number between -1 and 1 for an element.
    fn noise(&self, node: &Node<'p, P::Id>, flat: usize, seed: u64) -> f64 {
        let bits = random::mix(random::mix(seed, u64::from(node.number)), flat as u64);
        bits as f64 / u64::MAX as f64 * 2.0 - 1.0
    }

    /// `value` with the disturbance that is asked for. Small whole numbers are taken to be exact: positions, masks,
    /// zeros. Large ones are not: they may be what rounding left. Neither is 1 of a function that comes near it and never is.
    fn disturb(&self, node: &Node<'p, P::Id>, flat: usize, value: Number) -> Result<Number, EvalError> {
        let saturates = || match &node.kind {
            Computation::Call(call) => {
                matches!(call.op.arithmetic(), Arithmetic::HyperbolicTangent | Arithmetic::Sigmoid)
            }
            _ => false,
        };
        let selects = || matches!(&node.kind, Computation::Call(call) if selects(call.op));
        Ok(match (self.disturbance, value) {
            // The largest element is the same number as that element.
            (Some(_), _) if selects() => value,
            (Some(seed), Number::Float(v)) if v.0.abs() == 1.0 && saturates() => {
                Number::float(v.0 * (1.0 - DISTURBANCE * self.noise(node, flat, seed).abs()))
            }
            (Some(seed), Number::Float(v)) if is_inexact(v.0, EXACT) => {
                within(node.ty.dtype, v.0)?;
                Number::float(v.0 * (1.0 + DISTURBANCE * self.noise(node, flat, seed)))
            }
            _ => value,
        })
    }

    /// What a tensor of type `dtype` gives back for `value`; floats are left as they are unless results are rounded.
    fn stored(&self, dtype: DType, value: Number) -> Result<Number, EvalError> {
        if self.rounding || !dtype.is_float() {
            dtype.store(value).ok_or(EvalError::Unrepresentable)
        } else {
            Ok(Number::float(value.to_f64()))
        }
    }
}
