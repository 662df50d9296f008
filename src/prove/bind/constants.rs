//! Tensors that are bound to nothing: constants, if the file holds their values, and missing, if another file should.
//!
//! Formats that keep weights and other constants in one list do not say which is which. What the other side has is a weight; what
//! is left is a mask, a table of positions or a folded weight, and counts by its elements.

use std::path::PathBuf;

use super::plan::Plan;
use crate::ir::Contents;
use crate::prove::Side;

/// The most elements of a tensor that becomes a constant.
const MAX_ELEMENTS: usize = 1 << 18;

/// A tensor whose values are in a file that does not exist, and that nothing of the other side can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingConstant {
    pub side: Side,
    pub tensor: String,
    pub file: PathBuf,
}

impl Plan {
    /// Reads what is bound to nothing, where the file holds it.
    pub fn keep_constants(&mut self, [of_a, of_b]: [&mut dyn Contents; 2]) {
        for (slots, contents) in [(&mut self.a, of_a), (&mut self.b, of_b)] {
            for (i, slot) in slots.iter_mut().enumerate() {
                if slot.is_alone() && slot.input.ty.numel() <= MAX_ELEMENTS {
                    let elements = contents.elements(i).filter(|all| all.len() == slot.input.ty.numel());
                    slot.literal = elements.map(Into::into);
                }
            }
        }
    }

    /// What is bound to nothing and should lie in a file that does not exist, although every weight of the other side is
    /// bound: it can be no weight.
    pub fn missing_constants(&self, [of_a, of_b]: [&mut dyn Contents; 2]) -> Vec<MissingConstant> {
        let mut missing = Vec::new();
        for (side, contents) in [(Side::A, of_a), (Side::B, of_b)] {
            if self.side(side.other()).iter().any(|slot| slot.is_alone()) {
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
