//! A lease in place of the core's, which lives in a process-wide static: a model asks whether it was freed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Frees its claim when it is dropped.
#[derive(Debug)]
pub struct LiveBackendLease(Arc<AtomicBool>);

impl LiveBackendLease {
    /// A claim, and whether it is free again.
    pub fn claim() -> (Self, Arc<AtomicBool>) {
        let freed = Arc::new(AtomicBool::new(false));
        (Self(freed.clone()), freed)
    }
}

impl Drop for LiveBackendLease {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
