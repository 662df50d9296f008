//! What an operator computes, and how its output lies in memory.

use smallvec::SmallVec;

use super::{Call, EvalError, Family};
use crate::ir::{Layout, Number, TensorType};

/// Reads element `index` of operand number `operand`.
pub type Fetch<'a> = FetchAs<'a, Number>;

/// As [`Fetch`], with integers taken as real numbers.
pub type FetchReal<'a> = FetchAs<'a, f64>;

/// Reads an element as a `T`.
pub type FetchAs<'a, T> = dyn FnMut(usize, &[usize]) -> Result<T, EvalError> + 'a;

/// Computes an element: see [`Kernel::Element`].
pub type Element = fn(&Call, usize, &[usize], &mut Fetch) -> Result<Number, EvalError>;

/// Computes a lane of an output: see [`Kernel::Lane`].
pub type Lane = fn(&Call, usize, &[usize], &mut Fetch) -> Result<Vec<Number>, EvalError>;

/// As [`Lane`], over the real numbers.
pub(super) type RealLane = fn(&Call, usize, &[usize], &mut FetchReal) -> Result<Vec<f64>, EvalError>;

/// The dimensions that a lane runs along.
pub type Axes = fn(&Call) -> SmallVec<[usize; 4]>;

/// The reference semantics of an operator, element by element, so that single elements can be computed at full size
/// without materialising a tensor.
///
/// Integers and bools are computed exactly and wrap around. Floats are computed in doubles; whoever asks rounds the
/// result to its type, or does not.
#[derive(Clone, Copy)]
pub enum Kernel {
    /// Computes element `index` of output `slot`. Rounded to its type it is what PyTorch gives, bit for bit, but for
    /// arithmetic on 8-bit floats.
    Element(Element),
    /// As `Element` for integers and bools. PyTorch adds, multiplies or compares floats in an order of its own.
    Ordered(Element),
    /// Computes element `index` of output `slot` over the real numbers; PyTorch comes near it.
    Real(fn(&Call, usize, &[usize], &mut FetchReal) -> Result<f64, EvalError>),
    /// Computes a whole lane: all elements of output `slot` whose indices agree with the given one
    /// outside of `axes`, in row-major order over `axes`. For operators whose elements share work. As exact as `Element`.
    Lane { axes: Axes, lane: Lane },
    /// A lane as exact as `Ordered`.
    OrderedLane { axes: Axes, lane: Lane },
    /// A lane as exact as `Real`.
    RealLane { axes: Axes, lane: RealLane },
    /// No reference semantics.
    Opaque,
}

impl Kernel {
    /// Whether the result, rounded to its type, is PyTorch's bit for bit.
    pub fn is_exact(&self, call: &Call, output: &TensorType) -> bool {
        match self {
            // PyTorch has few operators for 8-bit floats, and those disagree about zeros: `abs` keeps the sign of -0.0.
            Kernel::Element(_) if call.op.family == Family::Elementwise && !call.op.hands_on => {
                !call.operands.iter().any(|t| t.dtype.is_float() && t.dtype.bytes() == 1)
            }
            Kernel::Element(_) | Kernel::Lane { .. } => true,
            Kernel::Ordered(_) | Kernel::OrderedLane { .. } => {
                !call.operands.iter().copied().chain([output]).any(|t| t.dtype.is_float())
            }
            Kernel::Real(_) | Kernel::RealLane { .. } | Kernel::Opaque => false,
        }
    }

    /// The dimensions of a lane, for operators that compute lanes.
    pub fn axes(&self, call: &Call) -> Option<SmallVec<[usize; 4]>> {
        match self {
            Kernel::Lane { axes, .. } | Kernel::OrderedLane { axes, .. } | Kernel::RealLane { axes, .. } => {
                Some(axes(call))
            }
            Kernel::Element(_) | Kernel::Ordered(_) | Kernel::Real(_) | Kernel::Opaque => None,
        }
    }

    /// Element `index` of output `slot`, or the lane through it: all elements in row-major order over the axes.
    ///
    /// # Errors
    /// Where the element has no value, or `fetch` gives none of an operand's elements.
    pub fn compute(
        &self,
        call: &Call,
        slot: usize,
        index: &[usize],
        fetch: &mut Fetch,
    ) -> Result<SmallVec<[Number; 1]>, EvalError> {
        let reals = &mut |operand: usize, at: &[usize]| fetch(operand, at).map(Number::to_f64);
        Ok(match self {
            Kernel::Real(element) => SmallVec::from_elem(element(call, slot, index, reals)?.into(), 1),
            Kernel::RealLane { lane, .. } => lane(call, slot, index, reals)?.into_iter().map(Number::float).collect(),
            Kernel::Element(element) | Kernel::Ordered(element) => {
                SmallVec::from_elem(element(call, slot, index, fetch)?, 1)
            }
            Kernel::Lane { lane, .. } | Kernel::OrderedLane { lane, .. } => lane(call, slot, index, fetch)?.into(),
            Kernel::Opaque => return Err(EvalError::NoSemantics(call.op.name.into())),
        })
    }
}

/// How an operator's output lies in memory.
#[derive(Clone, Copy)]
pub enum LayoutRule {
    /// A new dense row-major tensor.
    Contiguous,
    /// PyTorch's rule for elementwise kernels: keep the operands' dense permuted order if there is one.
    Elementwise,
    /// An alias of operand 0 (no kernel, no bytes), or `None` where the strides demand a copy.
    View(fn(&Call, usize, &Layout) -> Option<Layout>),
}
