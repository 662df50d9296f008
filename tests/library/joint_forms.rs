//! Forms that `optimize` finds for several values together.

use magneton_ir::check::compare;
use magneton_ir::energy::{CostModel, Launch, Objective, graph_total};
use magneton_ir::ir::{Graph, text};
use magneton_ir::optimize::{Optimized, optimize};
use magneton_ir::progress::Silent;
use magneton_ir::prove::Context;
use magneton_ir::report::ReportedVerdict;
use magneton_ir::rules::{RuleSet, Tier};

fn graph(source: &str) -> Graph {
    text::parse("test.mir", source).unwrap_or_else(|e| panic!("{source}\n{:?}", miette::Report::new(e)))
}

fn costs() -> CostModel {
    CostModel::shipped().unwrap().launched(Launch::Graph)
}

fn found(graph: &Graph, costs: &CostModel) -> Optimized {
    let rules = RuleSet::library().unwrap();
    optimize(graph, &Context::under(&rules), Tier::Real, Objective::Energy, costs).unwrap()
}

fn price(graph: &Graph) -> f64 {
    graph_total(graph, &costs()).energy_mj.value
}

/// What is found costs as much as `lean`, what is claimed is what it costs, and it computes the same.
pub(crate) fn comes_to(wasteful: &str, lean: &str) {
    comes_to_at(wasteful, lean, &costs());
}

/// As `comes_to`, with other prices.
pub(crate) fn comes_to_at(wasteful: &str, lean: &str, costs: &CostModel) {
    let (wasteful, lean) = (graph(wasteful), graph(lean));
    let price = |graph: &Graph| graph_total(graph, costs).energy_mj.value;
    let found = found(&wasteful, costs);
    let (claimed, written) = (found.optimization.best_energy_mj.value.unwrap(), price(&found.rewritten));
    assert!((claimed / written - 1.0).abs() < 1e-9, "claimed {claimed}, written {written}");
    assert!(claimed <= 1.001 * price(&lean), "claimed {claimed}, lean {}", price(&lean));
    let rules = RuleSet::library().unwrap();
    let checked = compare(&wasteful, &found.rewritten, &rules, Tier::Real, costs, &Silent).unwrap();
    assert_eq!(checked.comparison.verdict, ReportedVerdict::Equivalent);
    let saved: f64 = found.optimization.cheaper.iter().map(|one| one.saves_mj).sum();
    assert!((saved / (price(&wasteful) - claimed) - 1.0).abs() < 1e-6, "forms save {saved}");
}

/// Two readers of the same product in two spellings.
#[test]
fn what_is_computed_twice_is_computed_once() {
    comes_to(
        "graph g(x: f32[2048, 1024], w: param f32[1024, 1024]) {
            a = gelu(linear(x, w))
            b = relu(matmul(x, permute(w; dims=[1, 0])))
            return a, b }",
        "graph g(x: f32[2048, 1024], w: param f32[1024, 1024]) { p = linear(x, w) a = gelu(p) b = relu(p) return a, b }",
    );
}

/// A value that is given out stays where it is while others are computed from it.
#[test]
fn a_result_may_be_made_of_another_one() {
    comes_to(
        "graph g(x: f32[8, 1024, 512]) {
            p = softmax(mul(x, 2.0); dim=1)
            q = add(softmax(mul(x, 2.0); dim=1), 1.0)
            return p, q }",
        "graph g(x: f32[8, 1024, 512]) { p = softmax(mul(x, 2.0); dim=1) q = add(p, 1.0) return p, q }",
    );
}

/// Both results of one operator are paid once.
#[test]
fn results_of_one_operator_belong_together() {
    comes_to(
        "graph g(x: f32[512, 4096]) {
            y, _p = topk(x; k=4, dim=1)
            q, i = topk(permute(permute(x; dims=[1, 0]); dims=[1, 0]); k=4, dim=1)
            return y, i }",
        "graph g(x: f32[512, 4096]) { y, i = topk(x; k=4, dim=1) return y, i }",
    );
}

