//! The only door to `std::sync` and threads in this crate, so that a model checker can stand in for them.
//!
//! Locks here do not poison: a panic in a caller's closure must not turn every later call into a second panic, and each
//! guarded value is kept consistent by its own code (state moves before the work it brackets). [`PoisonMutex`] is for the
//! two values of which a cut-off step has to be known.

use std::sync::PoisonError;
use std::time::Duration;

pub use std::sync::atomic;
pub use std::sync::{Arc, OnceLock, Weak};
pub use std::thread;

/// A mutual-exclusion lock whose guard is always granted.
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized>(std::sync::Mutex<T>);

/// The guard of a [`Mutex`].
pub type MutexGuard<'a, T> = std::sync::MutexGuard<'a, T>;

impl<T> Mutex<T> {
    /// A lock around `value`.
    pub const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    /// The value, of a lock that nobody else can reach.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value, when nothing else can hold the lock.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Wait for the lock and take it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Take the lock if it is free now.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(std::sync::TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(std::sync::TryLockError::WouldBlock) => None,
        }
    }
}

/// A condition variable for [`Mutex`].
#[derive(Debug, Default)]
pub struct Condvar(std::sync::Condvar);

impl Condvar {
    /// A condition variable that nobody waits on.
    pub const fn new() -> Self {
        Self(std::sync::Condvar::new())
    }

    /// Release the guard, wait to be notified, take the lock again. May wake without cause.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`Condvar::wait`], for at most `timeout`.
    pub fn wait_timeout<'a, T>(&self, guard: MutexGuard<'a, T>, timeout: Duration) -> MutexGuard<'a, T> {
        self.0.wait_timeout(guard, timeout).unwrap_or_else(PoisonError::into_inner).0
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

/// A lock that remembers a panic of its holder, for values whose next step depends on the one that was cut off.
#[derive(Debug, Default)]
pub struct PoisonMutex<T>(std::sync::Mutex<T>);

/// A holder of the [`PoisonMutex`] panicked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Poisoned;

impl<T> PoisonMutex<T> {
    /// A lock around `value`.
    pub const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    /// Wait for the lock and take it.
    ///
    /// # Errors
    ///
    /// [`Poisoned`], from the first panic of a holder on.
    pub fn lock(&self) -> Result<MutexGuard<'_, T>, Poisoned> {
        self.0.lock().map_err(|_| Poisoned)
    }

    /// Wait for the lock and take it, whatever happened to earlier holders: for a cleanup, which has to go on.
    pub fn lock_recovered(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
