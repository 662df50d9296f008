//! Work whose panics are errors. A panic is a mistake in this program, and what was found beside it is not to be lost.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// What `work` gives, or the message with which it panicked.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    // Nothing that `work` may have left half-done is used afterwards but what says so of itself, such as a poisoned lock.
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
        text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::guarded;

    #[test]
    fn a_panic_is_an_error_with_its_message() {
        assert_eq!(guarded(|| 1), Ok(1));
        assert_eq!(guarded::<u8>(|| panic!("it was there")), Err("it was there".to_owned()));
    }
}
