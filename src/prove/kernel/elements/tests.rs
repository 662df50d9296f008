use num_traits::ToPrimitive;
use proptest::prelude::*;

use super::form::{Atom, AtomId, FormId, Function, Product, Store};
use super::{ALL_WAYS, ELEMENTS, Elements, Leaves, Mode, same_elements};
use crate::eval::{Demand, GraphProgram, Options};
use crate::ir::{DType, Graph, Number, Value, text};
use crate::prove::kernel::arena::{Arena, Side, TermId};
use crate::prove::kernel::graph_terms;
use crate::rules::Tier;

const INPUTS: &str = "x: f32[2, 2, 2], w: f32[2, 2], m: bf16[2, 2, 2], whole: i64[2, 2, 2], d: f64[2, 2, 2]";

fn graph(body: &str) -> Graph {
    text::parse("test.mir", &format!("graph g({INPUTS}) {{ {body}\n return y }}")).unwrap()
}

/// The results of two graphs as terms.
fn roots(arena: &mut Arena, a: &Graph, b: &Graph) -> [TermId; 2] {
    let mut root = |graph: &Graph, side: Side| -> TermId {
        let numbers: Vec<u32> = (0..graph.inputs().len() as u32).collect();
        let values = graph_terms(arena, graph, side, &numbers).unwrap();
        let value = graph.outputs()[0].value;
        values[value.node.index()][value.slot as usize]
    };
    [root(a, Side::A), root(b, Side::B)]
}

/// How equal the results of two graphs are found to be.
fn found(a: &Graph, b: &Graph) -> Option<Tier> {
    let mut arena = Arena::default();
    let roots = roots(&mut arena, a, b);
    same_elements(&arena, roots, &Leaves::default(), Tier::Rounding, &mut { ALL_WAYS })
}

/// How equal they are if elements may be infinite or NaN.
fn equal_at_limits(a: &str, b: &str) -> Option<Tier> {
    let mut arena = Arena::default();
    let roots = roots(&mut arena, &graph(a), &graph(b));
    let places: Vec<Vec<usize>> = arena.ty(roots[0]).shape.iter().map(|&size| (0..size).collect()).collect();
    let leaves = Leaves::default();
    let dtype = arena.ty(roots[0]).dtype;
    let found = |mode| Elements::new(&arena, &leaves, (mode, false), dtype, ELEMENTS).compare(roots, &places);
    found(Mode::Operators).or_else(|| found(Mode::Products))
}

fn equal(a: &str, b: &str) -> Option<Tier> {
    found(&graph(a), &graph(b))
}

fn elements(graph: &Graph, seed: u64) -> Vec<Number> {
    let program = GraphProgram::new(graph, seed);
    let mut demand = Demand::new(&program, Options { rounding: false, budget: 1 << 20 });
    demand.tensor(graph.outputs()[0].value).unwrap()
}

#[test]
fn elements_that_are_moved_alike_are_equal_bit_for_bit() {
    let swapped = "a = slice(x; dim=1, start=1, end=2)\n b = slice(x; dim=1, start=0, end=1)\n y = concat(a, b; dim=1)";
    for other in ["y = flip(x; dims=[1])", "y = roll(x; shifts=[1], dims=[1])"] {
        assert_eq!(equal(swapped, other), Some(Tier::Exact), "{other}");
    }
    assert_eq!(equal(swapped, "y = flip(x; dims=[0])"), None);
    assert_eq!(equal(swapped, "y = roll(x; shifts=[2], dims=[1])"), None);
}

#[test]
fn sums_of_products_are_equal_over_the_real_numbers() {
    let product = "y = matmul(x, w)";
    let reshaped = "r = reshape(x; shape=[4, 2])\n p = matmul(r, w)\n y = reshape(p; shape=[2, 2, 2])";
    assert_eq!(equal(product, reshaped), Some(Tier::Exact));
    let spread = "a = unsqueeze(x; dim=3)\n p = mul(a, w)\n y = sum(p; dim=[2])";
    assert_eq!(equal(product, spread), Some(Tier::Real));
    let turned = "t = permute(w; dims=[1, 0])\n y = matmul(x, t)";
    assert_eq!(equal(product, turned), None);
}

#[test]
fn casts_within_one_range_only_round() {
    let narrow = "a = exp(m)\n y = add(a, a)";
    let wide = "c = cast(m; dtype=f32)\n a = exp(c)\n b = add(a, a)\n y = cast(b; dtype=bf16)";
    assert_eq!(equal(narrow, wide), Some(Tier::Rounding));
}

