//! Numbers that a type does not hold beside others, and places that only look harmless: pairs that were once proven equal.

use magneton_ir::energy::{CostModel, Objective};
use magneton_ir::ir::{Graph, text};
use magneton_ir::optimize::optimize;
use magneton_ir::progress::Silent;
use magneton_ir::prove::{Context, Verdict, prove};
use magneton_ir::rules::{RuleSet, Tier};

fn graph(inputs: &str, result: &str) -> Graph {
    let source = format!("graph g({inputs}) {{ result = {result} return result }}");
    text::parse("pair.mir", &source).unwrap_or_else(|e| panic!("{source}\n{:?}", miette::Report::new(e)))
}

/// The graph that `optimize` writes.
fn cheapest(inputs: &str, result: &str) -> Graph {
    let (rules, costs) = (RuleSet::library().unwrap(), CostModel::shipped().unwrap());
    let workload = graph(inputs, result);
    optimize(&workload, &Context::under(&rules), Tier::Real, Objective::Energy, &costs).unwrap().rewritten
}

fn is_proven(inputs: &str, a: &str, b: &str) -> bool {
    let rules = RuleSet::library().unwrap();
    let pair = [graph(inputs, a), graph(inputs, b)];
    [[0, 1], [1, 0]].iter().any(|&[x, y]| {
        matches!(prove(&pair[x], &pair[y], &rules, &Silent).unwrap().verdict, Verdict::Equivalent { .. })
    })
}

fn none_is_proven(inputs: &str, pairs: &[(&str, &str)]) {
    for (a, b) in pairs {
        assert!(!is_proven(inputs, a, b), "{a}\n{b}");
    }
}

/// What kept a logarithm or a quotient away from 0 was added to 1, and gone.
#[test]
fn what_a_sum_of_numbers_would_lose_stays() {
    none_is_proven(
        "x: f32[6]",
        &[
            ("log(add(sub(1.0, x), 1e-9))", "log(sub(1.0, x))"),
            ("log(add(sub(1.0, x), 1e-9))", "log1p(neg(x))"),
            ("reciprocal(add(sub(x, 1.0), 1e-9))", "reciprocal(sub(x, 1.0))"),
            ("rsqrt(add(sub(1.0, mul(x, x)), 1e-8))", "rsqrt(sub(1.0, mul(x, x)))"),
            ("log(add(sub(1.0, sigmoid(x)), 1e-9))", "log_sigmoid(neg(x))"),
            ("add(add(x, 1e8), 1.0)", "add(x, 1e8)"),
        ],
    );
    none_is_proven("x: f64[6]", &[("add(add(x, 1.0), 1e-17)", "add(x, 1.0)")]);
    assert!(is_proven("x: f32[6]", "add(add(x, 0.1), 0.2)", "add(x, 0.3)"));
    assert!(is_proven("x: f64[6]", "add(add(x, 1.0), 1e-9)", "add(x, 1.000000001)"));
}

/// Equal over the real numbers, and infinite or the same everywhere in their own types.
#[test]
fn what_parts_in_its_own_type_on_ordinary_inputs_is_not_proven() {
    none_is_proven(
        "x: f32[4, 6]",
        &[
            ("mul(mul(mul(mul(x, 1e30), 1e30), 1e-30), 1e-30)", "mul(x, 1.0)"),
            ("argmax(add(x, 1e8); dim=1)", "argmax(x; dim=1)"),
        ],
    );
    assert!(is_proven("x: f32[4, 6]", "mul(mul(x, 1e3), 1e-3)", "mul(x, 1.0)"));
    // A logarithm is not defined for half of the inputs: that is no question of types.
    let gumbel = "softmax(div(sub(x, log(neg(log(y)))), 0.5); dim=1)";
    let hard = |scores: &str| format!("cast(one_hot(argmax({scores}; dim=1); num_classes=6); dtype=f32)");
    let through = format!("add(sub({}, {gumbel}), {gumbel})", hard(gumbel));
    assert!(is_proven("x: f32[4, 6], y: f32[4, 6]", &through, &hard("sub(x, log(neg(log(y))))")));
    assert!(is_proven("x: f32[4, 6]", "argmax(add(x, 8.0); dim=1)", "argmax(x; dim=1)"));
}

