//! Weights that hold one number throughout, such as a bias of zeros. Exporters leave such a bias out, or keep one tensor for all weights that
//! hold the same, so that the other file lists fewer of them.

use std::sync::Arc;

use super::constants::MAX_ELEMENTS;
use super::plan::{Meaning, Plan, Slot, Source};
use crate::ir::{Contents, Number, Role, TensorType};
use crate::prove::Side;

/// Elements of a weight, all of one number.
struct Uniform {
    ty: TensorType,
    elements: Arc<[Number]>,
}

impl Plan {
    /// Lets weights count as constants that nothing of the other file is bound to, if they hold one number throughout and the other file's
    /// format does not tell weights from constants. So do other weights of their types for which both files hold the same number: one tensor
    /// of the other file may stand for them all.
    pub(super) fn keep_uniform(&mut self, [of_a, of_b]: [&mut dyn Contents; 2]) {
        let folds = [of_b.tells_weights(), of_a.tells_weights()].map(|tells| !tells);
        let mut found: Vec<Uniform> = Vec::new();
        let sides = [(Side::A, &mut *of_a, folds[0]), (Side::B, &mut *of_b, folds[1])];
        for (side, contents, _) in sides.into_iter().filter(|(_, _, folds)| *folds) {
            for (i, slot) in self.side_mut(side).iter_mut().enumerate().filter(|(_, slot)| slot.is_alone()) {
                if let Some(elements) = uniform(slot, contents, i) {
                    slot.literal = Some(elements.clone());
                    found.push(Uniform { ty: slot.input.ty.clone(), elements });
                }
            }
        }
        if found.is_empty() {
            return;
        }
        for j in 0..self.b.len() {
            let Some((Meaning::Same(i), source)) = self.b[j].meaning else { continue };
            let may_stand_for = |slot: &Slot| !slot.used && found.iter().any(|known| known.ty == slot.input.ty);
            if source == Source::Stated || ![&self.a[i], &self.b[j]].into_iter().all(may_stand_for) {
                continue;
            }
            let held = [uniform(&self.a[i], of_a, i), uniform(&self.b[j], of_b, j)];
            let [Some(of_a), Some(of_b)] = held else { continue };
            let is_known = |known: &Uniform| known.ty == self.a[i].input.ty && known.elements == of_a;
            if of_a == of_b && found.iter().any(is_known) {
                for slot in [&mut self.a[i], &mut self.b[j]] {
                    (slot.meaning, slot.literal, slot.held_alike) = (None, Some(of_a.clone()), true);
                }
            }
        }
    }
}

/// The elements of a weight, if they are all the same number.
fn uniform(slot: &Slot, contents: &mut dyn Contents, input: usize) -> Option<Arc<[Number]>> {
    let is_weight = slot.input.role == Role::Parameter && !slot.changes && slot.input.ty.numel() <= MAX_ELEMENTS;
    let elements = is_weight.then(|| contents.elements(input)).flatten()?;
    let is_whole = !elements.is_empty() && elements.len() == slot.input.ty.numel();
    (is_whole && elements.iter().all(|n| Some(n) == elements.first())).then(|| elements.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text::parse;
    use crate::prove::bind::bind_with_contents;
    use crate::prove::bind::folded_tests::File;
    use crate::prove::{Context, Verdict, prove_bound};
    use crate::rules::RuleSet;

    /// A file of a format that keeps weights and constants in one list.
    struct OneList(File);

    impl Contents for OneList {
        fn holds(&mut self, input: usize) -> bool {
            self.0.holds(input)
        }

        fn checksum(&mut self, _: usize) -> Option<u32> {
            None
        }

        fn content(&mut self, _: usize) -> Option<crate::ir::Content> {
            None
        }

        fn tells_weights(&self) -> bool {
            false
        }

        fn elements(&mut self, input: usize) -> Option<Vec<Number>> {
            self.0.elements(input)
        }
    }

    fn verdict(a: &str, of_a: &[&[f64]], b: &str, of_b: &[&[f64]], folds: bool) -> (Verdict, Vec<String>) {
        let file = |all: &[&[f64]]| File(all.iter().map(|elements| elements.to_vec()).collect());
        let (a, b) = (parse("a", a).unwrap(), parse("b", b).unwrap());
        let (mut of_a, mut list, mut plain) = (file(of_a), OneList(file(of_b)), file(of_b));
        let of_b: &mut dyn Contents = if folds { &mut list } else { &mut plain };
        let bound = bind_with_contents(a, b, None, [&mut of_a, of_b]);
        let assumptions = bound.binding.assumptions.clone();
        (prove_bound(&bound, &Context::under(&RuleSet::library().unwrap())).unwrap().verdict, assumptions)
    }

    const WITH_BIAS: &str =
        "graph a(x: f32[2, 3], w: param f32[2, 3], c: param f32[2]) { y = linear(x, w, c) return y }";
    const WITHOUT: &str = "graph b(x: f32[2, 3], w: param f32[2, 3]) { y = linear(x, w) return y }";
    const W: &[f64] = &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

    #[test]
    fn a_bias_of_zeros_that_an_exporter_left_out_is_a_constant() {
        let (verdict, assumptions) = verdict(WITH_BIAS, &[&[], W, &[0.0, 0.0]], WITHOUT, &[&[], W], true);
        assert!(matches!(verdict, Verdict::Equivalent { .. }), "{verdict:?}");
        assert!(assumptions.iter().any(|line| line.contains("`c` of A is the constant")), "{assumptions:?}");
    }

    #[test]
    fn a_bias_stays_a_weight_where_its_values_or_the_format_say_so() {
        for (bias, folds) in [([0.0, 1.0], true), ([0.5, 0.5], true), ([0.0, 0.0], false)] {
            let (verdict, _) = verdict(WITH_BIAS, &[&[], W, &bias], WITHOUT, &[&[], W], folds);
            assert!(matches!(verdict, Verdict::Different(_)), "{bias:?} {folds}: {verdict:?}");
        }
    }

    #[test]
    fn one_tensor_stands_for_all_weights_that_hold_the_same_number() {
        let a = "graph a(x: f32[2, 3], v: param f32[3], w: param f32[3]) { \
            y = layer_norm(x, v; normalized_shape=[3]) z = relu(y) u = layer_norm(z, w; normalized_shape=[3]) return u }";
        let b = "graph b(x: f32[2, 3], v: param f32[3]) { \
            y = layer_norm(x, v; normalized_shape=[3]) z = relu(y) u = layer_norm(z, v; normalized_shape=[3]) return u }";
        let ones: &[f64] = &[1.0, 1.0, 1.0];
        assert!(matches!(verdict(a, &[&[], ones, ones], b, &[&[], ones], true).0, Verdict::Equivalent { .. }));
        let others: &[f64] = &[2.0, 2.0, 2.0];
        assert!(matches!(verdict(a, &[&[], ones, others], b, &[&[], ones], true).0, Verdict::Different(_)));
    }
}