#[test]
fn what_is_computed_in_a_narrower_type_is_not_what_a_wider_one_computes() {
    let in_f32 = "c = cast(m; dtype=f32)\n y = matmul(c, w)";
    let in_bf16 = "v = cast(w; dtype=bf16)\n p = matmul(m, v)\n y = cast(p; dtype=f32)";
    assert_eq!(equal(in_f32, in_bf16), None);
    let widened = "s = add(m, m)\n y = cast(s; dtype=f32)";
    assert_eq!(equal(widened, "c = cast(m; dtype=f32)\n y = add(c, c)"), None);
    let narrowed = "n = cast(x; dtype=bf16)\n y = add(n, n)";
    assert_eq!(equal(narrowed, "s = add(x, x)\n y = cast(s; dtype=bf16)"), None);
    assert!(equal(narrowed, narrowed).is_some());
    let moved = "c = cast(m; dtype=f32)\n f = flip(c; dims=[0])\n y = add(f, x)";
    assert_eq!(equal(moved, "f = flip(m; dims=[0])\n c = cast(f; dtype=f32)\n y = add(x, c)"), Some(Tier::Exact));
    assert_eq!(
        equal_at_limits(
            moved,
            "f = flip(m; dims=[0])\n c = cast(f; dtype=f32)\n s = add(x, x)\n u = add(s, c)\n y = sub(u, x)"
        ),
        None
    );
}

#[test]
fn a_place_that_differs_beyond_the_first_is_seen() {
    // The mask is the same for every place along dimension 0 of one, and not of the other.
    let mask = |dim: &str| {
        format!(
            "i = arange(; end=2, dtype=i64)\n n = number(; value=1, dtype=i64)\n e = lt(i, n)\n \
             k = reshape(e; shape={dim})\n z = number(; value=0.0, dtype=f32)\n y = where(k, x, z)"
        )
    };
    assert_eq!(equal(&mask("[2, 1, 1]"), &mask("[1, 2, 1]")), None);
    assert_eq!(equal(&mask("[2, 1, 1]"), "y = alias(x)"), None);
    assert_eq!(equal("t = permute(x; dims=[1, 0, 2])\n y = add(x, t)", "y = add(x, x)"), None);
}

#[test]
fn infinite_weights_make_nothing_equal() {
    let body = |n: &str| format!("a = number(; value={n}, dtype=f32)\n b = mul(x, a)\n y = mul(b, a)");
    assert_eq!(equal(&body("1e200"), "a = number(; value=inf, dtype=f32)\n y = mul(x, a)"), None);
}

#[test]
fn small_numbers_count() {
    let offset = |n: &str| format!("a = number(; value={n}, dtype=f32)\n y = add(x, a)");
    assert_eq!(equal(&offset("1e-6"), &offset("5e-7")), None);
    assert_eq!(equal(&offset("1e-6"), "y = alias(x)"), None);
    let factor = |n: &str| {
        format!(
            "r = reshape(x; shape=[2, 2, 2, 1])\n u = upsample_linear(r; size=[3, 3])\n \
             a = number(; value={n}, dtype=f32)\n b = sum(w; dim=[0, 1])\n c = mul(b, a)\n y = add(u, c)"
        )
    };
    assert_eq!(equal(&factor("1e-7"), &factor("2e-7")), None);
    assert!(equal(&factor("1e-7"), &factor("1e-7")).is_some());
}

/// `x` times each of these numbers in turn.
fn times(input: &str, dtype: &str, numbers: &[&str]) -> String {
    let mut body = String::new();
    let mut last = input.to_owned();
    for (i, number) in numbers.iter().enumerate() {
        body += &format!("k{i} = number(; value={number}, dtype={dtype})\n p{i} = mul({last}, k{i})\n ");
        last = format!("p{i}");
    }
    body + &format!("y = alias({last})")
}

#[test]
fn numbers_that_somebody_wrote_are_equal_to_themselves_alone() {
    for (input, dtype) in [("d", "f64"), ("x", "f32")] {
        let half = times(input, dtype, &["0.5"]);
        for other in ["0.5000001", "0.4999999"] {
            assert_eq!(equal(&half, &times(input, dtype, &[other])), None, "{other} in {dtype}");
        }
    }
    assert_eq!(equal(&times("d", "f64", &["0.30000000000000004"]), &times("d", "f64", &["0.3"])), None);
    // 0.1 and 0.100000001 are one number in f32.
    assert!(equal(&times("x", "f32", &["0.1"]), &times("x", "f32", &["0.100000001"])).is_some());
    assert_eq!(equal(&times("d", "f64", &["0.1"]), &times("d", "f64", &["0.100000001"])), None);
}

#[test]
fn numbers_that_are_multiplied_out_round_in_their_type() {
    let root = "0.35355339059327373";
    for (input, dtype, off) in [("d", "f64", "0.125000000000001"), ("x", "f32", "0.1250001")] {
        let squared = times(input, dtype, &[root, root]);
        assert_eq!(equal(&squared, &times(input, dtype, &["0.125"])), Some(Tier::Rounding), "{dtype}");
        assert_eq!(equal(&squared, &times(input, dtype, &[off])), None, "{dtype}");
    }
    let thirds = |k: &str| format!("k = number(; value={k}, dtype=f64)\n y = div(d, k)");
    assert_eq!(equal(&thirds("3.0"), &times("d", "f64", &["0.3333333333333333"])), Some(Tier::Rounding));
    assert_eq!(equal(&thirds("3.0"), &times("d", "f64", &["0.333333333333333"])), None);
    assert_eq!(equal(&thirds("4.0"), &times("d", "f64", &["0.25"])), Some(Tier::Real));
    assert_eq!(equal(&times("d", "f64", &["3.0", "4.0"]), &times("d", "f64", &["12.0"])), Some(Tier::Real));
}

