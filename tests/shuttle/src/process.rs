//! A process that does not end, in place of the core's `process`.

use crate::sync::{Arc, Weak};

/// Whether the exit of this process has begun: never, in a model.
pub fn is_ending() -> bool {
    false
}

/// Something that stands still once the process exits.
pub trait AtExit: Send + Sync {
    /// Let nothing begin from here on. True once nothing runs.
    fn stand_still(&self) -> bool;
}

/// A hook that is kept alive with what it stops.
pub fn weak_hook<T: AtExit + 'static>(hook: &Arc<T>) -> Weak<dyn AtExit> {
    let weak: Weak<T> = Arc::downgrade(hook);
    weak
}
