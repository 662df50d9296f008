//! Tensors that are bound to nothing: constants, if the file holds their values, and missing, if another file should.
//!
//! Formats that keep weights and other constants in one list do not say which is which. What the other side has is a weight; what
//! is left is a mask, a table of positions or a folded weight, and counts by its elements. Where a format says that a tensor is a
//! weight, it stays one: what is not bound to it may still be made of it. Buffers of integers and causal masks that both files hold alike are
//! constants, too, and so are others that only one of the programs reads.

use std::path::PathBuf;
use std::sync::Arc;

use super::mask;
use super::plan::{Meaning, Plan, Slot, Source};
use crate::ir::{Contents, Number, Role, TensorType};
use crate::prove::Side;

/// The most elements of a tensor that becomes a constant.
pub(super) const MAX_ELEMENTS: usize = 1 << 18;

/// The most elements of a causal mask that becomes one.
const MAX_MASK_ELEMENTS: usize = 1 << 22;

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

/// What slots hold, each list of elements once: the layers of a model have a mask each, and all of them the same one.
pub(super) struct Reader {
    kept: Vec<Arc<[Number]>>,
    /// How many elements may still be read that the two files may hold alike.
    left: usize,
}

impl Reader {
    pub(super) fn new() -> Reader {
        Reader { kept: Vec::new(), left: MAX_ALL_ELEMENTS }
    }

    /// The elements of a slot, if they may count as a constant: a causal mask of any size, or few.
    fn constant(&mut self, slot: &Slot, elements: Option<Vec<Number>>) -> Option<Arc<[Number]>> {
        let ty = &slot.input.ty;
        let elements = elements.filter(|all| all.len() == ty.numel())?;
        (elements.len() <= MAX_ELEMENTS || mask::is_causal(ty, &elements)).then(|| self.shared(elements))
    }

    /// The elements of a causal mask.
    pub(super) fn mask(&mut self, slot: &Slot, contents: &mut dyn Contents, input: usize) -> Option<Arc<[Number]>> {
        let ty = &slot.input.ty;
        let elements = may_be_mask(ty).then(|| contents.elements(input)).flatten()?;
        mask::is_causal(ty, &elements).then(|| self.shared(elements))
    }

    /// The elements of a buffer, if they are part of its program: a causal mask, other integers, or what one program reads and the
    /// other one computes by itself.
    fn known(
        &mut self,
        slot: &Slot,
        contents: &mut dyn Contents,
        input: usize,
        one_reads: bool,
    ) -> Option<Arc<[Number]>> {
        let ty = &slot.input.ty;
        let is_open = one_reads || !ty.dtype.is_float();
        match is_open && ty.numel() <= MAX_ELEMENTS.min(self.left) {
            true => self.constant(slot, contents.elements(input)),
            false => self.mask(slot, contents, input),
        }
    }

    fn shared(&mut self, elements: Vec<Number>) -> Arc<[Number]> {
        if let Some(known) = self.kept.iter().find(|known| known[..] == elements[..]) {
            return known.clone();
        }
        let elements: Arc<[Number]> = elements.into();
        self.left = self.left.saturating_sub(elements.len());
        self.kept.push(elements.clone());
        elements
    }
}

/// Whether a tensor may be a causal mask by its type.
fn may_be_mask(ty: &TensorType) -> bool {
    matches!(ty.shape[..], [.., queries, keys] if queries > 1 && keys > 1) && ty.numel() <= MAX_MASK_ELEMENTS
}

impl Plan {
    /// Reads what is bound to nothing, where the file holds it.
    pub(super) fn keep_constants(&mut self, [of_a, of_b]: [&mut dyn Contents; 2]) {
        let mut reader = Reader::new();
        for (slots, contents) in [(&mut self.a, of_a), (&mut self.b, of_b)] {
            let weights = contents.tells_weights();
            for (i, slot) in slots.iter_mut().enumerate() {
                let ty = &slot.input.ty;
                let is_weight = slot.input.role == Role::Parameter;
                let is_small = ty.numel() <= MAX_ELEMENTS && !(weights && is_weight);
                if slot.is_alone() && !slot.changes && (is_small || !is_weight && may_be_mask(ty)) {
                    slot.literal = reader.constant(slot, contents.elements(i));
                }
            }
        }
    }

    /// Lets buffers of integers and causal masks count as constants where both files hold the same elements for them: nobody trains them, so
    /// that the two programs are what they are with these positions, scales and masks. So do other buffers that one program alone reads: what
    /// stands in their place in the other one was computed from these elements. What a program counts up is none, and what a binding file says
    /// stays.
    pub(super) fn keep_whole_buffers(&mut self, [of_a, of_b]: [&mut dyn Contents; 2]) {
        let mut reader = Reader::new();
        for j in 0..self.b.len() {
            let Some((Meaning::Same(i), source)) = self.b[j].meaning else { continue };
            let [x, y] = [&self.a[i], &self.b[j]];
            let may_be_known = |slot: &Slot| slot.input.role == Role::Buffer && !slot.used && !slot.changes;
            let is_open = [x, y].into_iter().all(may_be_known) && source != Source::Stated;
            if !is_open || x.checksum != y.checksum && x.checksum.is_some() {
                continue;
            }
            let one_reads = x.live != y.live;
            if let Some(elements) = reader.known(x, of_a, i, one_reads)
                && of_b.elements(j).is_some_and(|of_b| of_b[..] == elements[..])
            {
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
