//! ONNX models, past what tells the format.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use magneton_ir::frontend::{LoadOptions, onnx};

fuzz_target!(|data: &[u8]| {
    let options = LoadOptions { sizes: vec![("batch".to_owned(), 2)], ..LoadOptions::default() };
    let _ = onnx::read(Path::new("fuzz"), data.to_vec(), &options);
});
