//! Where a device's work is asked for: its server, which the memory manager opened and the stream pool divided.

use crate::device::Device;
use crate::lifecycle::error::{QueryResult, native_error, operation};
use crate::lifecycle::memory::DeviceMemoryManager;

/// The context of one device: created after its memory manager and its stream pool, and dropped after the runtimes over it
/// have stopped (B-175).
#[derive(Clone, Debug)]
pub struct DeviceContext {
    device: Device,
    device_ordinal: usize,
}

impl DeviceContext {
    /// The context over the server of `manager`.
    ///
    /// # Errors
    ///
    /// The device's loss.
    pub fn create(manager: &DeviceMemoryManager) -> QueryResult<Self> {
        let (device, device_ordinal) = (manager.device().clone(), manager.device_ordinal());
        match device.lost() {
            None => Ok(Self { device, device_ordinal }),
            Some(error) => {
                let context = format!("device {device_ordinal}: its context could not be made");
                Err(native_error(operation::BUILD, &context, &error).with_fact("device_ordinal", device_ordinal))
            }
        }
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Its ordinal.
    pub fn device_ordinal(&self) -> usize {
        self.device_ordinal
    }
}
