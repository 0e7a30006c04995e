//! Whether a device is still there, known without its lock.

use crate::clock::Signal;
use crate::error::ServerError;
use crate::memory::DeviceId;
use crate::process;
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

    /// `Ok` while the device is there and the process goes on: every wait and every call without the device's lock looks
    /// here before it enters the driver, and between the slices of a wait.
    ///
    /// # Errors
    ///
    /// [`ServerError::DeviceLost`]; [`ServerError::Closed`] once the process is ending.
    pub fn check(&self) -> Result<(), ServerError> {
        if let Some(why) = process::ending_reason() {
            return Err(ServerError::closed(format!("device {}", self.device.0), why));
        }
        self.lost().map_or(Ok(()), Err)
    }

    /// Set when the device is lost.
    pub fn signal(&self) -> &Signal {
        &self.lost
    }
}
