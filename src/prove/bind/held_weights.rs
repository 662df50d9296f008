//! The weights that both files hold: where constants of a file may be made of weights, as an optimiser makes them, no other weights
//! tell whether two programs differ.

use super::plan::{Meaning, Plan, Slot, Source, Weights};
use crate::ir::{Contents, Number, Role};
use crate::prove::Side;

/// Elements that are kept in all. Larger models stay undecided.
const MAX_ELEMENTS: usize = 1 << 20;

impl Plan {
    /// Keeps what the files hold for their weights, where some constant may be made of weights and nothing was guessed of those.
    pub(super) fn hold_weights(&mut self, [of_a, of_b]: [&mut dyn Contents; 2]) {
        let mut all = [&self.a, &self.b].into_iter().flatten();
        let is_plain = |slot: &Slot| {
            let source = slot.meaning.as_ref().map(|(_, source)| *source);
            let is_sure = source.is_none_or(|s| !s.is_guess() && !matches!(s, Source::Stated | Source::Tied));
            slot.supposed_by.is_none() && (is_sure || slot.input.role == Role::User)
        };
        let is_open = all.clone().any(Slot::is_constant_of_weights) && all.all(is_plain);
        if is_open && self.unlike.is_empty() && self.uncompared.is_empty() {
            self.held = self.read_weights(of_a, of_b);
        }
    }

    fn read_weights(&self, of_a: &mut dyn Contents, of_b: &mut dyn Contents) -> Option<Weights> {
        let mut held = Weights::default();
        let mut left = MAX_ELEMENTS;
        for side in [Side::A, Side::B] {
            for (i, slot) in self.side(side).iter().enumerate() {
                let is_weight = slot.input.role != Role::User && slot.live && slot.literal.is_none();
                let other = match &slot.meaning {
                    Some((Meaning::Derived(_), _)) => continue,
                    Some((Meaning::Same(_), _)) if side == Side::B => continue,
                    Some((Meaning::Same(other), _)) => Some(*other),
                    None => None,
                };
                if !is_weight {
                    continue;
                }
                left = left.checked_sub(slot.input.ty.numel())?;
                let elements = if side == Side::A { of_a.elements(i) } else { of_b.elements(i) }?;
                // Pairs stand on A's side.
                if other.is_some_and(|other| of_b.elements(other).as_ref() != Some(&elements)) {
                    return None;
                }
                held.insert((side, i), elements.into_iter().map(exact).collect::<Option<_>>()?);
            }
        }
        Some(held)
    }
}

/// A number as a double that is neither rounded nor infinite.
fn exact(number: Number) -> Option<f64> {
    let value = number.to_f64();
    (value.is_finite() && number.to_i64().is_none_or(|whole| whole as f64 == value)).then_some(value)
}
