//! Whether a binding agrees with the values that both files hold.

use rustc_hash::{FxHashMap, FxHashSet};

use super::held::Held;
use super::made::Comparison;
use super::plan::{Meaning, Plan, Slot};
use crate::ir::{Content, Contents, TensorType};
use crate::prove::Side;

impl Plan {
    /// Takes down the checksums of all inputs, as far as they are known without reading values.
    pub(super) fn read_checksums(&mut self, [of_a, of_b]: [&mut dyn Contents; 2]) {
        for (slots, contents) in [(&mut self.a, of_a), (&mut self.b, of_b)] {
            for (i, slot) in slots.iter_mut().enumerate() {
                slot.checksum = contents.checksum(i);
            }
        }
    }

    /// Names that stand for other values in the two files, while the values of one of them have another name in the other file.
    pub(super) fn exchanged_names(&self) -> FxHashSet<String> {
        fn sums(slots: &[Slot]) -> FxHashSet<(u32, &TensorType)> {
            slots.iter().filter_map(|slot| Some((slot.checksum?, &slot.input.ty))).collect()
        }
        let [in_a, in_b] = [&self.a, &self.b].map(|slots| sums(slots));
        let by_name: FxHashMap<&str, &Slot> = self.a.iter().map(|x| (x.input.name.as_str(), x)).collect();
        let exchanged = self.b.iter().filter(|y| {
            by_name.get(y.input.name.as_str()).is_some_and(|x| {
                let (Some(sum_x), Some(sum_y)) = (x.checksum, y.checksum) else { return false };
                let elsewhere = in_a.contains(&(sum_y, &y.input.ty)) || in_b.contains(&(sum_x, &x.input.ty));
                x.input.ty == y.input.ty && sum_x != sum_y && elsewhere
            })
        });
        exchanged.map(|y| y.input.name.clone()).collect()
    }

    /// Compares what the files hold for inputs that are bound to each other, unless their values are why they are. Guesses that the values
    /// contradict are taken back; other bindings are kept and noted. Values are read only where no checksums tell.
    pub(super) fn compare(&mut self, [of_a, of_b]: [&mut dyn Contents; 2]) {
        let mut elements = Comparison::new();
        for side in [Side::A, Side::B] {
            for target in 0..self.side(side).len() {
                let Some((meaning, source)) = self.side(side)[target].meaning.clone() else { continue };
                // A pair stands on both sides.
                if source.is_by_content() || side == Side::A && matches!(meaning, Meaning::Same(_)) {
                    continue;
                }
                let agrees = match &meaning {
                    Meaning::Same(i) => self.same_contents(*i, target, of_a, of_b),
                    Meaning::Derived(expression) => {
                        let (own, others) =
                            if side == Side::A { (&mut *of_a, &mut *of_b) } else { (&mut *of_b, &mut *of_a) };
                        let leaves: Vec<usize> = expression.inputs().collect();
                        if !own.holds(target) || !leaves.iter().all(|&i| others.holds(i)) {
                            continue;
                        }
                        let held =
                            leaves.iter().map(|&i| Some((i, content(self.side_mut(side.other()), i, others)?.clone())));
                        let held = held.collect::<Option<FxHashMap<usize, Content>>>();
                        let made = held.and_then(|held| Held::by(expression, &held));
                        let told =
                            made.zip(content(self.side_mut(side), target, own)).and_then(|(made, own)| made.is(own));
                        told.or_else(|| elements.agrees(expression, target, own, others))
                    }
                };
                match agrees {
                    Some(true) => {}
                    Some(false) if source.is_guess() => self.unbind(side, target),
                    Some(false) => self.unlike.push((side, target)),
                    None if matches!(meaning, Meaning::Derived(_)) => self.uncompared.push((side, target)),
                    None => {}
                }
            }
        }
    }

    /// Whether both files hold the same for input `i` of A and `j` of B; `None` if one of them holds nothing.
    fn same_contents(&mut self, i: usize, j: usize, of_a: &mut dyn Contents, of_b: &mut dyn Contents) -> Option<bool> {
        let (x, y) = (&self.a[i], &self.b[j]);
        if let (Some(x), Some(y)) = (&x.content, &y.content) {
            return Some(x == y);
        }
        if let (Some(x), Some(y)) = (x.checksum, y.checksum) {
            self.by_checksum += usize::from(x == y);
            return Some(x == y);
        }
        if !of_a.holds(i) || !of_b.holds(j) {
            return None;
        }
        let x = content(&mut self.a, i, of_a)?.clone();
        Some(x == *content(&mut self.b, j, of_b)?)
    }

    /// Takes back what an input was bound to.
    fn unbind(&mut self, side: Side, target: usize) {
        let Some((meaning, _)) = self.side_mut(side)[target].meaning.take() else { return };
        match meaning {
            Meaning::Same(other) => self.side_mut(side.other())[other].meaning = None,
            Meaning::Derived(expression) => {
                let still: FxHashSet<usize> = self.side(side).iter().flat_map(Slot::made_of).collect();
                for leaf in expression.inputs().filter(|leaf| !still.contains(leaf)) {
                    self.side_mut(side.other())[leaf].used = false;
                }
            }
        }
    }
}

/// What the file holds for input `i`, read once.
fn content<'s>(slots: &'s mut [Slot], i: usize, contents: &mut dyn Contents) -> Option<&'s Content> {
    let slot = slots.get_mut(i)?;
    if slot.content.is_none() {
        slot.content = contents.content(i).filter(|content| content.ty == slot.input.ty);
    }
    slot.content.as_ref()
}
