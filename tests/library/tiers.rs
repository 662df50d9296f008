//! What tiers promise: casts to types of small range, masks that stand for -inf, and errors of approximate steps.

use magneton_ir::check::compare;
use magneton_ir::energy::{CostModel, Objective};
use magneton_ir::ir::{Graph, text};
use magneton_ir::optimize::optimize;
use magneton_ir::progress::Silent;
use magneton_ir::prove::{Context, bind_graphs, prove_bound};
use magneton_ir::report::{Comparison, Report, ReportedVerdict};
use magneton_ir::rules::{RuleFile, RuleSet, Tier};

fn graph(inputs: &str, body: &str) -> Graph {
    let source = format!("graph g({inputs}) {{\n{body}\n}}\n");
    text::parse("pair.mir", &source).unwrap_or_else(|e| panic!("{source}\n{:?}", miette::Report::new(e)))
}

fn with_rules(extra: &str) -> RuleSet {
    let library = RuleSet::library().unwrap();
    if extra.is_empty() {
        (*library).clone()
    } else {
        library.with_sources(&[RuleFile::new("own.rules", extra)]).unwrap()
    }
}

fn compared(a: &Graph, b: &Graph, rules: &RuleSet, tier: Tier) -> Comparison {
    compare(a, b, rules, tier, &CostModel::shipped().unwrap(), &Silent).unwrap().comparison
}

/// Compares at the tier `rounding`; gives the tier that was found, if any, and what was assumed beyond the binding.
fn found(inputs: &str, a: &str, b: &str) -> (Option<String>, Vec<String>) {
    let found = compared(&graph(inputs, a), &graph(inputs, b), &with_rules(""), Tier::Rounding);
    let of_rules = found.assumptions.iter().filter(|a| !a.contains("same tensor")).cloned().collect();
    (found.tier, of_rules)
}

fn is_only_rounding(inputs: &str, a: &str, b: &str, assumed: &[&str]) {
    let rounding = Some("rounding".to_owned());
    assert_eq!(found(inputs, a, b), (rounding, assumed.iter().map(|&a| a.to_owned()).collect()), "{a}\n{b}");
    let [a, b] = [a, b].map(|body| graph(inputs, body));
    assert_eq!(compared(&a, &b, &with_rules(""), Tier::Real).verdict, ReportedVerdict::Unknown);
}

fn holds_without_assumptions(inputs: &str, a: &str, b: &str, tier: &str) {
    assert_eq!(found(inputs, a, b), (Some(tier.to_owned()), Vec::new()), "{a}\n{b}");
}

const ONE: &str = "x: f32[4, 8]";
const HALF: &str = "x: f16[4, 8]";

#[test]
fn a_kernel_that_fuses_operators_is_not_bit_for_bit_these() {
    let inputs = "x: f32[4, 8], y: f32[4, 8]";
    let steps = "p = mul(y, 0.3)\ns = add(x, p)\n";
    let fused = format!("{steps}f = fused(s)\nr = permute(f; dims=[1, 0])\nreturn r");
    let apart = format!("{steps}r = permute(s; dims=[1, 0])\nreturn r");
    holds_without_assumptions(inputs, &fused, &apart, "real");
    let [one, other] = [&fused, &apart].map(|body| graph(inputs, body));
    assert_eq!(compared(&one, &other, &with_rules(""), Tier::Exact).verdict, ReportedVerdict::Unknown);
    // Moved by rules, it stays what it is.
    let moved = "q = permute(mul(y, 0.3); dims=[1, 0])\nt = permute(permute(q; dims=[1, 0]); dims=[1, 0])\n\
                 f = fused(add(x, permute(t; dims=[1, 0])))\nr = permute(f; dims=[1, 0])\nreturn r";
    let moved = graph(inputs, moved);
    assert_eq!(compared(&one, &moved, &with_rules(""), Tier::Exact).verdict, ReportedVerdict::Equivalent);
}

