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

fn found(graph: &Graph) -> Optimized {
    let rules = RuleSet::library().unwrap();
    optimize(graph, &Context::under(&rules), Tier::Real, Objective::Energy, &costs()).unwrap()
}

fn price(graph: &Graph) -> f64 {
    graph_total(graph, &costs()).energy_mj.value
}

/// What is found costs as much as `lean`, what is claimed is what it costs, and it computes the same.
fn comes_to(wasteful: &str, lean: &str) {
    let (wasteful, lean) = (graph(wasteful), graph(lean));
    let found = found(&wasteful);
    let (claimed, written) = (found.optimization.best_energy_mj.value.unwrap(), price(&found.rewritten));
    assert!((claimed / written - 1.0).abs() < 1e-9, "claimed {claimed}, written {written}");
    assert!(claimed <= 1.001 * price(&lean), "claimed {claimed}, lean {}", price(&lean));
    let rules = RuleSet::library().unwrap();
    let checked = compare(&wasteful, &found.rewritten, &rules, Tier::Real, &costs(), &Silent).unwrap();
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
