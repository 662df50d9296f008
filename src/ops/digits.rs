//! The facet `digits` of an operator's entry: along what a result may be renumbered.
//!
//! Places along a dimension are numbers; written with several digits, as a reshape does that splits the dimension, each digit may
//! be looked at by itself. A digit of a result is carried if renumbering its values does the same to one digit of every operand, or
//! nothing.

use smallvec::{SmallVec, smallvec};

use super::{Call, Elements};
use crate::ir::TensorType;

/// A digit of the places along a dimension: `place / step % size`. The dimension's size is a multiple of `step * size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digit {
    pub dim: usize,
    pub step: usize,
    pub size: usize,
}

/// The digit of each operand that is renumbered; `None` for an operand of which each element stays the same.
pub type Digits = SmallVec<[Option<Digit>; 4]>;

/// A digit of an output of a call.
pub struct Renumbering<'a> {
    pub call: &'a Call<'a>,
    pub slot: usize,
    pub result: &'a TensorType,
    pub digit: Digit,
}

impl Renumbering<'_> {
    /// What follows from where the elements come from: the facet of operators that state nothing else.
    pub(super) fn by_elements(&self) -> Option<Digits> {
        match self.call.elements() {
            Elements::Placewise(_) => Some(self.broadcast()),
            Elements::Lane(_) => self.beside_lanes(),
            Elements::Unknown
            | Elements::Moved(..)
            | Elements::Product
            | Elements::Convolution
            | Elements::Attention
            | Elements::OneHot
            | Elements::Weighted(_) => None,
        }
    }

    /// The dimension of the result.
    pub(super) fn dim(&self) -> usize {
        self.digit.dim
    }

    /// Dimensions of the operands that the same happens to.
    pub(super) fn dims(&self, dims: impl IntoIterator<Item = Option<usize>>) -> Digits {
        dims.into_iter().map(|dim| dim.map(|dim| Digit { dim, ..self.digit })).collect()
    }

    /// A dimension of operand 0, and nothing of the others.
    pub(super) fn first(&self, dim: usize) -> Digits {
        let others = self.call.operands.len().saturating_sub(1);
        self.dims([Some(dim)].into_iter().chain(std::iter::repeat_n(None, others)))
    }

    /// The same dimension of operand 0, and nothing of the others.
    pub(super) fn same(&self) -> Digits {
        self.first(self.dim())
    }

    /// The same dimension of operand 0 where this holds.
    pub(super) fn same_if(&self, holds: bool) -> Option<Digits> {
        holds.then(|| self.same())
    }

    /// The same dimension of all operands.
    pub(super) fn same_of_all(&self) -> Digits {
        self.dims(self.call.operands.iter().map(|_| Some(self.dim())))
    }

    /// The dimension of an operand that broadcasting brings to the result's.
    pub(super) fn aligned(&self, operand: &TensorType) -> Option<usize> {
        (self.dim() + operand.rank()).checked_sub(self.result.rank())
    }

    /// The dimensions of all operands that broadcasting brings to the result's.
    pub(super) fn broadcast(&self) -> Digits {
        self.dims(self.call.operands.iter().map(|ty| self.aligned(ty)))
    }

    /// Whether the attribute `dim` names the dimension.
    pub(super) fn is_along(&self) -> Option<bool> {
        Some(self.call.dim("dim", 0).ok()? == self.dim())
    }

    /// A dimension that lanes of operand 0 do not run along.
    fn beside_lanes(&self) -> Option<Digits> {
        let (lane, d) = (self.call.lane_dims()?, self.dim());
        let at = match self.call.reduces_lanes() && !self.call.bool("keepdim") {
            true => (0..self.call.operands.first()?.rank()).filter(|i| !lane.contains(i)).nth(d)?,
            false if lane.contains(&d) => return None,
            false => d,
        };
        Some(self.first(at))
    }

    /// The digit that it is of operand 0, whose elements stand in the same row-major order under another shape.
    pub(super) fn reshaped(&self) -> Option<Digits> {
        let Digit { dim, step, size } = self.digit;
        let stride = step * self.result.shape[dim + 1..].iter().product::<usize>();
        let mut inner = 1;
        for (dim, &n) in self.call.operands.first()?.shape.iter().enumerate().rev() {
            if stride.is_multiple_of(inner) && n.is_multiple_of(stride / inner * size) {
                return Some(smallvec![Some(Digit { dim, step: stride / inner, size })]);
            }
            inner *= n;
        }
        None
    }

    /// The same digit of operand 0, of whose dimension the result has a part from `start` on.
    pub(super) fn part(&self, start: i64) -> Option<Digits> {
        let whole = self.digit.step * self.digit.size;
        let aligned = usize::try_from(start).is_ok_and(|start| start.is_multiple_of(whole));
        (aligned && self.is_whole_in(self.call.operands.first()?)).then(|| smallvec![Some(self.digit)])
    }

    /// The same digit of all operands, which stand one after the other along its dimension.
    pub(super) fn parts(&self) -> Option<Digits> {
        let all = self.call.operands;
        all.iter().all(|ty| self.is_whole_in(ty)).then(|| SmallVec::from_elem(Some(self.digit), all.len()))
    }

    /// Whether the dimension of an operand has the digit as a whole.
    fn is_whole_in(&self, operand: &TensorType) -> bool {
        operand.shape.get(self.dim()).is_some_and(|n| n.is_multiple_of(self.digit.step * self.digit.size))
    }

    /// A digit of a dimension of which each entry of operand 0 gives `count` neighbouring ones; `alike` if those are equal.
    pub(super) fn multiplied(&self, count: usize, alike: bool) -> Option<Digits> {
        let Digit { step, size, .. } = self.digit;
        match step.is_multiple_of(count) {
            true => Some(smallvec![Some(Digit { step: step / count, ..self.digit })]),
            // Which copy it is makes no difference.
            false => (alike && count.is_multiple_of(step * size)).then(|| smallvec![None]),
        }
    }
}
