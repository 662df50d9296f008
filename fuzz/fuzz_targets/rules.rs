//! Rule files, on top of the library's rules.
#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use magneton_ir::rules::{RuleFile, RuleSet};

static LIBRARY: LazyLock<Arc<RuleSet>> = LazyLock::new(|| RuleSet::library().expect("the library loads"));

fuzz_target!(|data: &str| {
    let _ = LIBRARY.with_sources(&[RuleFile::new("fuzz.rules", data)]);
});