/// -0 + 0 was -0 where a difference was looked for, and the sides parted there.
#[test]
fn a_negative_zero_plus_zero_is_none() {
    let negative = |x: &str| format!("logical_or(lt({x}, 0.0), logical_and(eq({x}, 0.0), lt(reciprocal({x}), 0.0)))");
    let [a, b] = ["lt(x, 0.0)".to_owned(), negative("add(x, 0.0)")].map(|result| graph("x: f32[6, 8]", &result));
    let verdict = prove(&a, &b, &RuleSet::library().unwrap(), &Silent).unwrap().verdict;
    assert!(!matches!(verdict, Verdict::Different(_)), "{verdict:?}");
}

/// 1e8 + 1 counted as 1e8, rounded.
#[test]
fn a_summand_is_no_rounding_error_of_a_larger_one() {
    none_is_proven(
        "x: f32[6], y: f32[6]",
        &[("mul(sub(x, y), 1e8)", "add(x, mul(sub(x, y), 1e8))"), ("mul(x, 1e8)", "add(mul(x, 1e8), x)")],
    );
    none_is_proven(
        "x: f32[4, 8], w: f32[8, 8], v: f32[8, 8]",
        &[("mul(matmul(x, sub(w, v)), 1e8)", "add(matmul(x, w), mul(matmul(x, sub(w, v)), 1e8))")],
    );
    assert!(is_proven("x: f32[6]", "add(mul(x, 0.1), mul(x, 0.2))", "mul(x, 0.3)"));
}

#[test]
fn numbers_that_leave_the_range_of_a_type_are_not_brought_together() {
    none_is_proven(
        "x: f32[6]",
        &[
            ("mul(mul(x, 1e30), 1e30)", "mul(x, 1e60)"),
            ("div(div(x, 1e-25), 1e-25)", "div(x, 1e-50)"),
            ("argmax(mul(x, inf); dim=0)", "argmax(x; dim=0)"),
            ("amax(mul(x, inf); dim=[0])", "mul(amax(x; dim=[0]), inf)"),
        ],
    );
}

/// `source` may be larger than `index`, and `index` than what is written to.
#[test]
fn what_is_written_at_places_is_as_large_as_the_places() {
    none_is_proven(
        "x: f32[3, 5], i: i64[3, 1], y: f32[3, 5]",
        &[("scatter(x, i, y; dim=1)", "where(cast(one_hot(reshape(i; shape=[3]); num_classes=5); dtype=bool), y, x)")],
    );
    none_is_proven(
        "x: f32[4, 6], i: i64[3], y: f32[4, 3]",
        &[("scatter_add(x, expand(i; shape=[2, 3]), y; dim=1)", "index_add(x, i, y; dim=1)")],
    );
    none_is_proven(
        "x: f32[8, 6], i: i64[3], y: f32[3, 6]",
        &[("scatter_add(x, expand(reshape(i; shape=[3, 1]); shape=[3, 5]), y; dim=0)", "index_add(x, i, y; dim=0)")],
    );
}

/// A sum of 64-bit integers wraps around where the sum of floats does not.
#[test]
fn a_sum_of_long_integers_is_that_of_floats_within_64_bits() {
    let of = |element: &str| {
        let input = format!("x: {element}[64]");
        let (a, b) =
            (graph(&input, "cast(sum(x; dim=[0]); dtype=f32)"), graph(&input, "sum(cast(x; dtype=f32); dim=[0])"));
        prove(&a, &b, &RuleSet::library().unwrap(), &Silent).unwrap()
    };
    for element in ["i64", "i32"] {
        assert!(matches!(of(element).verdict, Verdict::Equivalent { tier: Tier::Real }), "{element}");
    }
    assert!(of("i64").assumed.iter().any(|said| said.contains("below")), "{:?}", of("i64").assumed);
}

/// A positive factor was assumed of inputs of which every second one is negative.
#[test]
fn what_holds_for_one_sign_of_an_input_is_no_equality() {
    for (inputs, a, b) in [
        ("x: f32[4, 5], t: f32[4, 1]", "argmax(div(x, exp(t)); dim=1)", "argmax(mul(x, t); dim=1)"),
        ("x: f32[4, 5], t: f32[4, 1]", "argmax(x; dim=1)", "argmax(mul(x, t); dim=1)"),
        ("x: f32[4, 5], t: f32[]", "argmax(x; dim=1)", "argmax(div(x, t); dim=1)"),
        ("x: f32[4, 5], t: f32[4, 5]", "gt(div(x, t), 0.5)", "gt(x, mul(t, 0.5))"),
    ] {
        assert!(is_refuted(inputs, a, b), "{a}\n{b}");
    }
    let inputs = "x: f32[4, 5], t: f32[4, 1]";
    assert!(is_proven(inputs, "argmax(div(x, exp(t)); dim=1)", "argmax(x; dim=1)"));
}

