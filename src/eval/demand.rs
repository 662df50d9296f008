//! Evaluation on demand: only the elements asked for, and what they need, are computed.

use std::cell::OnceCell;
use std::rc::Rc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{Constant, Program, Source, random};
use crate::ir::{AttrValue, DType, TensorType, flat_index, unflatten};
use crate::ops::shapes::visit_axes;
use crate::ops::{Call, EvalError, Family, Kernel, OpDef};

/// Nested operators that are computed on the machine's stack before the evaluator starts over from the innermost one.
const MAX_DEPTH: usize = 128;

/// What computing an element costs, in reads of a leaf.
const COMPUTED: u64 = 16;

/// How to evaluate.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Round every operator's result to its element type. Otherwise floats are real numbers (f64), as they are
    /// between the operators of a fused kernel. Integers and bools are always kept in range.
    pub rounding: bool,
    /// Elements that may be computed, over the whole life of a [`Demand`]; 16 elements that are only read or moved
    /// count as one.
    pub budget: usize,
}

/// Computes elements of a program's values and remembers them.
pub struct Demand<'p, P: Program> {
    program: &'p P,
    rounding: bool,
    /// What is left of the budget, in reads of a leaf.
    left: u64,
    ids: FxHashMap<P::Id, u32>,
    nodes: Vec<Rc<Node<'p, P::Id>>>,
    memo: FxHashMap<(u32, usize), f64>,
    depth: usize,
    /// The element at which the recursion became too deep.
    too_deep: Option<(P::Id, usize)>,
}

/// A value of the program, looked up once.
struct Node<'p, Id> {
    id: Id,
    number: u32,
    ty: &'p TensorType,
    kind: Kind<'p, Id>,
}