#[test]
fn a_cast_to_f8_that_is_moved_is_not_real() {
    for t in ["f8e4m3", "f8e5m2"] {
        let before = format!("c = cast(x; dtype={t})\nw = cast(c; dtype=f32)\ny = relu(w)\nreturn y");
        let after = format!("r = relu(x)\nc = cast(r; dtype={t})\ny = cast(c; dtype=f32)\nreturn y");
        let within = |side| format!("`c` of {side} stays within the range of {t}");
        is_only_rounding(ONE, &before, &after, &[&within("A"), &within("B")]);
    }
}

#[test]
fn the_largest_element_of_what_is_cast_to_a_narrow_type_is_in_range() {
    for (inputs, t) in [(ONE, "f8e4m3"), (ONE, "f16"), ("x: i64[4, 8]", "f16"), ("x: f64[4, 8]", "f32")] {
        for f in ["amax", "amin"] {
            let before = format!("c = cast(x; dtype={t})\ny = {f}(c; dim=[1])\nreturn y");
            let after = format!("m = {f}(x; dim=[1])\ny = cast(m; dtype={t})\nreturn y");
            is_only_rounding(inputs, &before, &after, &[&format!("`c` of A stays within the range of {t}")]);
        }
    }
}

#[test]
fn a_cast_to_a_type_of_the_same_range_needs_no_assumption() {
    let before = "c = cast(x; dtype=bf16)\ny = relu(c)\nreturn y";
    holds_without_assumptions(ONE, before, "r = relu(x)\ny = cast(r; dtype=bf16)\nreturn y", "real");
    let wide = "c = cast(x; dtype=f32)\ns = softmax(c; dim=1)\ny = cast(s; dtype=f16)\nreturn y";
    holds_without_assumptions(HALF, wide, "y = softmax(x; dim=1)\nreturn y", "rounding");
}

#[test]
fn what_is_equal_bit_for_bit_stays_exact_in_every_type() {
    for t in ["f8e4m3", "f16"] {
        let before = format!("c = cast(x; dtype={t})\ny = permute(c; dims=[1, 0])\nreturn y");
        let after = format!("p = permute(x; dims=[1, 0])\ny = cast(p; dtype={t})\nreturn y");
        holds_without_assumptions(ONE, &before, &after, "exact");
    }
}

#[test]
fn a_norm_that_is_written_out_in_f16_overflows_where_the_fused_one_does_not() {
    let written = |square: &str| {
        format!(
            "s = {square}\nm = mean(s; dim=[-1], keepdim=true)\ne = add(m, 1e-6)\nr = rsqrt(e)\ny = mul(x, r)\nreturn y"
        )
    };
    let wide = "a = cast(x; dtype=f32)\ns = pow(a; exponent=2.0)\nm = mean(s; dim=[-1], keepdim=true)\n\
                e = add(m, 1e-6)\nr = rsqrt(e)\nn = mul(a, r)\ny = cast(n; dtype=f16)\nreturn y";
    let fused = "y = rms_norm(x; normalized_shape=[8], eps=1e-6)\nreturn y";
    let within = ["r", "s"].map(|v| format!("`{v}` of B stays within the range of f16"));
    let within: Vec<&str> = within.iter().map(String::as_str).collect();
    for a in [wide, fused] {
        for square in ["pow(x; exponent=2.0)", "mul(x, x)"] {
            is_only_rounding(HALF, a, &written(square), &within);
        }
    }
    holds_without_assumptions(HALF, wide, fused, "rounding");
}

#[test]
fn a_sum_in_f16_may_leave_its_range_where_the_mean_does_not() {
    let sum = "s = sum(x; dim=[1])\ny = div(s, 8.0)\nreturn y";
    is_only_rounding(HALF, "y = mean(x; dim=[1])\nreturn y", sum, &["`s` of B stays within the range of f16"]);
    holds_without_assumptions(ONE, "y = mean(x; dim=[1])\nreturn y", sum, "real");
}

