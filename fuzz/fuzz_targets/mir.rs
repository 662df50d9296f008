//! The text form of the IR: what parses must print and parse again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use magneton_ir::ir::text;

fuzz_target!(|data: &str| {
    if let Ok(graph) = text::parse("fuzz", data) {
        let printed = text::print(&graph);
        text::parse("printed", &printed).expect("printed text parses");
    }
});
