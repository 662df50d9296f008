//! Whole files of every format, told apart by content.
#![no_main]

use std::io::Cursor;
use std::path::Path;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = magneton_ir::frontend::load_from(Path::new("fuzz"), Cursor::new(data.to_vec()));
});
