//! Weights that neither names nor values tell apart, matched by what the graphs do with them.
//!
//! The strongest evidence is the bias of a layer that is bound already, then the weights that a layer's operand was computed from, then
//! the order of the uses. Where two formats keep a weight in two ways, such as a matrix with rows for columns or a kernel with its channels last, one is
//! a view of the other. What users give in two layouts, such as images, is told by its use as well. All of it is guessed.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Expression;
use super::plan::{Meaning, Plan, Slot, Source};
use super::stacked::Stack;
use super::uses::{Description, WeightUse, weight_uses};
use super::views::steps_between;
use crate::ir::{Graph, Role, Steps};
use crate::prove::Side;

/// A tensor that both graphs have, by one of the inputs that it is.
type Tensor = (Side, usize);

/// Per input of A and of B: the tensor of both graphs that it is, transposed or not.
type Tensors = [Vec<Option<Tensor>>; 2];

/// What tells uses of one description apart.
type Evidence = Vec<Tensor>;

/// The uses in A and in B that nothing tells apart but their order.
type Group<'u> = [Vec<&'u WeightUse>; 2];

impl Plan {
    /// Matches weights that are free by their uses, as long as what is matched tells more.
    pub(super) fn by_weight_uses(&mut self, a: &Graph, b: &Graph) {
        if ![&self.a, &self.b].into_iter().flatten().any(|slot| slot.live && slot.is_free()) {
            return;
        }
        let [given_a, given_b] = self.gives_weights();
        let [stacks_a, stacks_b] = [self.stacks(Side::A, a), self.stacks(Side::B, b)];
        let uses = |graph: &Graph, stacks: &[Stack], slots: &[Slot], given: bool| {
            weight_uses(graph, stacks, &|i| given || slots.get(i).is_some_and(|slot| slot.input.role != Role::User))
        };
        let uses = [uses(a, &stacks_a, &self.a, given_a), uses(b, &stacks_b, &self.b, given_b)];
        self.unstack(Side::A, &stacks_a);
        self.unstack(Side::B, &stacks_b);
        let bias = |own: &[Option<Tensor>], one: &WeightUse| Some(vec![own[one.bias?]?]);
        let before = |own: &[Option<Tensor>], one: &WeightUse| {
            let mut all: Evidence = one.after.iter().map(|&weight| own[weight]).collect::<Option<_>>()?;
            all.sort_unstable();
            (!all.is_empty()).then_some(all)
        };
        while self.match_uses(&uses, bias)
            || self.match_uses(&uses, before)
            || self.match_uses(&uses, |_, _| Some(Evidence::new()))
        {}
        self.stack([&stacks_a, &stacks_b]);
        self.by_input_uses(a, b);
    }

    /// Matches what users give in two layouts by its uses. What is left of one type is for positions to tell.
    fn by_input_uses(&mut self, a: &Graph, b: &Graph) {
        let alone = |own: &[Slot], others: &[Slot]| -> Vec<bool> {
            let of_one_type = |x: &Slot| others.iter().any(|y| y.is_free() && y.input.ty == x.input.ty);
            own.iter().map(|x| x.is_free() && x.input.role == Role::User && !of_one_type(x)).collect()
        };
        let [of_a, of_b] = [alone(&self.a, &self.b), alone(&self.b, &self.a)];
        let uses = [weight_uses(a, &[], &|i| of_a[i]), weight_uses(b, &[], &|i| of_b[i])];
        while self.match_uses(&uses, |_, _| Some(Evidence::new())) {}
    }

