//! Whether a device is still there, known without its lock.

use crate::clock::Signal;
use crate::error::ServerError;
use crate::memory::DeviceId;
use crate::sync::{Arc, OnceLock};

/// Set once, when the device is lost; every wait and call looks here first.
#[derive(Debug)]
pub struct Monitor {
    device: DeviceId,
    reason: OnceLock<Arc<str>>,
    lost: Signal,
}

impl Monitor {
    /// The monitor of a device that is there.
    pub fn new(device: DeviceId) -> Self {
        Self { device, reason: OnceLock::new(), lost: Signal::new() }
    }

    /// Note the loss; whether this is the first note of it. The first reason stays.
    pub fn lose(&self, reason: &str) -> bool {
        let first = self.reason.set(reason.into()).is_ok();
        if first {
            tracing::error!(device = self.device.0, reason, "device lost");
        }
        self.lost.set();
        first
    }

    /// The error that every call answers from now on; `None` while the device is there.
    pub fn lost(&self) -> Option<ServerError> {
        self.reason.get().map(|reason| ServerError::DeviceLost { device: self.device.0, reason: reason.clone() })
    }

    /// `Ok` while the device is there.
    ///
    /// # Errors
    ///
    /// [`ServerError::DeviceLost`].
    pub fn check(&self) -> Result<(), ServerError> {
        self.lost().map_or(Ok(()), Err)
    }

    /// Set when the device is lost.
    pub fn signal(&self) -> &Signal {
        &self.lost
    }
}