/// The same operator on the same operands, with nothing else to change.
#[test]
fn what_is_computed_again_is_read_where_it_was_computed_first() {
    comes_to(
        "graph g(x: f32[4096, 4096]) { r = tanh(x) q = tanh(x) y = mul(r, sin(q)) return y }",
        "graph g(x: f32[4096, 4096]) { r = tanh(x) y = mul(r, sin(r)) return y }",
    );
}

/// Draws are no repetitions.
#[test]
fn what_is_drawn_again_is_drawn_again() {
    let drawn = graph(
        "graph g(x: f32[4096, 4096]) {
            a = dropout(x; p=0.5, train=true)
            b = dropout(x; p=0.5, train=true)
            y = mul(a, b)
            return y }",
    );
    assert!(found(&drawn, &costs()).optimization.cheaper.is_empty());
}

/// `split` was a wall to the search.
#[test]
fn parts_of_a_split_are_slices() {
    comes_to(
        "graph g(x: f32[2048, 2048]) {
            a, b, c, d = split(x; sizes=[512, 512, 512, 512], dim=1)
            y = exp(concat(a, b; dim=1))
            z = mul(concat(c, d; dim=1), 2.0)
            return y, z }",
        "graph g(x: f32[2048, 2048]) {
            y = exp(slice(x; dim=1, end=1024))
            z = mul(slice(x; dim=1, start=1024, end=2048), 2.0)
            return y, z }",
    );
}

/// No rule about one value leads to a product that computes two.
#[test]
fn products_of_one_factor_are_one_product() {
    comes_to(
        "graph g(w: param f32[4096, 4096], b: param f32[4096], x: f32[8, 4096], y: f32[8, 4096]) {
            p = linear(x, w, b)
            q = linear(y, w, b)
            return p, q }",
        "graph g(w: param f32[4096, 4096], b: param f32[4096], x: f32[8, 4096], y: f32[8, 4096]) {
            all = linear(concat(x, y), w, b)
            p, q = split(all; sizes=[8, 8])
            return p, q }",
    );
}

/// What is not kept is not computed, below operands of any rank and whatever the operator is.
#[test]
fn places_are_taken_before_they_are_computed() {
    comes_to(
        "graph g(x: f32[16, 1024, 2048], y: f32[1024, 2048]) {
            s = add(x, y)
            r = slice(s; dim=1, start=1023, end=1024)
            return r }",
        "graph g(x: f32[16, 1024, 2048], y: f32[1024, 2048]) {
            p = slice(x; dim=1, start=1023, end=1024)
            q = slice(y; dim=0, start=1023, end=1024)
            r = add(p, q)
            return r }",
    );
    comes_to(
        "graph g(w: f32[50000, 1024], s: f32[50000, 1], i: i64[8, 512]) { p = mul(w, s) r = index(p, i; dims=[0]) return r }",
        "graph g(w: f32[50000, 1024], s: f32[50000, 1], i: i64[8, 512]) {
            p = index(w, i; dims=[0])
            q = index(s, i; dims=[0])
            r = mul(p, q)
            return r }",
    );
}

/// Sums with multiples, products and quotients, and ways by a weight, each in one kernel.
#[test]
fn one_kernel_does_what_several_did() {
    let inputs = "p: f32[4096, 2048], g: f32[4096, 2048], m: f32[4096, 2048]";
    for (wasteful, lean) in [
        ("add(p, mul(g, 0.25))", "add_scaled(p, g; alpha=0.25)"),
        ("sub(p, mul(g, 0.1))", "add_scaled(p, g; alpha=-0.1)"),
        ("add(p, mul(g, m))", "addcmul(p, g, m)"),
        ("sub(p, mul(div(g, m), 0.1))", "addcdiv(p, g, m; value=-0.1)"),
        ("add(mul(p, 0.9), mul(g, 0.1))", "lerp(p, g, 0.1)"),
        ("add(mul(p, sub(1.0, m)), mul(g, m))", "lerp(p, g, m)"),
    ] {
        let whole = |result: &str| format!("graph g({inputs}) {{ y = {result} return y }}");
        comes_to(&whole(wasteful), &whole(lean));
    }
}