#[test]
fn what_overflows_is_equal_to_nothing() {
    assert_eq!(equal(&times("d", "f64", &["1e200", "1e200", "1e-300"]), &times("d", "f64", &["1e100"])), None);
    assert_eq!(equal(&times("x", "f32", &["1e-30", "1e-30"]), &times("x", "f32", &["0.0"])), None);
}

#[test]
fn infinities_and_nan_do_not_cancel() {
    let zero = "z = number(; value=0.0, dtype=f32)\n y = mul(x, z)";
    for number in ["inf", "-inf", "nan"] {
        let k = format!("k = number(; value={number}, dtype=f32)\n ");
        let minus_itself = format!("{k}a = add(x, k)\n y = sub(a, a)");
        let back = format!("{k}a = add(x, k)\n y = sub(a, k)");
        let times_zero = format!("{k}z = number(; value=0.0, dtype=f32)\n a = mul(x, k)\n y = mul(a, z)");
        for one in [&minus_itself, &back, &times_zero] {
            assert_eq!(equal_at_limits(one, zero), None, "{one}");
            assert_eq!(equal_at_limits(one, "y = alias(x)"), None, "{one}");
            assert_eq!(equal_at_limits(one, "y = sub(x, x)"), None, "{one}");
            assert!(equal_at_limits(one, one).is_some(), "{one}");
        }
    }
}

#[test]
fn nothing_is_known_to_be_zero() {
    let zero = "z = number(; value=0.0, dtype=f32)\n y = mul(x, z)";
    assert_eq!(equal_at_limits("y = sub(x, x)", zero), None);
    // The sign of what is 0 shows where something is divided by it.
    let one_over = |body: &str| format!("{body}\n y = reciprocal(a)");
    assert_eq!(equal_at_limits(&one_over("a = sub(x, x)"), &one_over("b = sub(x, x)\n a = neg(b)")), None);
    assert_eq!(equal_at_limits(&one_over("a = mul(x, x)"), &one_over("a = neg(x)")), None);
    let over = |n: &str| format!("z = number(; value={n}, dtype=f32)\n y = div(x, z)");
    assert_eq!(equal_at_limits(&over("0.0"), &over("-0.0")), None);
    assert!(equal_at_limits(&over("0.0"), &over("0.0")).is_some());
    // An infinite element leaves NaN.
    assert_eq!(equal_at_limits("t = permute(x; dims=[1, 0, 2])\n a = add(x, t)\n y = sub(a, t)", "y = alias(x)"), None);
    assert_eq!(equal_at_limits("a = add(x, x)\n y = sub(a, x)", "y = alias(x)"), None);
    assert_eq!(equal_at_limits("y = div(x, x)", "a = sub(x, x)\n y = exp(a)"), None);
}

#[test]
fn products_are_multiplied_out_over_the_real_numbers() {
    let real = Some(Tier::Real);
    let v = "v = sum(w; dim=[0])\n ";
    let grouped = format!("{v}p = matmul(x, w)\n y = matmul(p, v)");
    assert_eq!(equal(&grouped, &format!("{v}p = matmul(w, v)\n y = matmul(x, p)")), real);
    assert_eq!(equal(&grouped, &format!("{v}t = permute(w; dims=[1, 0])\n p = matmul(t, v)\n y = matmul(x, p)")), None);
    let square = "t = permute(x; dims=[1, 0, 2])\n a = sub(x, t)\n y = mul(a, a)";
    let spread = "t = permute(x; dims=[1, 0, 2])\n a = mul(x, x)\n b = mul(t, t)\n c = mul(x, t)\n g = add(c, c)\n \
                  e = add(a, b)\n y = sub(e, g)";
    assert_eq!(equal(square, spread), real);
    assert_eq!(equal(square, &spread.replace("sub(e, g)", "sub(e, c)")), None);
    assert_eq!(equal("y = sub(x, x)", "z = number(; value=0.0, dtype=f32)\n y = mul(x, z)"), real);
}

#[test]
fn exponentials_and_quotients_have_a_normal_form() {
    let real = Some(Tier::Real);
    let softmax = "y = softmax(x; dim=2)";
    let shifted =
        "hi = amax(x; dim=[0, 1, 2])\n s = sub(x, hi)\n e = exp(s)\n n = sum(e; dim=[2], keepdim=true)\n y = div(e, n)";
    assert_eq!(equal(softmax, shifted), real);
    assert_eq!(equal("y = softmax(x; dim=1)", shifted), None);
    assert_eq!(equal("l = log_softmax(x; dim=2)\n y = exp(l)", softmax), real);
    let by_sums = "n = logsumexp(x; dim=[2], keepdim=true)\n s = sub(x, n)\n y = exp(s)";
    assert_eq!(equal(by_sums, softmax), real);
    let odds = "e = exp(x)\n o = number(; value=1.0, dtype=f32)\n b = add(e, o)\n y = div(e, b)";
    assert_eq!(equal("y = sigmoid(x)", odds), real);
    assert_eq!(equal("y = sigmoid(x)", &odds.replace("value=1.0", "value=2.0")), None);
    // Of what may be 0 or negative, nothing is divided out, and no logarithm is undone.
    assert_eq!(equal("y = alias(x)", "a = mul(x, x)\n y = div(a, x)"), None);
    assert_eq!(equal("y = alias(x)", "a = log(x)\n y = exp(a)"), None);
    assert_eq!(equal("y = alias(x)", "a = mul(x, x)\n y = sqrt(a)"), None);
    assert_eq!(equal("a = reciprocal(x)\n y = reciprocal(a)", "y = alias(x)"), None);
}

