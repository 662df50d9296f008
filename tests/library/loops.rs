//! Loops that programs run through step by step, which `optimize` rolls up and `check` proves.

use magneton_ir::energy::{CostModel, Launch, Objective};
use magneton_ir::ir::text;
use magneton_ir::optimize::optimize;
use magneton_ir::progress::Silent;
use magneton_ir::prove::{Context, Verdict, prove};
use magneton_ir::rules::{RuleSet, Tier};

use crate::joint_forms::{comes_to, comes_to_at};

/// `step`, in which `#` stands for the number of the step and `#1` for the next one, for each of `steps` steps.
fn unrolled(steps: usize, step: &str) -> String {
    (0..steps).map(|n| step.replace("#1", &(n + 1).to_string()).replace('#', &n.to_string())).collect()
}

fn names(steps: usize, name: &str) -> String {
    (0..steps).map(|n| format!("{name}{n}")).collect::<Vec<_>>().join(", ")
}

#[test]
fn stacked_products_are_one_product_of_batches() {
    let step = "a# = squeeze(slice(x; dim=0, start=#, end=#1); dim=0)
        b# = squeeze(slice(y; dim=0, start=#, end=#1); dim=0)
        p# = unsqueeze(matmul(a#, b#); dim=0)\n";
    let inputs = "x: f32[16, 512, 256], y: f32[16, 256, 256]";
    comes_to(
        &format!("graph g({inputs}) {{ {} z = concat({}; dim=0) return z }}", unrolled(16, step), names(16, "p")),
        &format!("graph g({inputs}) {{ z = matmul(x, y) return z }}"),
    );
}

/// The steps lie along a dimension in the middle, and each takes several operators.
#[test]
fn a_head_for_each_time_is_one_head() {
    let step = "a# = squeeze(slice(x; dim=1, start=#, end=#1); dim=1)
        p# = unsqueeze(softmax(linear(a#, w, c); dim=1); dim=1)\n";
    let inputs = "x: f32[512, 12, 512], w: f32[128, 512], c: f32[128]";
    comes_to(
        &format!("graph g({inputs}) {{ {} z = concat({}; dim=1) return z }}", unrolled(12, step), names(12, "p")),
        &format!("graph g({inputs}) {{ z = softmax(linear(x, w, c); dim=2) return z }}"),
    );
}

/// Products of products, whose elements take too much to write down: each operator is proven by itself.
#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn attention_head_by_head_is_attention() {
    let step = "q# = squeeze(slice(q; dim=1, start=#, end=#1); dim=1)
        k# = squeeze(slice(k; dim=1, start=#, end=#1); dim=1)
        v# = squeeze(slice(v; dim=1, start=#, end=#1); dim=1)
        p# = matmul(softmax(div(matmul(q#, permute(k#; dims=[0, 2, 1])), 8.0); dim=2), v#)\n";
    let inputs = "q: f32[4, 8, 256, 64], k: f32[4, 8, 256, 64], v: f32[4, 8, 256, 64]";
    comes_to(
        &format!("graph g({inputs}) {{ {} z = concat({}; dim=2) return z }}", unrolled(8, step), names(8, "p")),
        &format!(
            "graph g({inputs}) {{
                p = matmul(softmax(div(matmul(q, permute(k; dims=[0, 1, 3, 2])), 8.0); dim=3), v)
                z = reshape(permute(p; dims=[0, 2, 1, 3]); shape=[4, 256, 512])
                return z }}"
        ),
    );
}

/// A layer with a weight for each step.
#[test]
fn experts_one_by_one_are_a_product_of_batches() {
    let step = "a# = squeeze(slice(x; dim=0, start=#, end=#1); dim=0)
        w# = squeeze(slice(w; dim=0, start=#, end=#1); dim=0)
        p# = linear(a#, w#)\n";
    let inputs = "x: f32[8, 512, 256], w: f32[8, 128, 256]";
    comes_to(
        &format!("graph g({inputs}) {{ {} z = concat({}; dim=0) return z }}", unrolled(8, step), names(8, "p")),
        &format!(
            "graph g({inputs}) {{ p = matmul(x, permute(w; dims=[0, 2, 1])) z = reshape(p; shape=[4096, 128]) return z }}"
        ),
    );
}

/// Steps that are added up, one after the other.
#[test]
fn a_chain_of_sums_is_one_sum() {
    let launched = CostModel::shipped().unwrap().launched(Launch::Eager);
    let links: String = (1..16)
        .map(|n| {
            format!("a{n} = squeeze(slice(x; dim=0, start={n}, end={}); dim=0) t{n} = add(t{}, a{n})\n", n + 1, n - 1)
        })
        .collect();
    comes_to_at(
        &format!(
            "graph g(x: f32[16, 1024, 1024]) {{ t0 = squeeze(slice(x; dim=0, end=1); dim=0)
            {links} return t15 }}"
        ),
        "graph g(x: f32[16, 1024, 1024]) { y = sum(x; dim=[0]) return y }",
        &launched,
    );
}

/// Steps in another order are not what the same operators give over the whole tensor.
#[test]
fn steps_in_another_order_are_no_loop() {
    let step = "a# = squeeze(slice(x; dim=0, start=#, end=#1); dim=0) p# = unsqueeze(matmul(a#, w); dim=0)\n";
    let inputs = "x: f32[3, 64, 32], w: f32[32, 16]";
    let verdict = |joined: &str| {
        let [a, b] = [
            format!("graph g({inputs}) {{ {} z = concat({joined}; dim=0) return z }}", unrolled(3, step)),
            format!("graph g({inputs}) {{ z = matmul(x, w) return z }}"),
        ]
        .map(|source| text::parse("test.mir", &source).unwrap());
        prove(&a, &b, &RuleSet::library().unwrap(), &Silent).unwrap().verdict
    };
    assert!(matches!(verdict("p0, p1, p2"), Verdict::Equivalent { .. }));
    assert!(matches!(verdict("p1, p0, p2"), Verdict::Different(_)));
}

/// Where both operands of a sum are one value, a chain of 70 sums has 2⁷⁰ summands.
#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn sums_that_double_are_bounded() {
    let links: String = (1..70).map(|n| format!("t{n} = add(t{0}, t{0})\n", n - 1)).collect();
    let source = format!("graph g(x: f32[64]) {{ t0 = exp(x)\n {links} return t69 }}");
    let graph = text::parse("test.mir", &source).unwrap();
    let (rules, costs) = (RuleSet::library().unwrap(), CostModel::shipped().unwrap());
    let found = optimize(&graph, &Context::under(&rules), Tier::Rounding, Objective::Energy, &costs).unwrap();
    assert!(found.optimization.energy_mj.value.is_some());
}
