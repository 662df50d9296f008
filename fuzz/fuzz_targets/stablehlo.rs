//! StableHLO modules: what is read is a graph without cycles whose text form parses again.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use magneton_ir::frontend::stablehlo;
use magneton_ir::ir::text;

fuzz_target!(|data: &str| {
    if let Ok(graph) = stablehlo::read_text(Path::new("fuzz"), data) {
        assert!(graph.is_acyclic());
        text::parse("fuzz", &text::print(&graph)).expect("what is printed parses");
    }
});