#[test]
fn squares_of_roots_and_of_sizes_are_known() {
    let real = Some(Tier::Real);
    assert_eq!(equal("a = abs(x)\n y = mul(a, a)", "y = mul(x, x)"), real);
    assert_eq!(equal("a = neg(x)\n y = abs(a)", "y = abs(x)"), real);
    assert_eq!(equal("y = abs(x)", "y = alias(x)"), None);
    let root = |of: &str| format!("s = {of}\n r = sqrt(s)\n y = mul(r, r)");
    assert_eq!(equal(&root("mul(x, x)"), "y = mul(x, x)"), real);
    // The root of what may be negative is no number.
    assert_eq!(equal(&root("alias(x)"), "y = alias(x)"), None);
    assert_eq!(equal("s = mul(x, x)\n r = rsqrt(s)\n y = mul(r, r)", "s = mul(x, x)\n y = reciprocal(s)"), real);
}

#[test]
fn numbers_inside_of_functions_round() {
    let scaled =
        |number: &str, by: &str| format!("k = number(; value={number}, dtype=f32)\n s = {by}(x, k)\n y = exp(s)");
    let divided = scaled("2.8284271247461903", "div");
    assert_eq!(equal(&divided, &scaled("0.35355339059327373", "mul")), Some(Tier::Rounding));
    assert_eq!(equal(&divided, &scaled("0.3535535", "mul")), None);
    assert_eq!(equal(&scaled("0.5", "mul"), &scaled("0.50000006", "mul")), None);
    assert_eq!(equal(&scaled("0.5", "mul"), &scaled("2.0", "div")), Some(Tier::Real));
    let scores = "t = permute(x; dims=[0, 2, 1])\n s = matmul(x, t)\n k = number(; value=2.8284271247461903, dtype=f32)\n \
                  g = div(s, k)\n p = softmax(g; dim=2)\n y = matmul(p, x)";
    assert_eq!(equal(scores, "y = sdpa(x, x, x; scale=0.35355339059327373)"), Some(Tier::Rounding));
}

#[test]
fn what_may_be_no_real_number_does_not_vanish() {
    // 0 / x is NaN for x = 0.
    let zero = "z = number(; value=0.0, dtype=f32)\n ";
    let over = |what: &str| format!("{zero}r = {what}\n y = mul(r, z)");
    assert_eq!(equal(&over("reciprocal(x)"), &over("alias(x)")), None);
    assert_eq!(equal(&over("log(x)"), &over("alias(x)")), None);
    assert_eq!(equal(&over("exp(x)"), &over("alias(x)")), Some(Tier::Real));
    assert_eq!(
        equal("r = reciprocal(x)\n e = exp(r)\n n = neg(r)\n i = exp(n)\n y = mul(e, i)", "a = sub(x, x)\n y = exp(a)"),
        None
    );
}

/// Two graphs over inputs `q` and `k` of a size at which not every element can be written down, whose results are compared.
fn large(a: &str, b: &str) -> Option<Tier> {
    let graph = |body: &str| {
        let source = format!("graph g(q: f32[2, 128, 768], k: f32[2, 128, 768]) {{\n {body}\n return y\n}}");
        text::parse("large.mir", &source).unwrap_or_else(|e| panic!("{source}\n{e:?}"))
    };
    found(&graph(a), &graph(b))
}

#[test]
fn digits_of_places_are_looked_at_one_by_one() {
    let heads = "p = reshape(q; shape=[2, 128, 12, 64])\n s = reshape(k; shape=[2, 128, 12, 64])\n ";
    let batched =
        format!("{heads}a = permute(p; dims=[0, 2, 1, 3])\n b = permute(s; dims=[0, 2, 3, 1])\n y = matmul(a, b)");
    let flat = |p: &str, last: &str| {
        format!(
            "{heads}a = reshape({p}; shape=[2, 128, 12, 64, 1])\n b = permute(a; dims=[0, 2, 1, 3, 4])\n \
             c = reshape(b; shape=[24, 128, 64])\n d = permute(s; dims=[0, 2, 3, 1])\n \
             e = reshape(d; shape=[24, 64, 128])\n f = matmul(c, e)\n y = {last}"
        )
    };
    assert_eq!(large(&batched, &flat("p", "reshape(f; shape=[2, 12, 128, 128])")), Some(Tier::Exact));
    // Heads in another order, of one of the factors and of the product.
    let turned = flat("t", "reshape(f; shape=[2, 12, 128, 128])").replace(
        "a = reshape",
        "u = reshape(q; shape=[2, 128, 64, 12])\n t = permute(u; dims=[0, 1, 3, 2])\n a = reshape",
    );
    assert_eq!(large(&batched, &turned), None);
    let turned =
        flat("p", "permute(g; dims=[1, 0, 2, 3])").replace("y =", "g = reshape(f; shape=[12, 2, 128, 128])\n y =");
    assert_eq!(large(&batched, &turned), None);
    // Parts of a joined projection start where a digit does, or do not.
    let part = |start: usize| format!("a = slice(q; dim=2, start={start}, end={})\n ", start + 256);
    let first = "b = reshape(a; shape=[2, 128, 4, 64])\n c = permute(b; dims=[0, 2, 1, 3])\n y = exp(c)";
    let last = "e = exp(a)\n b = reshape(e; shape=[2, 128, 4, 64])\n y = permute(b; dims=[0, 2, 1, 3])";
    assert_eq!(large(&(part(256) + first), &(part(256) + last)), Some(Tier::Exact));
    assert_eq!(large(&(part(256) + first), &(part(320) + last)), None);
    // Heads that are repeated one by one, or all together.
    let repeated = |how: &str| format!("{heads}a = permute(p; dims=[0, 2, 1, 3])\n {how}\n y = neg(c)");
    let one_by_one = repeated("c = repeat_heads(a; times=4)");
    let expanded = "b = reshape(a; shape=[2, 12, 1, 128, 64])\n d = expand(b; shape=[2, 12, 4, 128, 64])\n \
                    c = reshape(d; shape=[2, 48, 128, 64])";
    assert_eq!(large(&one_by_one, &repeated(expanded)), Some(Tier::Exact));
    let together = "b = reshape(a; shape=[2, 1, 12, 128, 64])\n d = expand(b; shape=[2, 4, 12, 128, 64])\n \
                    c = reshape(d; shape=[2, 48, 128, 64])";
    assert_eq!(large(&one_by_one, &repeated(together)), None);
}