enum Kind<'p, Id> {
    Random { seed: u64 },
    Constant(&'p Constant),
    Data(&'p [f64]),
    Call(Application<'p, Id>),
    Opaque,
}

struct Application<'p, Id> {
    op: &'static OpDef,
    attrs: &'p [AttrValue],
    types: SmallVec<[&'p TensorType; 4]>,
    slot: usize,
    operands: SmallVec<[Id; 4]>,
    /// Numbers of the operands' nodes.
    numbers: OnceCell<SmallVec<[u32; 4]>>,
    /// PyTorch keeps literal scalars in wider precision than the operands they meet.
    literal_scalar: bool,
}

impl<'p, P: Program> Demand<'p, P> {
    pub fn new(program: &'p P, options: Options) -> Self {
        Demand {
            program,
            rounding: options.rounding,
            left: (options.budget as u64).saturating_mul(COMPUTED),
            ids: FxHashMap::default(),
            nodes: Vec::new(),
            memo: FxHashMap::default(),
            depth: 0,
            too_deep: None,
        }
    }

    /// Elements that may still be computed.
    pub fn left(&self) -> usize {
        (self.left / COMPUTED) as usize
    }

    /// Element `index` of value `id`.
    pub fn element(&mut self, id: P::Id, index: &[usize]) -> Result<f64, EvalError> {
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
    pub fn tensor(&mut self, id: P::Id) -> Result<Vec<f64>, EvalError> {
        let ty = self.program.ty(id);
        if ty.numel() as u64 > self.left {
            return Err(EvalError::Budget);
        }
        (0..ty.numel()).map(|flat| self.element(id, &unflatten(&ty.shape, flat))).collect()
    }

    fn node(&mut self, id: P::Id) -> Rc<Node<'p, P::Id>> {
        let number = self.number(id);
        Rc::clone(&self.nodes[number as usize])
    }

    fn number(&mut self, id: P::Id) -> u32 {
        if let Some(&number) = self.ids.get(&id) {
            return number;
        }
        let ty = self.program.ty(id);
        let kind = match self.program.source(id) {
            _ if matches!(ty.dtype, DType::F8E4M3 | DType::F8E5M2) => Kind::Opaque,
            Source::Random { seed } => Kind::Random { seed },
            Source::Constant(constant) => Kind::Constant(constant),
            Source::Data(data) => Kind::Data(data),
            Source::Call { op, attrs, types, slot, operands } => Kind::Call(Application {
                op,
                attrs,
                types,
                slot,
                operands,
                numbers: OnceCell::new(),
                literal_scalar: op.name == "full" && ty.rank() == 0,
            }),
            Source::Opaque => Kind::Opaque,
        };
        let number = self.nodes.len() as u32;
        self.nodes.push(Rc::new(Node { id, number, ty, kind }));
        self.ids.insert(id, number);
        number
    }

    fn spend(&mut self, reads: u64) -> Result<(), EvalError> {
        self.left = self.left.checked_sub(reads).ok_or(EvalError::Budget)?;
        Ok(())
    }

    /// Element `index` of a value that an operator or the caller asks for.
    fn read(&mut self, node: &Node<'p, P::Id>, index: &[usize]) -> Result<f64, EvalError> {
        match &node.kind {
            Kind::Random { seed } => {
                self.spend(1)?;
                Ok(random::element(*seed, node.ty, flat_index(&node.ty.shape, index)))
            }
            Kind::Constant(constant) => {
                self.spend(1)?;
                let value = constant.at(node.ty, index);
                Ok(if node.ty.rank() == 0 { value } else { self.stored(node.ty.dtype, value) })
            }
            Kind::Data(data) => {
                self.spend(1)?;
                let value = data.get(flat_index(&node.ty.shape, index)).copied();
                Ok(self.stored(node.ty.dtype, value.ok_or(EvalError::IndexOutOfRange)?))
            }
            Kind::Call(call) => {
                let flat = flat_index(&node.ty.shape, index);
                if let Some(&value) = self.memo.get(&(node.number, flat)) {
                    self.spend(1)?;
                    return Ok(value);
                }
                if self.depth == MAX_DEPTH {
                    self.too_deep = Some((node.id, flat));
                    return Err(EvalError::Budget);
                }
                self.depth += 1;
                let value = self.compute(node, call, index, flat);
                self.depth -= 1;
                value
            }
            Kind::Opaque => Err(EvalError::NoSemantics("an operator that is not in the table".into())),
        }
    }

    fn compute(
        &mut self,
        node: &Node<'p, P::Id>,
        application: &Application<'p, P::Id>,
        index: &[usize],
        flat: usize,
    ) -> Result<f64, EvalError> {
        let numbers =
            application.numbers.get_or_init(|| application.operands.iter().map(|&o| self.number(o)).collect());
        let operands: SmallVec<[Rc<Node<'p, P::Id>>; 4]> =
            numbers.iter().map(|&n| Rc::clone(&self.nodes[n as usize])).collect();
        let call = Call { op: application.op, attrs: application.attrs, operands: &application.types };
        let slot = application.slot;
        let dtype = node.ty.dtype;
        match application.op.kernel {
            Kernel::Element(kernel) => {
                // An operator that only moves elements costs a read, and is not worth remembering, except for the
                // element on which a restart waits.
                let moves = application.op.family == Family::View;
                self.spend(if moves { 1 } else { COMPUTED })?;
                let mut value = kernel(&call, slot, index, &mut |o, at| self.read(&operands[o], at))?;
                if !application.literal_scalar {
                    value = self.stored(dtype, value);
                }
                if !moves || self.depth == 1 {
                    self.memo.insert((node.number, flat), value);
                }
                Ok(value)
            }
            Kernel::Lane { axes, lane } => {
                let axes = axes(&call);
                let length: usize = axes.iter().map(|&a| node.ty.shape[a]).product();
                // Paid before the kernel allocates the lane.
                self.spend((length as u64).saturating_mul(COMPUTED))?;
                let values = lane(&call, slot, index, &mut |o, at| self.read(&operands[o], at))?;
                let mut values = values.into_iter();
                visit_axes(&node.ty.shape, &axes, index, |at| {
                    let value = values.next().ok_or(EvalError::IndexOutOfRange)?;
                    let value = self.stored(dtype, value);
                    self.memo.insert((node.number, flat_index(&node.ty.shape, at)), value);
                    Ok(())
                })?;
                self.memo.get(&(node.number, flat)).copied().ok_or(EvalError::IndexOutOfRange)
            }
            Kernel::Opaque => Err(EvalError::NoSemantics(application.op.name.into())),
        }
    }

    /// What a tensor of type `dtype` gives back for `value`.
    fn stored(&self, dtype: DType, value: f64) -> f64 {
        if self.rounding || !dtype.is_float() { dtype.round(value) } else { value }
    }
}
