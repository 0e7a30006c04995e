//! What the library says on standard error: failures always, the rest where `GRAPHREEL_SWHSA_LOG` asks for it.

use crate::settings;

/// Say what went wrong. Never silent: a failure of the device must be seen in the output of a test.
#[expect(clippy::print_stderr, reason = "below a foreign runtime there is no other way to be heard")]
pub(crate) fn fail(text: &str) {
    eprintln!("software device: {text}");
}

/// Say what happens, where it is asked for.
#[expect(clippy::print_stderr, reason = "below a foreign runtime there is no other way to be heard")]
pub(crate) fn note(text: impl FnOnce() -> String) {
    if settings::get().log {
        eprintln!("software device: {}", text());
    }
}