#[test]
fn a_branch_that_is_no_number_is_not_multiplied_away() {
    // `where` leaves the logarithm of a negative number out, a factor of 0 does not.
    let chosen = "z = number(; value=0.0, dtype=f32)\n c = gt(x, z)\n l = log(x)\n y = where(c, l, z)";
    let masked =
        "z = number(; value=0.0, dtype=f32)\n c = gt(x, z)\n k = cast(c; dtype=f32)\n l = log(x)\n y = mul(l, k)";
    assert_eq!(equal(chosen, masked), None);
    assert_eq!(equal(&chosen.replace("log(x)", "exp(x)"), &masked.replace("log(x)", "exp(x)")), Some(Tier::Real));
    // Nor does adding minus infinity hide what is no number.
    let hidden = "i = arange(; end=2, dtype=i64)\n o = number(; value=1, dtype=i64)\n c = lt(i, o)\n \
                  z = number(; value=0.0, dtype=f32)\n n = number(; value=-inf, dtype=f32)\n h = where(c, z, n)\n ";
    let added = |of: &str| format!("{hidden}r = {of}\n s = add(r, h)\n y = softmax(s; dim=2)");
    let replaced = |of: &str| format!("{hidden}r = {of}\n s = where(c, r, n)\n y = softmax(s; dim=2)");
    assert_eq!(equal(&added("reciprocal(x)"), &replaced("reciprocal(x)")), None);
    assert_eq!(equal(&added("alias(x)"), &replaced("alias(x)")), Some(Tier::Real));
    // A mask of which nothing is known may hide all keys, of which attention makes zeros and softmax NaN.
    let scores =
        "t = permute(x; dims=[0, 2, 1])\n p = matmul(x, t)\n s = add(p, w)\n f = softmax(s; dim=2)\n y = matmul(f, x)";
    assert_eq!(equal(scores, "y = sdpa(x, x, x, w; scale=1.0)"), None);
}

#[test]
fn roots_of_roots_take_no_time() {
    let mut body = "r0 = exp(x)\n ".to_owned();
    (0..40).for_each(|i| body += &format!("s{i} = sqrt(r{i})\n r{} = add(r{i}, s{i})\n ", i + 1));
    assert_eq!(equal(&format!("{body}y = reciprocal(r40)"), &format!("{body}y = sqrt(r40)")), None);
}

#[test]
fn choices_are_sums_over_truth_values() {
    let real = Some(Tier::Real);
    let chosen = "c = gt(x, m1)\n y = where(c, x, m2)";
    let inputs = "m1 = amax(x; dim=[0], keepdim=true)\n m2 = sum(x; dim=[0], keepdim=true)\n ";
    let masked = "c = gt(x, m1)\n k = cast(c; dtype=f32)\n a = mul(x, k)\n n = logical_not(c)\n l = cast(n; dtype=f32)\n \
                  b = mul(l, m2)\n y = add(a, b)";
    let of = |body: &str| format!("{inputs}{body}");
    assert_eq!(equal(&of(chosen), &of(masked)), real);
    assert_eq!(equal(&of(chosen), &of(&masked.replace("mul(l, m2)", "mul(k, m2)"))), None);
    // Which keys are hidden shows when it runs, and whether any is left.
    let hidden = "c = gt(x, m1)\n z = number(; value=-inf, dtype=f32)\n s = where(c, x, z)\n ";
    let rows = "e = exp(s)\n n = sum(e; dim=[2], keepdim=true)\n y = div(e, n)";
    assert_eq!(equal(&of(&format!("{hidden}y = softmax(s; dim=2)")), &of(&format!("{hidden}{rows}"))), None);
}

