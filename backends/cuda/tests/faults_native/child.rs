//! Children: how they are started, watched, and seen to end by themselves.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use graphreel_cuda::{absence, devices};
use graphreel_testkit::announce;

use crate::kernels::Fault;

/// The variable with a child's case.
pub(crate) const CASE: &str = "GRAPHREEL_FAULT_CASE";

/// What a child ends with that came to its end.
const THROUGH: i32 = 19;

/// A child ends by itself within this, once its end has come.
const PROMPT: Duration = Duration::from_secs(5);

/// Opening a device, compiling, and all that the case asks of it may take this long.
const WHOLE: Duration = Duration::from_secs(40);

/// Whether there is a device; where not it is said, and fails where one is required.
pub(crate) fn present(test: &str) -> bool {
    if devices().is_ok() {
        return true;
    }
    let required = std::env::var("GRAPHREEL_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|name| name.trim() == "cuda"), "GRAPHREEL_REQUIRE names cuda: {}", absence());
    announce(&format!("{test}: skipped, {}", absence()));
    false
}

/// Run a case in a child, which says on standard error how it goes, and see it end by itself with its own status.
pub(crate) fn ends(form: &str, fault: Fault) {
    let case = format!("{form}/{}", fault.name());
    if !present(&case) {
        return;
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "child_entry", "--nocapture", "--test-threads=1"]);
    let mut child = child.env(CASE, &case).stdout(Stdio::null()).spawn().unwrap();
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if started.elapsed() > WHOLE + 2 * PROMPT {
            child.kill().unwrap();
            panic!("{case}: it does not end by itself");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(status.code(), Some(THROUGH), "{case}: it ended with {status} after {:?}", started.elapsed());
}

/// Abort the process where a call of the case hangs, with the case's name.
pub(crate) fn watch(case: &str) {
    let case = case.to_owned();
    std::thread::spawn(move || {
        std::thread::sleep(WHOLE);
        announce(&format!("{case}: something hangs: it is not at its end after {WHOLE:?}"));
        std::process::abort();
    });
}

/// The end of a child. A watchdog sees that the process is gone within [`PROMPT`].
pub(crate) fn leave(case: &str) -> ! {
    announce(&format!("{case}: all is told, and the end comes"));
    let case = case.to_owned();
    std::thread::spawn(move || {
        std::thread::sleep(PROMPT);
        announce(&format!("{case}: the exit takes longer than {PROMPT:?}"));
        std::process::abort();
    });
    std::process::exit(THROUGH)
}
