//! Forms that no rule names: `optimize` tries what short expressions over a part's inputs come to.

use magneton_ir::energy::{CostModel, Launch, Objective};
use magneton_ir::ir::text;
use magneton_ir::optimize::optimize;
use magneton_ir::prove::Context;
use magneton_ir::rules::{RuleSet, Tier};

/// The first suggestion for a graph with these inputs and lines.
fn suggestion(inputs: &str, lines: &str) -> Option<String> {
    let (rules, costs) = (RuleSet::library().unwrap(), CostModel::shipped().unwrap().launched(Launch::Graph));
    let source = format!("graph g({inputs}) {{\n {lines}\n return y\n}}");
    let graph = text::parse("test", &source).unwrap_or_else(|e| panic!("{source}: {e:?}"));
    let found = optimize(&graph, &Context::under(&rules), Tier::Real, Objective::Energy, &costs).unwrap();
    Some(found.optimization.cheaper.first()?.to.clone())
}

#[track_caller]
fn expect(inputs: &str, lines: &str, form: &str) {
    let found = suggestion(inputs, lines);
    assert_eq!(found.as_deref(), Some(form), "{lines}");
}

#[test]
fn a_function_written_out_is_recognised() {
    // Both were measured to take the same.
    let relu = suggestion("x: f32[8192, 8192]", "c = gt(x, 0.0)\n f = cast(c; dtype=f32)\n y = mul(x, f)");
    assert!(relu.as_deref().is_some_and(|form| ["relu(x)", "maximum(x, 0.0)"].contains(&form)), "{relu:?}");
    expect(
        "x: bf16[16384, 8192]",
        "a, b = split(x; sizes=[4096, 4096], dim=1)\n y = mul(a, sigmoid(b))",
        "glu(x; dim=1)",
    );
    expect("x: f32[8192, 8192]", "y = add(add(mul(x, 0.5), 1.0), sub(mul(x, 0.5), 1.0))", "x");
}

#[test]
fn products_and_sums_go_through_what_is_broadcast() {
    let outer = "a = unsqueeze(x; dim=2)\n b = unsqueeze(z; dim=1)\n y = sum(mul(a, b); dim=[0])";
    expect("x: f32[512, 1024], z: f32[512, 1024]", outer, "matmul(permute(x; dims=[1, 0]), z)");
    let mean = "u = unsqueeze(x; dim=1)\n v = unsqueeze(z; dim=0)\n y = mean(add(u, v); dim=[1])";
    expect("x: f32[8192, 1024], z: f32[64, 1024]", mean, "add(x, mean(z; dim=[0], keepdim=true))");
}

#[test]
fn sums_of_several_factors_are_sums_of_two_inside_of_one_another() {
    let form = |inputs: &str, body: &str| suggestion(inputs, body).unwrap_or_default();
    let three = "y = sum(mul(mul(unsqueeze(u; dim=2), unsqueeze(v; dim=1)), w); dim=[1, 2])";
    let bilinear = form("u: f32[4096, 256], v: f32[4096, 256], w: f32[256, 256]", three);
    assert!(bilinear.contains("matmul(") || bilinear.contains("linear("), "{bilinear}");
    // What only one factor has is added up before.
    let alone = "y = sum(mul(mul(unsqueeze(u; dim=3), unsqueeze(v; dim=2)), unsqueeze(w; dim=3)); dim=[3])";
    let alone = form("u: f32[8, 512, 1024], v: f32[8, 512, 16], w: f32[8, 512, 1024]", alone);
    assert!(alone.starts_with("mul(mul(u, sum("), "{alone}");
    // Factors that share a dimension with all others are multiplied place by place.
    let shared = "y = sum(mul(mul(unsqueeze(u; dim=2), w), unsqueeze(v; dim=2)); dim=[1])";
    let shared = form("u: f32[4096, 256], v: f32[4096, 256], w: f32[256, 256]", shared);
    assert!(shared.contains("matmul(mul(") || shared.contains("linear(mul("), "{shared}");
}

/// Samples agree where the two are the same on those inputs alone; a form is a guess until it is proven.
#[test]
fn what_is_not_equal_everywhere_is_not_suggested() {
    assert_eq!(suggestion("x: f32[8192, 8192]", "y = relu(add(x, 0.000001))"), None);
    let clipped = suggestion("x: f32[8192, 8192]", "y = minimum(maximum(x, -100.0), 100.0)");
    assert!(clipped.is_none_or(|form| form != "x"));
}
