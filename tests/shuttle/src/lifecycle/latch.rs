//! What a job of a model waits on until another thread lets it go.

use crate::sync::{Condvar, Mutex};

/// Shut, then open for good.
#[derive(Debug, Default)]
pub struct Latch {
    open: Mutex<bool>,
    changed: Condvar,
}

impl Latch {
    /// Let go whoever waits.
    pub fn open(&self) {
        *self.open.lock() = true;
        self.changed.notify_all();
    }

    /// Wait until it is open.
    pub fn wait(&self) {
        let mut open = self.open.lock();
        while !*open {
            open = self.changed.wait(open);
        }
    }
}
