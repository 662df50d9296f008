//! Weights that two layers share: an export lists such a weight under both names and reads one of them.

use super::plan::{Meaning, Plan, Slot, Source};
use crate::ir::Role;
use crate::prove::Side;

impl Plan {
    /// A binding file that names the one that nothing reads means the one that is read: the only weight of its type of which
    /// the file does not speak.
    pub fn tied(&mut self) {
        for side in [Side::A, Side::B] {
            let stated = |slot: &Slot| match &slot.meaning {
                Some((Meaning::Same(other), Source::Stated)) if !slot.live => Some(*other),
                _ => None,
            };
            let slots = self.side(side);
            let mut found = Vec::new();
            for (unread, slot) in slots.iter().enumerate() {
                let Some(other) = stated(slot) else { continue };
                let alike = |s: &&Slot| s.input.ty == slot.input.ty && s.input.role == slot.input.role;
                let rivals = slots.iter().filter(alike).filter(|s| stated(s).is_some()).count();
                let mut read = (0..slots.len()).filter(|&i| alike(&&slots[i]) && slots[i].live && slots[i].is_free());
                if let (1, Role::Parameter, Some(read), None) = (rivals, slot.input.role, read.next(), read.next()) {
                    found.push((unread, read, other));
                }
            }
            for (unread, read, other) in found {
                self.side_mut(side)[unread].meaning = None;
                match side {
                    Side::A => self.pair(read, other, Source::Tied),
                    Side::B => self.pair(other, read, Source::Tied),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ir::text::{parse, parse_equalities};
    use crate::prove::bind::bind_graphs;

    #[test]
    fn what_is_said_of_an_unread_weight_holds_for_the_one_that_is_read() {
        let a = "graph a(words: param f32[2, 3], head: param f32[2, 3], i: i64[4]) { y = embedding(head, i) return y }";
        let b = "graph b(w: f32[2, 3], i: i64[4]) { y = embedding(w, i) return y }";
        let [a, b] = [a, b].map(|text| parse("side", text).unwrap());
        let stated = parse_equalities("names", "w = words", &a, &b).unwrap();
        let bound = bind_graphs(a.clone(), b.clone(), Some(&stated));
        assert_eq!((bound.binding.a[1], &bound.binding.guessed[..]), (bound.binding.b[0], &[bound.binding.b[0]][..]));
        let stated = parse_equalities("names", "w = head", &a, &b).unwrap();
        assert!(bind_graphs(a, b, Some(&stated)).binding.guessed.is_empty());
    }
}
