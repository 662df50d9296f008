//! The JSON of an exported program, without the archive around it.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = magneton_ir::frontend::pt2::read_json(Path::new("fuzz"), data);
});