fn is_refuted(inputs: &str, a: &str, b: &str) -> bool {
    let proof = prove(&graph(inputs, a), &graph(inputs, b), &RuleSet::library().unwrap(), &Silent).unwrap();
    matches!(proof.verdict, Verdict::Different(_))
}

/// Logarithms of what is below 0 for every input were assumed to be of what is above 0, from which everything follows.
#[test]
fn what_is_assumed_and_holds_for_no_input_shows_nothing() {
    for x in [
        "sub(neg(abs(u)), 1.0)",
        // Half of it is below 0, whatever `u` is.
        "concat(u, neg(u); dim=0)",
        "log_softmax(u; dim=1)",
    ] {
        let [of_square, twice] = [format!("log(pow({x}; exponent=2.0))"), format!("mul(log({x}), 2.0)")];
        assert!(is_refuted("u: f32[4, 6]", &of_square, &twice), "{x}");
    }
    // That of a product may well be above 0.
    let x = "matmul(u, w)";
    let [of_square, twice] = [format!("log(pow({x}; exponent=2.0))"), format!("mul(log({x}), 2.0)")];
    assert!(is_proven("u: f32[4, 6], w: f32[6, 4]", &of_square, &twice));
}

/// The search for cheaper forms believed that half of it is above 0 and the opposite of that half, too.
#[test]
fn no_cheaper_form_rests_on_what_inputs_contradict() {
    let twice = |x: &str| format!("exp(log({x}))");
    let shape = "u: f32[1024, 1024]";
    let parts = |x: &str| cheapest(shape, &twice(x)).operators().count();
    assert_eq!(parts("concat(u, neg(u); dim=0)"), 4);
    assert_eq!(parts("sigmoid(u)"), 1);
}

/// Labels that are left out by their number were assumed away, as were places that are counted from the end.
#[test]
fn what_is_assumed_holds_for_all_masks_and_labels() {
    for labels in ["where(m, t, -100)", "where(eq(t, 0), -100, t)"] {
        let of_all = format!("div(cross_entropy(x, {labels}; reduction=\"sum\"), 6.0)");
        let inputs = "x: f32[6, 5], t: i64[6], m: bool[6]";
        assert!(is_refuted(inputs, &format!("cross_entropy(x, {labels})"), &of_all), "{labels}");
    }
    let is = "eq(reshape(sub(-1, i); shape=[3, 1]), arange(; start=0, end=6, step=1, dtype=i64))";
    let inputs = "y: f32[6], i: i64[3]";
    assert!(is_refuted(inputs, "index(y, sub(-1, i); dims=[0])", &format!("matmul(cast({is}; dtype=f32), y)")));
}

/// A program that asks whether a label is -100 takes such labels.
#[test]
fn numbers_that_programs_ask_for_are_not_assumed_away() {
    let inputs = "w: f32[200, 6], i: i64[7]";
    let guarded = |looked_up: &str| format!("where(reshape(ne(i, -100); shape=[7, 1]), {looked_up}, 0.0)");
    assert!(is_refuted(inputs, &guarded("index(w, i; dims=[0])"), "index(w, i; dims=[0])"));
    let inputs = "w: f32[9, 6], i: i64[7]";
    // Here the other side has no value for such a label, and the report says what is assumed of labels.
    assert!(is_proven(inputs, &guarded("embedding(w, where(ne(i, -100), i, 0))"), "embedding(w, i)"));
    assert!(is_proven(inputs, "embedding(w, i)", "matmul(cast(one_hot(i; num_classes=9); dtype=f32), w)"));
    let written = cheapest("w: f32[2048, 64], i: i64[512]", "embedding(w, where(ne(i, -100), i, 0))");
    assert!(text::print(&written).contains("ne("));
    // A mean over the labels that count is none over all, and there may be no such label.
    let inputs = "x: f64[512, 64], t: i64[512]";
    let mean = "cross_entropy(x, where(gt(t, 3), -100, t))";
    assert!(text::print(&cheapest(inputs, mean)).contains("gt("));
    let counted = "clamp(cast(sum(ne(t, -100); dim=[0]); dtype=f64); min=1.0)";
    let written = cheapest(inputs, &format!("div(cross_entropy(x, t; reduction=\"sum\"), {counted})"));
    assert!(text::print(&written).contains("clamp("));
}

