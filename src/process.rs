//! Whether this process is on its way out: from then on nothing calls a driver, and nothing waits without a bound.

use crate::sync::atomic::{AtomicBool, Ordering};

static ENDING: AtomicBool = AtomicBool::new(false);

/// Whether the exit of this process has begun.
pub(crate) fn is_ending() -> bool {
    ENDING.load(Ordering::Acquire)
}
