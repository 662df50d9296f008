//! Weights that two layers share: an export lists such a weight under both names and reads one of them.

use super::plan::{Meaning, Plan, Slot, Source};
use crate::ir::Role;
use crate::prove::Side;

impl Plan {
    /// A binding file that names the one that nothing reads means the one that is read: the only weight of its type of which
    /// the file does not speak.
    pub(super) fn tied(&mut self) {
        for side in [Side::A, Side::B] {
            for (unread, read) in self.unread(side) {
                let meaning = self.side_mut(side)[unread].meaning.take();
                match (side, meaning) {
                    (Side::A, Some((Meaning::Same(other), _))) => self.pair(read, other, Source::Tied),
                    (Side::B, Some((Meaning::Same(other), _))) => self.pair(other, read, Source::Tied),
                    (_, derived) => self.side_mut(side)[unread].meaning = derived,
                }
                self.read_instead(side, unread, read);
            }
        }
    }

    /// The weights of a side of which a binding file speaks and that nothing reads, each with the one that it means.
    fn unread(&self, side: Side) -> Vec<(usize, usize)> {
        let slots = self.side(side);
        let is_stated = |slot: &Slot| slot.used || matches!(slot.meaning, Some((Meaning::Same(_), Source::Stated)));
        let is_unread = |slot: &Slot| !slot.live && slot.input.role == Role::Parameter && is_stated(slot);
        let found = slots.iter().enumerate().filter(|(_, slot)| is_unread(slot)).filter_map(|(unread, slot)| {
            let alike = |s: &&Slot| s.input.ty == slot.input.ty && s.input.role == slot.input.role;
            let rivals = slots.iter().filter(alike).filter(|s| is_unread(s)).count();
            let mut read = (0..slots.len()).filter(|&i| alike(&&slots[i]) && slots[i].live && slots[i].is_free());
            match (rivals, read.next(), read.next()) {
                (1, Some(read), None) => Some((unread, read)),
                _ => None,
            }
        });
        found.collect()
    }

    /// Makes what the other side has of input `from` of `side` of input `to` of the same type.
    fn read_instead(&mut self, side: Side, from: usize, to: usize) {
        let mut found = false;
        for slot in self.side_mut(side.other()) {
            if let Some((Meaning::Derived(expression), source)) = &mut slot.meaning
                && expression.replace_input(from, to)
            {
                *source = Source::Tied;
                found = true;
            }
        }
        if found {
            let slots = self.side_mut(side);
            (slots[from].used, slots[to].used) = (false, true);
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
        // The file can mean no other weight, so that a difference counts.
        assert_eq!((bound.binding.a[1], bound.binding.guessed.is_empty()), (bound.binding.b[0], true));
        let stated = parse_equalities("names", "w = head", &a, &b).unwrap();
        assert!(bind_graphs(a, b, Some(&stated)).binding.guessed.is_empty());
    }

    #[test]
    fn what_is_made_of_an_unread_weight_is_made_of_the_one_that_is_read() {
        let a = "graph a(words: param f32[2, 3], head: param f32[2, 3], x: f32[4, 3]) { y = linear(x, head) return y }";
        let b =
            "graph b(w: param f32[2, 3], t: param f32[3, 2], x: f32[4, 3]) { y = matmul(x, t) z = add(y, 1) return z }";
        let [a, b] = [a, b].map(|text| parse("side", text).unwrap());
        for lines in ["t = permute(words; dims=[1, 0])", "w = words\nt = permute(words; dims=[1, 0])"] {
            let stated = parse_equalities("names", lines, &a, &b).unwrap();
            let binding = bind_graphs(a.clone(), b.clone(), Some(&stated)).binding;
            let made = "t = permute(head; dims=[1, 0])";
            assert!(binding.lines.iter().any(|line| line == made), "{lines}: {:?}", binding.lines);
        }
    }
}