/// The bounds of a variance were asked for of a number, which has no dims.
#[test]
fn a_variance_beside_a_median_is_no_mistake() {
    let source = "graph g(x: f64[5]) { v = var(x; dim=[0]) m = median(x; dim=0, keepdim=true) return v, m }";
    let graph = text::parse("test.mir", source).unwrap();
    let (rules, costs) = (RuleSet::library().unwrap(), CostModel::shipped().unwrap());
    assert!(optimize(&graph, &Context::under(&rules), Tier::Real, Objective::Energy, &costs).is_ok());
}

/// 55 times 2 / 110, rounded to f32, is below 1.
#[test]
fn pixels_that_are_found_too_early_are_others() {
    let twice = |first: i64, last: i64| {
        let inner = format!("upsample_nearest(x; size=[{first}, {first}])");
        format!("upsample_nearest({inner}; size=[{last}, {last}])")
    };
    let once = |last: i64| format!("upsample_nearest(x; size=[{last}, {last}])");
    let input = "x: f32[1, 1, 2, 2]";
    assert!(!is_proven(input, &twice(10, 110), &once(110)));
    assert!(is_proven(input, &twice(10, 30), &once(30)));
}

/// Of two zeros as limits from below the first one stays, with its sign.
#[test]
fn limits_of_both_zeros_are_not_exact() {
    let [a, b] = ["clamp(clamp(x; min=-0.0); min=0.0)", "clamp(x; min=0.0)"].map(|result| graph("x: f32[6]", result));
    let proof = prove(&a, &b, &RuleSet::library().unwrap(), &Silent).unwrap();
    assert!(!matches!(proof.verdict, Verdict::Equivalent { tier: Tier::Exact }), "{:?}", proof.verdict);
}

/// A rule put a number where nothing but numbers stood, and what the type stores of it took its place: 1e-8 was 0.
#[test]
fn a_number_beside_a_tensor_is_not_stored_by_a_rule() {
    none_is_proven(
        "x: f16[6]",
        &[
            ("div(x, 1e-8)", "div(x, 0.0)"),
            ("tanh(neg(mul(x, 70000.0)))", "tanh(neg(mul(x, 80000.0)))"),
            ("neg(mul(mul(x, 300.0), 300.0))", "neg(mul(x, inf))"),
            ("mul(add(mul(x, 300.0), mul(x, 300.0)), 300.0)", "mul(x, inf)"),
            ("sigmoid(neg(mul(mul(x, 300.0), 300.0)))", "sigmoid(neg(mul(mul(x, 400.0), 400.0)))"),
            ("sigmoid(div(x, 1e-8))", "sigmoid(div(x, 2e-8))"),
            ("div(x, 1.0003)", "neg(neg(x))"),
        ],
    );
    none_is_proven(
        "x: bf16[6]",
        &[("div(x, 1.003)", "neg(neg(x))"), ("add(div(x, 1e-41), 1.0)", "add(div(x, 0.0), 1.0)")],
    );
    none_is_proven("x: f32[6]", &[("div(x, 1e-39)", "mul(x, inf)"), ("div(x, 1e-39)", "div(x, 0.0)")]);
    none_is_proven("x: f64[6]", &[("div(x, 1e-310)", "mul(x, inf)")]);
    assert!(is_proven("x: f16[6]", "div(x, 1.5)", "mul(x, 0.66666666666)"));
    assert!(is_proven("x: bf16[6]", "div(x, 9.797958971132712)", "mul(x, 0.10206207261596575)"));
}

/// The product of two numbers that are none in the type stood in a form: `x * 1e30 * 1e30` was written as `(1e30 * 1e30) x`, an infinity.
#[test]
fn no_form_computes_a_number_that_its_type_does_not_hold() {
    for (inputs, result) in [
        ("x: f32[64, 4096]", "mul(mul(x, 1e30), 1e30)"),
        ("x: f32[64, 4096]", "div(div(x, 1e-20), 1e-20)"),
        ("x: f16[64, 4096]", "mul(add(mul(x, 300.0), mul(x, 300.0)), 300.0)"),
        ("x: f16[64, 4096]", "mul(add(mul(x, 3000.0), mul(x, 3000.0)), 30.0)"),
    ] {
        let form = cheapest(inputs, result);
        let forms = text::print(&form);
        let makes_numbers = form.operators().any(|(id, _)| {
            let operands = form.operands(id);
            !operands.is_empty() && operands.iter().all(|&v| form.ty(v).rank() == 0)
        });
        assert!(!makes_numbers && !forms.contains("inf"), "{forms}");
    }
}