/// Attention with a mask of `low` where `m` does not hold.
fn masked(dtype: &str, low: &str) -> String {
    format!(
        "t = permute(k; dims=[0, 1, 3, 2])\ns = matmul(q, t)\nz = full(; shape=[], value=0.0, dtype={dtype})\n\
         l = full(; shape=[], value={low}, dtype={dtype})\nw = where(m, z, l)\na = add(s, w)\np = softmax(a; dim=-1)\n\
         y = matmul(p, v)\nreturn y"
    )
}

#[test]
fn a_finite_mask_value_is_taken_for_minus_infinity_only_while_scores_are_far_from_it() {
    for (dtype, low, wanted) in [
        ("f16", "-65504.0", true),
        ("bf16", "-3.3895313892515355e38", true),
        ("f32", "-3.4028234663852886e38", true),
        ("f32", "-inf", false),
    ] {
        let size = "[1, 1, 16, 4]";
        let inputs = format!("q: {dtype}{size}, k: {dtype}{size}, v: {dtype}{size}, m: bool[16, 16]");
        let fused = "y = sdpa(q, k, v, m; scale=1.0)\nreturn y";
        let (tier, assumed) = found(&inputs, &masked(dtype, low), fused);
        assert_eq!(tier.as_deref(), Some("rounding"));
        let says = |a: &&String| a.starts_with("the mask `m` of A hides by") && a.contains("range");
        assert_eq!(assumed.iter().find(says).is_some(), wanted, "{dtype} {low}: {assumed:?}");

        let causal = format!("o = full(; shape=[16, 16], value=1.0, dtype=bool)\nm = tril(o)\n{}", masked(dtype, low));
        let inputs = inputs.replace(", m: bool[16, 16]", "");
        let (tier, assumed) = found(&inputs, &causal, "y = sdpa(q, k, v; causal=true, scale=1.0)\nreturn y");
        assert_eq!(tier.as_deref(), Some("rounding"));
        let says = |a: &&String| a.contains(" of A hides by") && a.contains("range");
        assert_eq!(assumed.iter().find(says).is_some(), wanted, "{dtype} {low}: {assumed:?}");
    }
    for (dtype, low) in [("f32", "-1e9"), ("f32", "-10000.0"), ("f16", "-10000.0")] {
        let inputs =
            format!("q: {dtype}[1, 1, 16, 4], k: {dtype}[1, 1, 16, 4], v: {dtype}[1, 1, 16, 4], m: bool[16, 16]");
        let (tier, assumed) = found(&inputs, &masked(dtype, low), "y = sdpa(q, k, v, m; scale=1.0)\nreturn y");
        assert_eq!(tier.as_deref(), Some("rounding"), "{dtype} {low}");
        // A quarter of it leaves the others out of reach, whatever they are.
        let quarter = low.parse::<f64>().unwrap() / 4.0;
        for limit in [format!("above {quarter:?}"), format!("below {:?}", -quarter)] {
            assert!(assumed.iter().any(|a| a.contains(&limit)), "{dtype} {low}: {assumed:?}");
        }
    }
}

#[test]
fn assumptions_name_values_of_the_graphs() {
    let size = "f32[2, 4, 8, 16]";
    let inputs = format!("q: {size}, k: {size}, v: {size}, one: f32[2, 1, 8, 8], two: f32[2, 1, 8, 8], m: {size}");
    let layer = |q: &str, mask: &str, out: &str| {
        format!(
            "{out}s = matmul({q}, kt)\n{out}t = mul({out}s, 0.25)\n{out}a = add({out}t, {mask})\n\
             {out}p = softmax({out}a; dim=-1)\n{out} = matmul({out}p, v)\n"
        )
    };
    let a = format!(
        "kt = permute(k; dims=[0, 1, 3, 2])\nq1 = mul(q, m)\n{}{}return u",
        layer("q1", "one", "o"),
        layer("o", "two", "u")
    );
    let b = "q1 = mul(q, m)\no = sdpa(q1, k, v, one; scale=0.25)\nu = sdpa(o, k, v, two; scale=0.25)\nreturn u";
    let (_, assumed) = found(&inputs, &a, b);
    let says = ["one", "two"].map(|m| format!("the mask `{m}` of A is above -inf somewhere in every row"));
    assert_eq!(assumed, says);
}