#[test]
fn attention_over_tiles_is_attention() {
    let scores = "t = permute(x; dims=[0, 2, 1])\n s = matmul(x, t)\n ";
    let whole = "y = sdpa(x, x, x; scale=1.0)";
    assert_eq!(equal(&format!("{scores}p = softmax(s; dim=2)\n y = matmul(p, x)"), whole), Some(Tier::Real));
    let tile = |n: usize| {
        format!(
            "s{n} = slice(s; dim=2, start={n}, end={})\n v{n} = slice(x; dim=1, start={n}, end={})\n ",
            n + 1,
            n + 1
        )
    };
    let running = format!(
        "{scores}{}{}z = sub(s0, s0)\n e0 = exp(z)\n hi = maximum(s0, s1)\n d0 = sub(s0, hi)\n a0 = exp(d0)\n d1 = sub(s1, hi)\n \
         a1 = exp(d1)\n l0 = mul(e0, a0)\n l = add(l0, a1)\n p0 = matmul(l0, v0)\n p1 = matmul(a1, v1)\n o = add(p0, p1)\n \
         y = div(o, l)",
        tile(0),
        tile(1)
    );
    assert_eq!(equal(&running, whole), Some(Tier::Real));
    assert_eq!(equal(&running.replace("sub(s1, hi)", "sub(s1, s0)"), whole), None);
    let causal = "y = sdpa(x, x, x; scale=1.0, causal=true)";
    assert_eq!(equal(&running, causal), None);
    let mask = "i = arange(; end=2, dtype=i64)\n r = reshape(i; shape=[2, 1])\n k = le(i, r)\n y = sdpa(x, x, x, k; scale=1.0)";
    assert_eq!(equal(mask, causal), Some(Tier::Real));
}

#[test]
fn convolutions_are_sums_of_products() {
    let filters = "r = reshape(w; shape=[2, 2, 1])\n ";
    let product = "t = permute(x; dims=[0, 2, 1])\n v = permute(w; dims=[1, 0])\n p = matmul(t, v)\n y = permute(p; dims=[0, 2, 1])";
    assert_eq!(
        equal(&format!("{filters}y = conv1d(x, r; stride=[1], padding=[0], dilation=[1])"), product),
        Some(Tier::Real)
    );
    assert_eq!(
        equal(
            &format!("{filters}y = conv1d(x, r; stride=[1], padding=[0], dilation=[1])"),
            &product.replace("dims=[1, 0]", "dims=[0, 1]")
        ),
        None
    );
}

#[test]
fn integers_wrap_around() {
    let two = "k = number(; value=2, dtype=i64)\n ";
    assert_eq!(equal("y = add(whole, whole)", &format!("{two}y = mul(whole, k)")), None);
    assert_eq!(equal(&format!("{two}a = mul(whole, k)\n y = floor_div(a, k)"), "y = alias(whole)"), None);
    let shift = times("whole", "i64", &["4", "4611686018427387904"]);
    assert_eq!(equal(&shift, "y = alias(whole)"), None);
    assert_eq!(equal(&shift, &times("whole", "i64", &["4611686018427387904", "8"])), None);
    let joined = |n: &str| format!("a = diff({n}; dim=0)\n y = concat(a, a; dim=0)");
    let by_hand = "a = slice(whole; dim=0, start=1, end=2)\n b = slice(whole; dim=0, start=0, end=1)\n c = sub(a, b)\n \
                   y = concat(c, c; dim=0)";
    assert_eq!(equal(&joined("whole"), by_hand), None);
    assert_eq!(equal(&joined("x"), &by_hand.replace("(whole;", "(x;")), Some(Tier::Real));
}

#[test]
fn a_detour_by_another_type_is_not_left_out() {
    let by = |dtype: &str| format!("a = cast(x; dtype={dtype})\n y = cast(a; dtype=f32)");
    for dtype in ["bf16", "f16", "f64", "f8e4m3", "i64", "bool"] {
        assert_eq!(equal(&by(dtype), "y = alias(x)"), None, "{dtype}");
    }
    let floored = "a = cast(x; dtype=i64)\n y = cast(a; dtype=f32)";
    assert_eq!(equal(floored, "y = floor(x)"), None);
}

#[test]
fn limits_that_are_nan_win() {
    let clamped = "y = clamp(x; min=nan, max=1.0)";
    assert_eq!(equal(clamped, "y = clamp(x; max=1.0)"), None);
    assert_eq!(equal("y = clamp(x; min=0.0, max=1.0)", "y = clamp(x; min=1.0, max=0.0)"), None);
    let relu = "y = relu(x)";
    assert_eq!(equal(relu, "y = clamp(x; min=0.0)"), Some(Tier::Real));
    assert_eq!(equal(relu, "y = clamp(x; max=0.0)"), None);
}

#[test]
fn what_is_drawn_has_no_elements() {
    let turned = "a = dropout(x; p=0.5, train=true)\n y = flip(a; dims=[0])";
    assert_eq!(equal(turned, "a = dropout(x; p=0.5, train=true)\n y = alias(a)"), None);
    let of_one = "a = unsqueeze(x; dim=0)\n e = expand(a; shape=[2, 2, 2, 2])\n r = dropout(e; p=0.5, train=true)\n ";
    let part = |n: usize| format!("{of_one}s = slice(r; dim=0, start={n}, end={})\n y = squeeze(s; dim=0)", n + 1);
    assert_eq!(equal(&part(0), &part(1)), None);
}

