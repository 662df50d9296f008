//! Proof files: nothing in one may crash the replay, and none proves a wrong pair.
#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use magneton_ir::ir::text;
use magneton_ir::prove::{BoundPair, Certificate, bind_graphs};
use magneton_ir::rules::RuleSet;

const A: &str = "graph a(x: f32[2, 3], w: param f32[3, 4], b: param f32[4]) { y = addmm(b, x, w) return y }";
const B: &str = "graph b(x: f32[2, 3], w: param f32[3, 4], b: param f32[4]) { y = sub(matmul(x, w), b) return y }";

static WRONG: LazyLock<(BoundPair, Arc<RuleSet>)> = LazyLock::new(|| {
    let [a, b] = [A, B].map(|text| text::parse("side", text).expect("the sides parse"));
    (bind_graphs(a, b, None), RuleSet::library().expect("the library loads"))
});

fuzz_target!(|data: &str| {
    let (bound, rules) = &*WRONG;
    if let Ok(mut proof) = Certificate::from_json(data) {
        // Otherwise hardly any input would get past the first check.
        proof.rules = format!("{:016x}", rules.fingerprint());
        assert!(!proof.verify(bound, rules).is_ok_and(|shown| shown.holds()));
    }
});