#[test]
fn an_assumption_that_never_holds_is_not_made() {
    let rules = with_rules("/// Doc.\nrule no_change [real]:\n    relu(x) => x\n    assume is_above(x, 0)\n");
    let negative = "e = exp(x)\ny = neg(e)\n";
    let (a, b) = (graph(ONE, &format!("{negative}z = relu(y)\nreturn z")), graph(ONE, &format!("{negative}return y")));
    assert_eq!(compared(&a, &b, &rules, Tier::Rounding).tier, None);
    let costs = CostModel::shipped().unwrap();
    let found = optimize(&a, &Context::under(&rules), Tier::Rounding, Objective::Energy, &costs).unwrap().optimization;
    assert_eq!(found.assumptions, Vec::<String>::new());
    // Where it may hold, it is about the value of the graph that the rule was applied to.
    let positive = "p = mul(x, x)\n";
    let (a, b) = (format!("{positive}z = relu(p)\ny = neg(z)\nreturn y"), format!("{positive}y = neg(p)\nreturn y"));
    let found = compared(&graph(ONE, &a), &graph(ONE, &b), &rules, Tier::Rounding);
    assert!(found.assumptions.contains(&"every element of `p` of A is above 0".to_owned()), "{:?}", found.assumptions);
}

/// Compares a graph with itself, B in TF32.
fn in_tf32(inputs: &str, body: &str, tier: Tier) -> Comparison {
    let a = graph(inputs, body);
    let mut b = a.clone();
    b.config.allow_tf32 = true;
    compared(&a, &b, &with_rules(""), tier)
}

const THOUSANDTH: Tier = Tier::Approx(ordered_float::OrderedFloat(0.001));

#[test]
fn an_error_of_steps_is_none_of_the_outputs() {
    let inputs = "x: f32[8, 8], w: f32[8, 8], c: f32[8, 8]";
    for body in [
        "y1 = matmul(x, w)\ny2 = matmul(y1, w)\nreturn y2",
        "q = matmul(x, w)\nd = sub(q, c)\nreturn d",
        "q = matmul(x, w)\nr = exp(q)\nreturn q, r",
    ] {
        assert_eq!(in_tf32(inputs, body, THOUSANDTH).verdict, ReportedVerdict::Unknown, "{body}");
        let found = in_tf32(inputs, body, Tier::ANY_ERROR);
        assert_eq!((found.tier.as_deref(), found.output_error), (Some("approx(0.0009765625)"), None), "{body}");
        let text = found.markdown();
        assert!(text.contains("an error of each step, not of the outputs"), "{text}");
    }
}

#[test]
fn an_error_reaches_an_output_through_what_moves_elements() {
    let inputs = "x: f32[8, 8], w: f32[8, 8], b: f32[8]";
    for body in [
        "y = matmul(x, w)\nreturn y",
        "q = linear(x, w, b)\np = matmul(x, w)\nc = concat(q, p; dim=1)\ny = slice(c; dim=1, start=3, end=9)\nreturn y",
    ] {
        let found = in_tf32(inputs, body, THOUSANDTH);
        assert_eq!(found.output_error, Some(1.0 / 1024.0), "{body}");
        assert_eq!(in_tf32(inputs, body, Tier::Approx(1e-4.into())).verdict, ReportedVerdict::Unknown);
    }
}