/// A mask hides an infinite score where it takes its place, and not where -inf is added to it: that gives NaN for the whole row.
#[test]
fn hidden_scores_that_may_be_infinite_are_not_added_to_a_mask() {
    let masked = |scores: &str| format!("softmax(where(m, {scores}, -inf); dim=1)");
    let added = |scores: &str| format!("softmax(add({scores}, where(m, 0.0, -inf)); dim=1)");
    let inputs = "m: bool[3, 3], x: f32[3, 3]";
    none_is_proven(inputs, &[(&masked("reciprocal(x)"), &added("reciprocal(x)"))]);
    assert!(is_proven(inputs, &masked("mul(x, 0.5)"), &added("mul(x, 0.5)")));
    none_is_proven(
        "m: bool[3, 3], b: f32[3, 3], q: f32[1, 1, 3, 4], k: f32[1, 1, 3, 4], v: f32[1, 1, 3, 4]",
        &[(
            "sdpa(q, k, v, where(m, reciprocal(b), -inf); scale=0.5)",
            "sdpa(q, k, v, add(reciprocal(b), where(m, 0.0, -inf)); scale=0.5)",
        )],
    );
}

/// Rows were cut off what names places, though not off what they are taken from.
#[test]
fn places_of_other_rows_are_not_the_same() {
    none_is_proven(
        "x: f32[4, 5], i: i64[4, 3], c: f32[1]",
        &[(
            "where(gt(c, 50.0), slice(gather(x, i; dim=1); dim=0, start=1, end=3), 0.0)",
            "where(gt(c, 50.0), gather(x, slice(i; dim=0, start=1, end=3); dim=1), 0.0)",
        )],
    );
    assert!(is_proven(
        "x: f32[4, 5], i: i64[4, 3]",
        "slice(gather(x, i; dim=1); dim=0, start=1, end=3)",
        "gather(slice(x; dim=0, start=1, end=3), slice(i; dim=0, start=1, end=3); dim=1)",
    ));
}

/// A weight of e^-1000000000 is 0 in every float, and its logarithm is none.
#[test]
fn scores_that_a_number_hides_are_hidden_from_products_alone() {
    let (a, b) = ("where(m, x, -1e9)", "where(m, x, -inf)");
    let of = |f: &str, scores: &str| f.replace("scores", scores);
    for f in [
        "log_softmax(scores; dim=1)",
        "log(softmax(scores; dim=1))",
        "sum(mul(softmax(scores; dim=1), log_softmax(scores; dim=1)); dim=[1])",
        "cast(gt(softmax(scores; dim=1), 0.0); dtype=f32)",
    ] {
        none_is_proven("x: f32[2, 4], m: bool[2, 4]", &[(&of(f, a), &of(f, b))]);
    }
    let product = "matmul(softmax(scores; dim=1), v)";
    assert!(is_proven("x: f32[2, 4], m: bool[2, 4], v: f32[4, 3]", &of(product, a), &of(product, b)));
}

/// The logarithm of what is too small for a number is -inf, and the exponential of a large score is infinite.
#[test]
fn no_form_takes_logarithms_of_what_a_softmax_or_a_sum_of_exponentials_loses() {
    for (shape, result) in [
        ("1024, 8192", "add(softmax(x; dim=1), sub(x, logsumexp(x; dim=[1], keepdim=true)))"),
        ("1024, 8192", "add(softmax(x; dim=1), amax(log_softmax(x; dim=1); dim=[1], keepdim=true))"),
        ("4096, 8192", "exp(sub(amax(x; dim=[1]), logsumexp(x; dim=[1])))"),
    ] {
        let forms = text::print(&cheapest(&format!("x: f32[{shape}]"), result));
        assert!(!forms.contains("= log("), "{forms}");
    }
}

/// The places of equal values were taken for bounded by the values.
#[test]
fn places_of_zeros_in_order_are_not_all_the_first() {
    let rules = RuleSet::library().unwrap();
    let places =
        text::parse("a", "graph a(x: f32[4]) { v, r = sort(mul(x, 0.0); dim=0, stable=true) return r }").unwrap();
    let counted = graph("x: f32[4]", "arange(; end=4, dtype=i64)");
    let verdict = prove(&places, &counted, &rules, &Silent).unwrap().verdict;
    assert!(!matches!(verdict, Verdict::Different(_)), "{verdict:?}");
}
