//! Tensors that are bound to nothing: constants, if the file holds their values, and missing, if another file should.
//!
//! Formats that keep weights and other constants in one list do not say which is which. What the other side has is a weight; what
//! is left is a mask, a table of positions or a folded weight, and counts by its elements. Where a format says that a tensor is a
//! weight, it stays one: what is not bound to it may still be made of it. Buffers of integers that both files hold alike are constants, too.

use std::path::PathBuf;
use std::sync::Arc;

use super::plan::{Meaning, Plan, Slot, Source};
use crate::ir::{Contents, DType, Number, Role};
use crate::prove::Side;

/// The most elements of a tensor that becomes a constant.
const MAX_ELEMENTS: usize = 1 << 18;

/// The most elements of all buffers that become constants because both files hold the same.
const MAX_ALL_ELEMENTS: usize = 1 << 22;

/// A tensor whose values are in a file that does not exist, and that nothing of the other side can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingConstant {
    /// The graph that needs it.
    pub side: Side,
    /// The name of the tensor.
    pub tensor: String,
    /// The file that should hold it.
    pub file: PathBuf,
}

impl Slot {
    /// Whether it counts as a constant of its file and may be made of weights all the same, as where an optimiser has folded some: more
    /// than a mask or counted positions.
    pub(super) fn is_constant_of_weights(&self) -> bool {
        let Some(elements) = self.literal.as_deref().filter(|_| self.input.ty.dtype.is_float()) else { return false };
        let mut others = elements.iter().filter(|&n| elements.first() != Some(n));
        others.next().is_some_and(|second| others.any(|n| n != second))
    }
}

impl Plan {
    /// Reads what is bound to nothing, where the file holds it.
    pub(super) fn keep_constants(&mut self, [of_a, of_b]: [&mut dyn Contents; 2]) {
        for (slots, contents) in [(&mut self.a, of_a), (&mut self.b, of_b)] {
            let weights = contents.tells_weights();
            for (i, slot) in slots.iter_mut().enumerate() {
                let is_weight = weights && slot.input.role == Role::Parameter;
                if slot.is_alone() && !slot.changes && !is_weight && slot.input.ty.numel() <= MAX_ELEMENTS {
                    let elements = contents.elements(i).filter(|all| all.len() == slot.input.ty.numel());
                    slot.literal = elements.map(Into::into);
                }
            }
        }
    }

    /// Lets buffers of integers count as constants where both files hold the same elements for them: nobody trains them, so that the two
    /// programs are what they are with these positions, scales and masks. What a program counts up is none, and what a binding file says stays.
    pub(super) fn keep_whole_buffers(&mut self, [of_a, of_b]: [&mut dyn Contents; 2]) {
        let mut left = MAX_ALL_ELEMENTS;
        for j in 0..self.b.len() {
            let Some((Meaning::Same(i), source)) = self.b[j].meaning else { continue };
            let is_buffer = |slot: &Slot| {
                let ty = &slot.input.ty;
                slot.input.role == Role::Buffer && (ty.dtype.is_int() || ty.dtype == DType::Bool)
            };
            let [x, y] = [&self.a[i], &self.b[j]];
            let is_open =
                [x, y].iter().all(|slot| is_buffer(slot) && !slot.used && !slot.changes) && source != Source::Stated;
            let count = x.input.ty.numel();
            if !is_open || count > MAX_ELEMENTS.min(left) || x.checksum != y.checksum && x.checksum.is_some() {
                continue;
            }
            left -= count;
            let all = |elements: Option<Vec<Number>>| elements.filter(|all| all.len() == count);
            if let (Some(of_a), Some(of_b)) = (all(of_a.elements(i)), all(of_b.elements(j)))
                && of_a == of_b
            {
                let elements: Arc<[Number]> = of_a.into();
                for slot in [&mut self.a[i], &mut self.b[j]] {
                    (slot.meaning, slot.literal, slot.held_alike) = (None, Some(elements.clone()), true);
                }
            }
        }
    }

    /// What is bound to nothing and should lie in a file that does not exist, although every weight of the other side is
    /// bound: it can be no weight.
    pub(super) fn missing_constants(&self, [of_a, of_b]: [&mut dyn Contents; 2]) -> Vec<MissingConstant> {
        let mut missing = Vec::new();
        for (side, contents) in [(Side::A, of_a), (Side::B, of_b)] {
            if self.side(side.other()).iter().any(Slot::is_alone) {
                continue;
            }
            for (i, slot) in self.side(side).iter().enumerate().filter(|(_, slot)| slot.is_alone()) {
                if let Some(file) = contents.missing(i) {
                    missing.push(MissingConstant { side, tensor: slot.input.name.clone(), file });
                }
            }
        }
        missing
    }
}