#[test]
fn an_error_of_a_rule_is_none_of_what_is_computed_from_its_result() {
    let rules = with_rules("/// Doc.\nrule scale_up [approx(0.01)]:\n    relu(x) => relu(mul(x, 1.005))\n");
    let percent = Tier::Approx(0.01.into());
    for (a, b, reaches) in [
        ("r = relu(x)\nreturn r", "m = mul(x, 1.005)\nr = relu(m)\nreturn r", true),
        (
            "r = relu(x)\ny = permute(r; dims=[1, 0])\nreturn y",
            "m = mul(x, 1.005)\nr = relu(m)\ny = permute(r; dims=[1, 0])\nreturn y",
            true,
        ),
        ("r = relu(x)\ny = sub(r, 1.0)\nreturn y", "m = mul(x, 1.005)\nr = relu(m)\ny = sub(r, 1.0)\nreturn y", false),
        (
            "r = relu(x)\ne = exp(r)\ns = relu(e)\nreturn s",
            "m = mul(x, 1.005)\nr = relu(m)\ne = exp(r)\nn = mul(e, 1.005)\ns = relu(n)\nreturn s",
            false,
        ),
    ] {
        let [a, b] = [a, b].map(|body| graph(ONE, body));
        let found = compared(&a, &b, &rules, percent);
        assert_eq!(found.verdict == ReportedVerdict::Equivalent, reaches);
        let found = compared(&a, &b, &rules, Tier::ANY_ERROR);
        assert_eq!((found.verdict, found.output_error), (ReportedVerdict::Equivalent, reaches.then_some(0.01)));
    }
}

#[test]
fn a_proof_file_shows_the_same_assumptions() {
    let written =
        "s = mul(x, x)\nm = mean(s; dim=[-1], keepdim=true)\ne = add(m, 1e-6)\nr = rsqrt(e)\ny = mul(x, r)\nreturn y";
    let (a, b) = (graph(HALF, written), graph(HALF, "y = rms_norm(x; normalized_shape=[8], eps=1e-6)\nreturn y"));
    let rules = with_rules("");
    let bound = bind_graphs(a, b, None);
    let proof = prove_bound(&bound, &Context::under(&rules)).unwrap();
    let shown = proof.certificate(&bound.a, &bound.b, &rules).verify(&bound, &rules).unwrap();
    assert_eq!(shown.tier, Some(Tier::Rounding));
    assert_eq!(shown.assumptions, [&bound.binding.assumptions[..], &proof.assumed].concat());
    assert!(proof.assumed.iter().any(|a| a.contains("range of f16")));
}

/// A function of six numbers in StableHLO.
fn stablehlo(body: &str) -> Graph {
    let text = format!("module {{\nfunc.func public @main(%x: tensor<6xf32>) -> tensor<6xf32> {{\n{body}\n}}\n}}");
    magneton_ir::frontend::stablehlo::read_text("model.mlir".as_ref(), &text).unwrap()
}

fn sorted_where(comparator: &str) -> Graph {
    stablehlo(&format!(
        "%0 = \"stablehlo.sort\"(%x) <{{dimension = 0 : i64, is_stable = true}}> ({{
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        {comparator}
        stablehlo.return %c : tensor<i1>
        }}) : (tensor<6xf32>) -> tensor<6xf32>
        return %0 : tensor<6xf32>"
    ))
}

/// Where NaN is neither below nor above, elements do not come in the order that the IR knows.
#[test]
fn a_sort_without_a_place_for_nan_is_one_of_numbers_only() {
    let plain = sorted_where("%c = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>");
    let sorted = graph("x: f32[6]", "s, p = sort(x; dim=0, stable=true)\nreturn s");
    let tier = |a: &Graph, b: &Graph| compared(a, b, &with_rules(""), Tier::Rounding).tier;
    assert_eq!(tier(&plain, &sorted), Some("real".to_owned()));
    assert_eq!(tier(&plain, &plain), Some("exact".to_owned()));
}

/// XLA makes zeros of what would be subnormal.
#[test]
fn a_narrow_precision_is_no_cast_there_and_back() {
    let narrowed = stablehlo(
        "%0 = stablehlo.reduce_precision %x, format = e5m10 : tensor<6xf32>
        return %0 : tensor<6xf32>",
    );
    let cast = graph("x: f32[6]", "y = cast(x; dtype=f16)\nz = cast(y; dtype=f32)\nreturn z");
    let found = compared(&narrowed, &cast, &with_rules(""), Tier::Rounding);
    assert_ne!(found.verdict, ReportedVerdict::Equivalent);
}
