//! A caller's code between our steps: its panic is logged and ends there, so that the steps after it still happen.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Run `call`; false when it panicked.
pub(crate) fn isolate(what: &str, call: impl FnOnce()) -> bool {
    let Err(payload) = catch_unwind(AssertUnwindSafe(call)) else { return true };
    tracing::error!(what, panic = panic_text(&*payload), "a panic of a caller's code was contained");
    // A payload is the caller's too, and its destructor may panic again: that one is leaked.
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(again);
    }
    false
}

fn panic_text(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("not a text")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct PanicsAgain;

    impl Drop for PanicsAgain {
        fn drop(&mut self) {
            panic!("the payload panics too");
        }
    }

    /// XB-17.
    #[test]
    fn a_panic_ends_here_and_so_does_one_of_its_payload() {
        assert!(isolate("fine", || {}));
        assert!(!isolate("text", || panic!("broken")));
        assert!(!isolate("payload", || std::panic::panic_any(PanicsAgain)));
    }
}