/// A kernel that computes several operators cost what one of them reads.
#[test]
fn a_kernel_costs_what_all_of_its_operators_read() {
    let of =
        |body: &str| price(&graph(&format!("graph g(x: f32[4096, 2048], y: f32[4096, 2048]) {{ {body} return z }}")));
    let one = of("z = neg(x)");
    let both = of("p = mul(y, 0.25) @ implicit\n s = add(x, p) @ implicit\n z = fused(s)");
    assert!(both > 1.3 * one && both < 2.0 * one, "{both} {one}");
    assert_eq!(of("p = sub(x, y) @ implicit\n z = mul(p, p)"), both);
}

/// One kernel in place of several smaller ones of its kind that do as much together.
#[test]
fn a_larger_kernel_costs_no_more_than_its_parts() {
    let inputs = "q: f32[8, 8, 512, 64], k: f32[8, 8, 512, 64], v: f32[8, 8, 512, 64]";
    let part = |of: &str| format!("sdpa(slice(q; dim=2, {of}), k, v; scale=0.125)");
    comes_to(
        &format!(
            "graph g({inputs}) {{ y = concat({}, {}; dim=2) return y }}",
            part("end=256"),
            part("start=256, end=512")
        ),
        &format!("graph g({inputs}) {{ y = sdpa(q, k, v; scale=0.125) return y }}"),
    );
}

/// The largest element of each row and its place are found by two kernels, mean and variance by two more.
#[test]
fn reductions_of_the_same_rows_are_one_kernel() {
    comes_to(
        "graph g(x: f32[4096, 8192]) { v = amax(x; dim=[1]) p = argmax(x; dim=1) return v, p }",
        "graph g(x: f32[4096, 8192]) { v, p = max(x; dim=1) return v, p }",
    );
    comes_to(
        "graph g(x: f32[4096, 8192]) { m = mean(x; dim=[1]) v = var(x; dim=[1]) return m, v }",
        "graph g(x: f32[4096, 8192]) { v, m = var_mean(x; dim=[1]) return m, v }",
    );
}

/// A mask that hides what follows is none.
#[test]
fn a_causal_mask_needs_no_reading() {
    let inputs = "q: f32[8, 8, 512, 64], k: f32[8, 8, 512, 64], v: f32[8, 8, 512, 64]";
    comes_to(
        &format!(
            "graph g({inputs}) {{
                m = tril(full(; shape=[512, 512], value=1, dtype=bool))
                y = sdpa(q, k, v, m; scale=0.125)
                return y }}"
        ),
        &format!("graph g({inputs}) {{ y = sdpa(q, k, v; causal=true, scale=0.125) return y }}"),
    );
}

/// Programs mask scores by adding the upper triangle of -inf, however many there are.
#[test]
fn an_additive_mask_of_a_million_elements_becomes_causal_attention() {
    let program = |rest: &str| {
        graph(&format!(
            "graph g(q: f32[4, 16, 1024, 64], k: f32[4, 16, 1024, 64], v: f32[4, 16, 1024, 64]) {{ {rest} return out }}"
        ))
    };
    let masked = program(
        "low = full(; shape=[1024, 1024], value=-inf, dtype=f32)
         mask = triu(low; diagonal=1)
         out = sdpa(q, k, v, mask; scale=0.125)",
    );
    let causal = program("out = sdpa(q, k, v; causal=true, scale=0.125)");
    let rules = RuleSet::library().unwrap();
    let found = optimize(&masked, &Context::under(&rules), Tier::Rounding, Objective::Energy, &costs()).unwrap();
    let calls: Vec<String> = found.optimization.cheaper.iter().map(|one| one.call.clone()).collect();
    assert!(calls.iter().any(|call| call.contains("causal=true")), "{calls:?}");
    assert!(price(&found.rewritten) < 1.001 * price(&causal));
}