#[test]
fn long_formulas_come_to_an_end() {
    let squares = |first: &str| {
        let mut body = format!("s0 = add({first}, w)\n ");
        (0..90).for_each(|i| body += &format!("s{} = mul(s{i}, s{i})\n ", i + 1));
        body + "y = alias(s90)"
    };
    let turned = "t = permute(x; dims=[1, 0, 2])\n ";
    assert_eq!(equal(&squares("x"), &format!("{turned}{}", squares("t"))), None);
    let numbers: Vec<&str> = (0..90).map(|_| "1.1").collect();
    assert_eq!(equal(&times("d", "f64", &numbers), &times("d", "f64", &["1.5"])), None);
}

/// An expression in postfix notation: what is not understood is left out.
fn postfix(steps: &[usize]) -> String {
    let (mut body, mut stack) = (String::new(), Vec::<String>::new());
    for (i, step) in steps.iter().enumerate() {
        let name = format!("v{i}");
        let value = match step {
            0 => "alias(x)".to_owned(),
            1 => "permute(x; dims=[1, 0, 2])".to_owned(),
            2..=8 => {
                let value = ["0.0", "-0.0", "1.0", "-1.0", "2.0", "inf", "nan"][step - 2];
                format!("full(; shape=[2, 2, 2], value={value}, dtype=f32)")
            }
            9..=12 => {
                let Some(top) = stack.pop() else { continue };
                format!("{}({top})", ["neg", "reciprocal", "relu", "abs"][step - 9])
            }
            _ => {
                let (Some(b), Some(a)) = (stack.pop(), stack.pop()) else { continue };
                format!("{}({a}, {b})", ["add", "sub", "mul", "div", "maximum"][step - 13])
            }
        };
        body += &format!("{name} = {value}\n ");
        stack.push(name);
    }
    body + &format!("y = alias({})", stack.pop().unwrap_or_else(|| "x".to_owned()))
}

/// The value of a formula over elements of one tensor, `x`.
fn value(store: &Store, id: FormId, x: &[Number]) -> f64 {
    let of = |id: FormId| value(store, id, x);
    let atom = |atom: &AtomId| match store.atom_of(*atom) {
        Atom::Leaf(_, at) => x[*at].to_f64(),
        Atom::Constant(number) => number.to_f64(),
        Atom::Function(Function::Exp, id) => of(*id).exp(),
        Atom::Function(Function::Log, id) => of(*id).ln(),
        Atom::Function(Function::Reciprocal, id) => 1.0 / of(*id),
        Atom::Function(Function::Sqrt, id) => of(*id).sqrt(),
        Atom::Function(Function::Abs, id) => of(*id).abs(),
        Atom::Indicator(id) => of(*id),
        Atom::Largest(all) => {
            all.iter().map(|&id| of(id)).fold(f64::NEG_INFINITY, |x, y| if x >= y || x.is_nan() { x } else { y })
        }
        // What overflows in the formula alone is not compared, nor what is chosen by it.
        Atom::Applied { op: "gt", operands, .. } => match of(operands[0].1).partial_cmp(&of(operands[1].1)) {
            Some(order) => f64::from(u8::from(order.is_gt())),
            None => f64::NAN,
        },
        Atom::Applied { op: "where", operands, .. } => match of(operands[0].1) {
            chosen if chosen.is_nan() => chosen,
            chosen => of(operands[if chosen == 0.0 { 2 } else { 1 }].1),
        },
        other => panic!("{other:?}"),
    };
    let product = |p: &Product| p.number.to_f64().unwrap() * p.factors.iter().map(atom).product::<f64>();
    store.form(id).products().iter().map(product).sum()
}

/// As [`postfix`], with functions of real numbers, in f64.
fn functions(steps: &[usize]) -> String {
    let (mut body, mut stack) = (String::new(), vec!["d".to_owned()]);
    for (i, step) in steps.iter().enumerate() {
        let name = format!("v{i}");
        let value = match step {
            0 => "alias(d)".to_owned(),
            1 => "permute(d; dims=[1, 0, 2])".to_owned(),
            2 | 3 => format!("full(; shape=[2, 2, 2], value={}, dtype=f64)", ["1.0", "-2.0"][step - 2]),
            4..=17 => {
                let Some(top) = stack.pop() else { continue };
                let op = [
                    "neg",
                    "reciprocal",
                    "abs",
                    "exp",
                    "exp",
                    "log",
                    "sqrt",
                    "rsqrt",
                    "sigmoid",
                    "silu",
                    "softmax",
                    "log_softmax",
                    "relu",
                    "softmax",
                ][step - 4];
                let dim = if op.ends_with("softmax") { "; dim=1" } else { "" };
                format!("{op}({top}{dim})")
            }
            18 => {
                let (Some(b), Some(a)) = (stack.pop(), stack.last()) else { continue };
                body += &format!("{name}c = gt({a}, {b})\n ");
                format!("where({name}c, {a}, {b})")
            }
            _ => {
                let (Some(b), Some(a)) = (stack.pop(), stack.last()) else { continue };
                format!("{}({a}, {b})", ["add", "sub", "mul", "div", "maximum"][step - 19])
            }
        };
        body += &format!("{name} = {value}\n ");
        stack.push(name);
    }
    body + &format!("y = alias({})", stack.pop().unwrap_or_else(|| "d".to_owned()))
}

