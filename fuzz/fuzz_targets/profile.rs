//! Profiles: what is read is written and read back the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use magneton_ir::energy::Profile;

fuzz_target!(|data: &str| {
    if let Ok(profile) = Profile::parse("fuzz", data) {
        for key in profile.entries.keys() {
            assert_eq!(&key.to_string().parse::<magneton_ir::energy::KernelKey>().expect("a key reads back"), key);
        }
    }
});
