//! The checker's locks and atomics under the names of the core's `sync`.

use std::time::Duration;

pub use loom::sync::atomic;
pub use loom::thread;
pub use std::sync::{Arc, OnceLock, Weak};

/// A lock as the core's: its guard is always granted.
#[derive(Debug, Default)]
pub struct Mutex<T>(loom::sync::Mutex<T>);

/// The guard of a [`Mutex`].
pub type MutexGuard<'a, T> = loom::sync::MutexGuard<'a, T>;

impl<T> Mutex<T> {
    /// A lock around `value`.
    pub fn new(value: T) -> Self {
        Self(loom::sync::Mutex::new(value))
    }

    /// Wait for the lock and take it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Take the lock if it is free now.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock().ok()
    }
}

/// A condition variable as the core's.
#[derive(Debug, Default)]
pub struct Condvar(loom::sync::Condvar);

impl Condvar {
    /// A condition variable that nobody waits on.
    pub fn new() -> Self {
        Self(loom::sync::Condvar::new())
    }

    /// Release the guard, wait to be notified, take the lock again.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// As [`Condvar::wait`]: time does not pass in a model, so the timeout never ends it.
    pub fn wait_timeout<'a, T>(&self, guard: MutexGuard<'a, T>, _timeout: Duration) -> MutexGuard<'a, T> {
        self.wait(guard)
    }

    /// Wake every waiter.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }

    /// Wake one waiter.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }
}

/// A lock as the core's `PoisonMutex`.
#[derive(Debug, Default)]
pub struct PoisonMutex<T>(loom::sync::Mutex<T>);

/// A holder of the [`PoisonMutex`] panicked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Poisoned;

impl<T> PoisonMutex<T> {
    /// A lock around `value`.
    pub fn new(value: T) -> Self {
        Self(loom::sync::Mutex::new(value))
    }

    /// Wait for the lock and take it, unless a holder panicked.
    ///
    /// # Errors
    ///
    /// [`Poisoned`], from the first panic of a holder on.
    pub fn lock(&self) -> Result<MutexGuard<'_, T>, Poisoned> {
        self.0.lock().map_err(|_| Poisoned)
    }

    /// Wait for the lock and take it, whatever happened to earlier holders.
    pub fn lock_recovered(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