/// One more operator that keeps the shape `[2, 2, 2]`.
fn step(kind: usize, dim: usize, from: &str, to: &str) -> String {
    let order = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]][(kind + dim) % 6];
    match kind % 9 {
        0 => format!("{to} = permute({from}; dims={order:?})\n"),
        1 => format!("{to} = flip({from}; dims=[{dim}])\n"),
        2 => format!("{to} = roll({from}; shifts=[1], dims=[{dim}])\n"),
        3 => format!(
            "{to}a = slice({from}; dim={dim}, start=1, end=2)\n {to}b = slice({from}; dim={dim}, start=0, end=1)\n \
             {to} = concat({to}a, {to}b; dim={dim})\n"
        ),
        4 => format!("{to}a = permute({from}; dims={order:?})\n {to} = add({from}, {to}a)\n"),
        5 => format!("{to}a = sum({from}; dim=[{dim}], keepdim=true)\n {to} = sub({from}, {to}a)\n"),
        6 => format!("{to} = matmul({from}, w)\n"),
        7 => format!("{to}a = softmax({from}; dim={dim})\n {to} = mul({to}a, {from})\n"),
        _ => format!(
            "{to}a = reshape({from}; shape=[2, 4])\n {to}b = permute({to}a; dims=[1, 0])\n \
             {to} = reshape({to}b; shape=[2, 2, 2])\n"
        ),
    }
}

fn chain(steps: &[(usize, usize)]) -> String {
    let mut body = String::new();
    for (n, &(kind, dim)) in steps.iter().enumerate() {
        let from = if n == 0 { "x".to_owned() } else { format!("v{}", n - 1) };
        body += &step(kind, dim, &from, &format!("v{n}"));
    }
    body + &format!("y = alias({})", if steps.is_empty() { "x".to_owned() } else { format!("v{}", steps.len() - 1) })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn what_is_found_equal_is(
        one in prop::collection::vec((0_usize..9, 0_usize..3), 0..4),
        other in prop::collection::vec((0_usize..9, 0_usize..3), 0..4),
        seed in any::<u64>(),
    ) {
        let (a, b) = (graph(&chain(&one)), graph(&chain(&other)));
        if found(&a, &b).is_some() {
            for (x, y) in elements(&a, seed).into_iter().zip(elements(&b, seed)) {
                let (x, y) = (x.to_f64(), y.to_f64());
                prop_assert!((x - y).abs() <= 1e-9 * x.abs().max(1.0), "{} {}", chain(&one), chain(&other));
            }
        }
    }

    /// With infinities, NaN, and zeros of both signs among the numbers.
    #[test]
    fn arithmetic_that_is_found_equal_is(
        one in prop::collection::vec(0_usize..18, 1..9),
        other in prop::collection::vec(0_usize..18, 1..9),
        seed in any::<u64>(),
    ) {
        let (a, b) = (graph(&postfix(&one)), graph(&postfix(&other)));
        if found(&a, &b).is_some() {
            for (x, y) in elements(&a, seed).into_iter().zip(elements(&b, seed)) {
                let (x, y) = (x.to_f64(), y.to_f64());
                let same = x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= 1e-9 * x.abs().max(1.0);
                prop_assert!(same, "{x} {y}: {} {}", postfix(&one), postfix(&other));
            }
        }
    }

    /// A formula over the real numbers has the value of what it was written down for.
    #[test]
    fn formulas_have_the_values_of_elements(steps in prop::collection::vec(0_usize..24, 1..12), seed in any::<u64>()) {
        let graph = graph(&functions(&steps));
        let mut arena = Arena::default();
        let [root, _] = roots(&mut arena, &graph, &graph);
        let leaves = Leaves::default();
        let mut elements = Elements::new(&arena, &leaves, (Mode::Reals, false), DType::F64, ELEMENTS);
        let program = GraphProgram::new(&graph, seed);
        let mut demand = Demand::new(&program, Options { rounding: false, budget: 1 << 20 });
        let all: Vec<Vec<Number>> = graph.operators().map(|(id, _)| demand.tensor(id.into()).unwrap()).collect();
        // What is no real number has no formula, and what is computed from it need not be what its formula says.
        prop_assume!(all.iter().flatten().all(|v| v.to_f64().is_finite()));
        let x = demand.tensor(Value::from(graph.inputs()[4])).unwrap();
        let y = demand.tensor(graph.outputs()[0].value).unwrap();
        for (place, y) in y.iter().enumerate() {
            let index = [place / 4, place / 2 % 2, place % 2];
            let Some(id) = elements.element(root, &index, 0) else { continue };
            let (found, y) = (value(&elements.store, id, &x), y.to_f64());
            // Formulas may overflow where what they were written down for does not, and round otherwise.
            if found.is_finite() {
                prop_assert!((found - y).abs() <= 1e-3 * y.abs().max(1.0), "{found} {y}: {}", functions(&steps));
            }
        }
    }
}
