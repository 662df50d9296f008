//! How long `check` takes on the exported pairs: proving, pricing and looking for cheaper forms, without reading the files.
#![allow(clippy::unwrap_used, reason = "whoever runs it sees the panic")]

use criterion::{Criterion, criterion_group, criterion_main};
use magneton_ir::check::compare;
use magneton_ir::energy::CostModel;
use magneton_ir::frontend::load;
use magneton_ir::ir::Graph;
use magneton_ir::progress::Silent;
use magneton_ir::rules::{RuleSet, Tier};

fn export(name: &str) -> Graph {
    load(format!("{}/corpus/exports/{name}.pt2", env!("CARGO_MANIFEST_DIR"))).expect("an export of the corpus")
}

fn check(c: &mut Criterion) {
    let rules = RuleSet::library().expect("the library's rules");
    let costs = CostModel::shipped().expect("the shipped profile");
    let mut group = c.benchmark_group("check");
    group.sample_size(10);
    for model in ["qwen2-4l", "gpt2", "llama3-8b", "llama3-405b"] {
        let (a, b) = (export(&format!("{model}-eager")), export(&format!("{model}-sdpa")));
        group.bench_function(model, |bencher| {
            bencher.iter(|| compare(&a, &b, &rules, Tier::Rounding, &costs, &Silent).expect("a comparison"));
        });
    }
    group.finish();
}

fn read(c: &mut Criterion) {
    c.bench_function("read llama3-8b", |bencher| bencher.iter(|| export("llama3-8b-eager")));
}

criterion_group!(benches, check, read);
criterion_main!(benches);
