//! Binding files: what parses gives inputs of one graph as values of their types over the other.
#![no_main]

use libfuzzer_sys::fuzz_target;
use magneton_ir::ir::text;

const A: &str = "graph a(x: f32[2, 3], q: param f32[2, 3], k: param f32[4, 3]) { return x }";
const B: &str = "graph b(y: f32[2, 3], qk: param f32[6, 3], k: param f32[3, 4]) { return y }";

fuzz_target!(|data: &str| {
    let [a, b] = [A, B].map(|text| text::parse("side", text).expect("the sides parse"));
    if let Ok(sides) = text::parse_equalities("fuzz", data, &a, &b) {
        for (stated, graph) in sides.iter().zip([&a, &b]) {
            for output in stated.outputs() {
                let input = graph.inputs().iter().find(|&&id| graph.node(id).name == output.name);
                let input = graph.node(*input.expect("an input of that name"));
                assert_eq!(stated.ty(output.value), &input.types[0]);
            }
        }
    }
});