    /// Matches uses for which both graphs have the same evidence, in order, if there are as many in each.
    fn match_uses(
        &mut self,
        uses: &[Vec<WeightUse>; 2],
        evidence: impl Fn(&[Option<Tensor>], &WeightUse) -> Option<Evidence>,
    ) -> bool {
        let tensors = self.tensors();
        let known = [0, 1].map(|n| -> FxHashSet<(&Description, Tensor)> {
            uses[n].iter().filter_map(|one| Some((&one.what, tensors[n][one.weight]?))).collect()
        });
        let mut numbers: FxHashMap<(&Description, Evidence), usize> = FxHashMap::default();
        let mut groups: Vec<Group> = Vec::new();
        for (n, side) in [Side::A, Side::B].into_iter().enumerate() {
            for one in &uses[n] {
                // A graph may keep a second copy of a weight that it uses in two ways.
                let is_open = match tensors[n][one.weight] {
                    Some(tensor) => !known[1 - n].contains(&(&one.what, tensor)),
                    None => self.side(side)[one.weight].is_free(),
                };
                let Some(evidence) = evidence(&tensors[n], one).filter(|_| is_open) else { continue };
                let number = *numbers.entry((&one.what, evidence)).or_insert(groups.len());
                if number == groups.len() {
                    groups.push(Group::default());
                }
                let group = &mut groups[number][n];
                if group.iter().all(|other| other.weight != one.weight) {
                    group.push(one);
                }
            }
        }
        let mut told = false;
        for [of_a, of_b] in groups.into_iter().filter(|[of_a, of_b]| of_a.len() == of_b.len()) {
            for (x, y) in of_a.into_iter().zip(of_b) {
                told |= self.bind_used(x, y);
            }
        }
        told
    }

    /// Takes two weights for the same tensor, or one for a view of the other one. Of two that are bound already, nothing is guessed.
    fn bind_used(&mut self, x: &WeightUse, y: &WeightUse) -> bool {
        let (of_a, of_b) = (&self.a[x.weight], &self.b[y.weight]);
        let (free_a, free_b) = (of_a.is_free(), of_b.is_free());
        let (side, target, own, leaf, other) = match (free_a, free_b) {
            (_, true) => (Side::B, y.weight, y, x.weight, x),
            (true, false) => (Side::A, x.weight, x, y.weight, y),
            (false, false) => return false,
        };
        let from = &self.side(side.other())[leaf].input.ty;
        let same = of_a.input.ty == of_b.input.ty;
        let steps = match steps_between(&from.shape, &other.views, &own.views) {
            Some(steps) => steps,
            None if same && own.views == other.views => Steps::default(),
            None => return false,
        };
        if same && steps == Steps::default() {
            let fits = of_a.meaning.is_none() && of_b.meaning.is_none() && of_a.may_hold(of_b);
            if fits {
                self.pair(x.weight, y.weight, Source::Use);
            }
            return fits;
        }
        let is_transposed = steps == Steps { order: Some(vec![1, 0]), ..Steps::default() };
        if let (Some(held_a), Some(held_b), true) = (&of_a.content, &of_b.content, is_transposed)
            && held_a.clone().transposed() != *held_b
        {
            return false;
        }
        let Ok(expression) = Expression::arranged(leaf, from, &steps) else { return false };
        if *expression.ty() != self.side(side)[target].input.ty {
            return false;
        }
        self.derive(side, target, expression, Source::Use);
        true
    }

