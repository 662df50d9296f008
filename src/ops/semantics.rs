//! What an operator computes, and how its output lies in memory.

use smallvec::SmallVec;

use super::{Call, EvalError};
use crate::ir::{Layout, TensorType};

/// Output types, one per slot.
pub type Types = SmallVec<[TensorType; 1]>;

/// Reads element `index` of operand number `operand`.
pub type Fetch<'a> = dyn FnMut(usize, &[usize]) -> Result<f64, EvalError> + 'a;

/// Computes a lane of an output: see [`Kernel::Lane`].
pub type Lane = fn(&Call, usize, &[usize], &mut Fetch) -> Result<Vec<f64>, EvalError>;

/// The reference semantics of an operator over the real numbers, element by element, so that single
/// elements can be computed at full size without materialising a tensor.
#[derive(Clone, Copy)]
pub enum Kernel {
    /// Computes element `index` of output `slot`.
    Element(fn(&Call, usize, &[usize], &mut Fetch) -> Result<f64, EvalError>),
    /// Computes a whole lane: all elements of output `slot` whose indices agree with the given one
    /// outside of `axes`, in row-major order over `axes`. For operators whose elements share work.
    Lane { axes: fn(&Call) -> SmallVec<[usize; 4]>, lane: Lane },
    /// No reference semantics, for example because the data type cannot be evaluated.
    Opaque,
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
