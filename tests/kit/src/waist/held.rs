//! A handle that is given back to its driver when the test is done with it.

use std::ops::{Deref, DerefMut};

use graphreel::graph::{Driver, DriverResult};

use super::Rig;

/// A handle of a driver. It is destroyed once nothing runs any more; after a failed test it is left alone.
pub struct Held<'r, D: Driver, T> {
    rig: &'r Rig<D>,
    value: Option<T>,
    destroy: fn(&Rig<D>, T) -> DriverResult,
}

impl<'r, D: Driver, T> Held<'r, D, T> {
    pub(super) fn new(rig: &'r Rig<D>, value: T, destroy: fn(&Rig<D>, T) -> DriverResult) -> Self {
        Self { rig, value: Some(value), destroy }
    }

    /// Destroy it now, whatever still runs: for handles of which the vendors allow it.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    pub fn destroy_at_once(mut self) -> DriverResult {
        match self.value.take() {
            Some(value) => (self.destroy)(self.rig, value),
            None => Ok(()),
        }
    }
}

impl<D: Driver, T> Deref for Held<'_, D, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().expect("a handle is taken out only when it is dropped")
    }
}

impl<D: Driver, T> DerefMut for Held<'_, D, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().expect("a handle is taken out only when it is dropped")
    }
}

impl<D: Driver, T> Drop for Held<'_, D, T> {
    fn drop(&mut self) {
        let Some(value) = self.value.take() else { return };
        if graphreel::sync::thread::panicking() {
            std::mem::forget(value);
            return;
        }
        self.rig.drain();
        let destroyed = (self.destroy)(self.rig, value);
        destroyed.unwrap_or_else(|error| panic!("a handle could not be given back: {error}"));
    }
}
