//! What the library costs: loading it, which every run does first, and searching one window with all of it.
#![allow(clippy::unwrap_used, reason = "whoever runs it sees the panic")]

use criterion::{Criterion, criterion_group, criterion_main};
use magneton_ir::ir::{Graph, text};
use magneton_ir::progress::Silent;
use magneton_ir::prove::prove;
use magneton_ir::rules::check::{Effort, check_from};
use magneton_ir::rules::{RuleFile, RuleSet};

fn graph(source: &str) -> Graph {
    text::parse("bench.mir", source).expect("a graph")
}

fn load(c: &mut Criterion) {
    c.bench_function("load the library", |bencher| {
        bencher.iter_with_large_drop(|| RuleSet::read(&[]).expect("the library's rules"));
    });
}

/// One window each: a pair that needs several steps, one that needs many forms of one product, and one that no rule
/// proves, so that the whole budget is spent.
fn window(c: &mut Criterion) {
    let rules = RuleSet::library().expect("the library's rules");
    let pairs = [
        (
            "rms_norm",
            "graph a(x: f32[2, 7, 64]) { p = pow(x; exponent=2.0)\n m = mean(p; dim=[-1], keepdim=true)\n e = add(m, 1e-6)\n
             r = rsqrt(e)\n y = mul(x, r)\n return y }",
            "graph b(x: f32[2, 7, 64]) { y = rms_norm(x; normalized_shape=[64], eps=1e-6)\n return y }",
        ),
        (
            "gelu",
            "graph a(x: f32[4, 96]) { a = mul(x, 0.5)\n p = pow(x; exponent=3.0)\n q = mul(p, 0.044715)\n r = add(x, q)\n
             s = mul(r, 0.7978845608028654)\n t = tanh(s)\n u = add(t, 1.0)\n y = mul(a, u)\n return y }",
            "graph b(x: f32[4, 96]) { y = gelu(x; approximate=\"tanh\")\n return y }",
        ),
        (
            "unproven",
            "graph a(x: f32[8, 32], w: f32[32, 32]) { h = matmul(x, w)\n s = softmax(h; dim=-1)\n y = mul(h, tanh(s))\n
             return y }",
            "graph b(x: f32[8, 32], w: f32[32, 32]) { h = matmul(x, w)\n s = log_softmax(h; dim=-1)\n y = mul(h, tanh(s))\n
             return y }",
        ),
    ];
    let mut group = c.benchmark_group("window");
    for (name, a, b) in pairs {
        let (a, b) = (graph(a), graph(b));
        group.bench_function(name, |bencher| bencher.iter(|| prove(&a, &b, &rules, &Silent).expect("a proof or none")));
    }
    group.finish();
}

/// The gate that a user's file has to pass.
fn gate(c: &mut Criterion) {
    let text = "/// The weight of a normalisation can be multiplied in last.\nrule weight_last [real]:\n    \
                rms_norm(x, w; normalized_shape=n, eps=e) => mul(rms_norm(x; normalized_shape=n, eps=e), w)\n";
    let set = RuleSet::default().with_sources(&[RuleFile::new("bench.rules", text)]).expect("a rule");
    c.bench_function("try one rule out", |bencher| {
        bencher.iter(|| check_from(&set, 0, Effort::default()).expect("a rule that holds"));
    });
}

criterion_group!(benches, load, window, gate);
criterion_main!(benches);