    /// What is bound to one input of the other side, and these.
    fn tensors(&self) -> Tensors {
        let mut all: Tensors = [vec![None; self.a.len()], vec![None; self.b.len()]];
        for (n, side) in [Side::A, Side::B].into_iter().enumerate() {
            for (i, slot) in self.side(side).iter().enumerate() {
                match &slot.meaning {
                    Some((Meaning::Same(_), _)) if side == Side::A => all[n][i] = Some((side, i)),
                    Some((Meaning::Same(other), _)) => all[n][i] = Some((Side::A, *other)),
                    Some((Meaning::Derived(expression), _)) => {
                        let mut inputs = expression.inputs();
                        let (Some(leaf), None) = (inputs.next(), inputs.next()) else { continue };
                        let tensor = match &self.side(side.other())[leaf].meaning {
                            Some((Meaning::Same(own), _)) if side == Side::A => (side, *own),
                            _ => (side.other(), leaf),
                        };
                        (all[n][i], all[1 - n][leaf]) = (Some(tensor), Some(tensor));
                    }
                    None => {}
                }
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use crate::ir::text::parse;
    use crate::prove::bind::{BoundPair, bind_graphs};

    fn bound(a: &str, b: &str) -> BoundPair {
        let side = |inputs_and_body: &str| parse("side", &format!("graph g{inputs_and_body}")).unwrap();
        bind_graphs(side(a), side(b), None)
    }

    fn lines(a: &str, b: &str) -> Vec<String> {
        bound(a, b).binding.lines
    }

    #[test]
    fn a_square_matrix_that_is_multiplied_by_as_it_is_stands_for_the_transpose_of_one_that_is_not() {
        let a = "(x: f32[2, 3], w: param f32[3, 3]) { y = linear(x, w) return y }";
        let b = "(x: f32[2, 3], v: param f32[3, 3]) { y = matmul(x, v) return y }";
        let BoundPair { a: of_a, b: of_b, binding } = bound(a, b);
        assert_eq!(binding.lines, ["v = permute(w; dims=[1, 0])"]);
        assert!(binding.assumptions.iter().any(|text| text.contains("guessed from shapes and use")));
        assert!(binding.is_doubtful(&of_a, &of_b, 0), "it is a guess");
        let viewed = "(x: f32[2, 3], v: param f32[3, 3]) { y = matmul(x, permute(v; dims=[1, 0])) return y }";
        assert_eq!(lines(a, viewed), ["v = w"]);
    }

    #[test]
    fn a_weight_of_the_same_name_is_never_turned() {
        let a = "(x: f32[2, 3], w: param f32[3, 3]) { y = linear(x, w) return y }";
        let b = "(x: f32[2, 3], w: param f32[3, 3]) { y = matmul(x, w) return y }";
        let binding = bound(a, b).binding;
        assert!(binding.lines.is_empty() && binding.guessed.is_empty());
    }

    #[test]
    fn layers_that_have_each_others_types_are_told_apart_by_direction() {
        let a =
            "(x: f32[2, 3], up: param f32[6, 3], down: param f32[3, 6]) { y = linear(linear(x, up), down) return y }";
        let b = "(x: f32[2, 3], v: param f32[3, 6], w: param f32[6, 3]) { y = matmul(matmul(x, v), w) return y }";
        assert_eq!(lines(a, b), ["v = permute(up; dims=[1, 0])", "w = permute(down; dims=[1, 0])"]);
    }

    const SCORES: &str =
        "(x: f32[2, 3], q.w: param f32[3, 3], q.b: param f32[3], k.w: param f32[3, 3], k.b: param f32[3]) {
        q = linear(x, q.w, q.b)
        k = linear(x, k.w, k.b)
        y = matmul(q, permute(k; dims=[1, 0]))
        return y
    }";

    #[test]
    fn a_bias_tells_more_than_the_order() {
        // Queries and keys are exchanged, so that the scores are transposed: no guess may make that equal.
        let b = "(x: f32[2, 3], v: param f32[3, 3], w: param f32[3, 3], q.b: param f32[3], k.b: param f32[3]) {
            k = add(matmul(x, v), k.b)
            q = add(matmul(x, w), q.b)
            y = matmul(k, permute(q; dims=[1, 0]))
            return y
        }";
        assert_eq!(lines(SCORES, b), ["v = permute(k.w; dims=[1, 0])", "w = permute(q.w; dims=[1, 0])"]);
    }

    #[test]
    fn names_win_over_biases() {
        let exchanged =
            SCORES.replace("linear(x, q.w, q.b)", "linear(x, k.w, q.b)").replace("k.w, k.b)\n", "q.w, k.b)\n");
        assert!(exchanged.contains("linear(x, q.w, k.b)"));
        let binding = bound(SCORES, &exchanged).binding;
        assert!(binding.lines.is_empty() && binding.guessed.is_empty());
    }

    #[test]
    fn what_is_computed_behind_a_bound_weight_tells_layers_apart() {
        let a = "(x: f32[2, 3], n: param f32[3], first: param f32[3, 3], m: param f32[3], second: param f32[3, 3]) {
            h = linear(mul(x, n), first)
            y = linear(mul(h, m), second)
            return y
        }";
        // The first layer is left out, so that the order says nothing.
        let b = "(x: f32[2, 3], m: param f32[3], v: param f32[3, 3]) { y = matmul(mul(x, m), v) return y }";
        assert_eq!(lines(a, b), ["v = permute(second; dims=[1, 0])"]);
    }

    #[test]
    fn order_follows_from_the_graph_and_not_from_the_text() {
        let a = "(x: f32[2, 3], gate: param f32[3, 3], up: param f32[3, 3]) {
            y = mul(silu(linear(x, gate)), linear(x, up))
            return y
        }";
        let b = "(x: f32[2, 3], v: param f32[3, 3], w: param f32[3, 3]) {
            h = matmul(x, v)
            g = matmul(x, w)
            y = mul(h, mul(g, sigmoid(g)))
            return y
        }";
        assert_eq!(lines(a, b), ["v = permute(up; dims=[1, 0])", "w = permute(gate; dims=[1, 0])"]);
    }

    #[test]
    fn a_weight_that_is_used_in_two_ways_may_have_a_transposed_copy() {
        let a = "(i: i64[2], w: param f32[5, 3]) { y = linear(embedding(w, i), w) return y }";
        let b = "(i: i64[2], t: param f32[5, 3], v: param f32[3, 5]) { y = matmul(embedding(t, i), v) return y }";
        assert_eq!(lines(a, b), ["t = w", "v = permute(w; dims=[1, 0])"]);
        // A weight of its own that is kept as the other side keeps it is no copy.
        let apart = "(i: i64[2], w: param f32[5, 3], v: param f32[5, 3]) { y = linear(embedding(w, i), v) return y }";
        assert!(lines(a, apart).is_empty());
    }

    #[test]
    fn weights_that_are_arguments_are_told_by_their_uses() {
        let a = "(x: f32[2, 3], w: param f32[3, 3], b: param f32[3]) { y = mul(linear(x, w), b) return y }";
        let b = "(p: f32[3], q: f32[3, 3], x: f32[2, 3]) { y = mul(matmul(x, q), p) return y }";
        assert_eq!(lines(a, b), ["p = b", "q = permute(w; dims=[1, 0])"]);
    }

    #[test]
    fn kernels_and_images_with_channels_last_are_permuted() {
        let a = "(x: f32[2, 3, 8, 8], w: param f32[4, 3, 3, 3], b: param f32[4]) {
            y = conv2d(x, w, b; stride=[1, 1], padding=[1, 1], dilation=[1, 1])
            return y
        }";
        let b = "(p: f32[4], q: f32[3, 3, 3, 4], i: f32[2, 8, 8, 3]) {
            c = conv2d(permute(i; dims=[0, 3, 1, 2]), permute(q; dims=[3, 2, 0, 1]); stride=[1, 1], padding=[1, 1], dilation=[1, 1])
            y = permute(add(permute(c; dims=[0, 2, 3, 1]), p); dims=[0, 3, 1, 2])
            return y
        }";
        assert_eq!(lines(a, b), ["p = b", "q = permute(w; dims=[2, 3, 1, 0])", "i = permute(x; dims=[0, 2, 3, 1])"]);
    }

    #[test]
    fn a_kernel_that_is_kept_by_heads_is_a_view_of_the_matrix() {
        let a = "(x: f32[2, 8], w: param f32[6, 8], b: param f32[6]) {
            y = reshape(linear(x, w, b); shape=[2, 2, 3])
            return y
        }";
        let b = "(x: f32[2, 8], q: f32[8, 2, 3], p: f32[2, 3]) {
            y = add(reshape(matmul(x, reshape(q; shape=[8, 6])); shape=[2, 2, 3]), p)
            return y
        }";
        let expected = ["q = permute(reshape(w; shape=[2, 3, 8]); dims=[2, 0, 1])", "p = reshape(b; shape=[2, 3])"];
        assert_eq!(lines(a, b), expected);
    }

    #[test]
    fn mean_and_variance_of_a_batch_norm_are_told_apart_when_it_is_written_out() {
        let a = "(x: f32[2, 4, 5], m: buffer f32[4], v: buffer f32[4], w: param f32[4], b: param f32[4]) {
            y = batch_norm(x, m, v, w, b; eps=1e-5)
            return y
        }";
        let b = "(p: f32[4], q: f32[4], r: f32[4], s: f32[4], x: f32[2, 4, 5]) {
            centred = sub(permute(x; dims=[0, 2, 1]), q)
            scale = mul(rsqrt(add(s, 1e-5)), r)
            y = permute(add(mul(centred, scale), p); dims=[0, 2, 1])
            return y
        }";
        assert_eq!(lines(a, b), ["p = b", "q = m", "r = w", "s = v"]);
    }

    /// Two layers whose weights are kept in one tensor.
    const STACKED: &str = "(x: f32[2, 3], s: f32[2, 3, 3], t: f32[2, 3]) {
        g = mul(x, reshape(slice(t; dim=0, start=0, end=1); shape=[3]))
        h = matmul(g, reshape(slice(s; dim=0, start=0, end=1); shape=[3, 3]))
        k = mul(h, reshape(slice(t; dim=0, start=1, end=2); shape=[3]))
        y = matmul(k, reshape(slice(s; dim=0, start=1, end=2); shape=[3, 3]))
        return y
    }";

    #[test]
    fn weights_that_are_stacked_are_those_of_the_layers() {
        let a =
            "(x: f32[2, 3], l.0.n: param f32[3], l.0.w: param f32[3, 3], l.1.n: param f32[3], l.1.w: param f32[3, 3]) {
            h = linear(mul(x, l.0.n), l.0.w)
            y = linear(mul(h, l.1.n), l.1.w)
            return y
        }";
        let turned = |layer: u32| format!("permute(reshape(l.{layer}.w; shape=[1, 3, 3]); dims=[0, 2, 1])");
        let scale = |layer: u32| format!("reshape(l.{layer}.n; shape=[1, 3])");
        let joined = |part: &dyn Fn(u32) -> String| format!("concat({}, {})", part(0), part(1));
        assert_eq!(lines(a, STACKED), [format!("s = {}", joined(&turned)), format!("t = {}", joined(&scale))]);
        // A layer without its scale leaves no stack of two.
        let partly = a.replace("mul(h, l.1.n)", "h");
        assert!(lines(&partly, STACKED).iter().all(|line| !line.starts_with("t = ")));
        // Both sides may have stacks, under other names.
        let other = STACKED.replace("s: f32", "u: f32").replace("slice(s;", "slice(u;");
        assert_eq!(lines(STACKED, &other), ["u = s"]);
    }

    #[test]
    fn a_prefix_before_all_names_of_a_file_is_no_part_of_them() {
        let a = "(x: f32[3], l.0.w: param f32[3], l.1.w: param f32[3]) { y = mul(mul(x, l.0.w), l.1.w) return y }";
        let b =
            "(x: f32[3], m.l.1.w: param f32[3], m.l.0.w: param f32[3]) { y = mul(mul(x, m.l.1.w), m.l.0.w) return y }";
        assert_eq!(lines(a, b), ["m.l.1.w = l.1.w", "m.l.0.w = l.0.w"]);
    }
}
