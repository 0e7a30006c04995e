//! Host memory that a device copies from as it is: asked of the server, filled by anybody without the device's lock, and
//! given back in one call that writes it. It saves the copy that a plain host write makes of its bytes.

use std::any::Any;
use std::fmt;

use crate::error::{Result, ServerError};
use crate::memory::DeviceId;

/// Staging memory of one device. One that is dropped goes back unused.
pub trait Staging: Send {
    /// The device that made it.
    fn device(&self) -> DeviceId;

    /// Its bytes, as many as were asked for. They hold anything, and are for writing: where a device maps memory without a
    /// cache, reading them is slow. An empty slice where the device's loss took them.
    fn bytes_mut(&mut self) -> &mut [u8];

    /// Itself, for the server that made it.
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send>;
}

impl fmt::Debug for dyn Staging {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Staging").field("device", &self.device()).finish_non_exhaustive()
    }
}

/// The `S` that a server made itself, for use in its `write_staged`.
///
/// # Errors
///
/// [`ServerError::ForeignHandle`] for memory of another device.
pub fn own<S: Staging + 'static>(staged: Box<dyn Staging>, here: DeviceId) -> Result<Box<S>> {
    let of = staged.device();
    let foreign = || ServerError::ForeignHandle { what: "staging memory".into(), of: of.0, here: here.0 };
    if of != here {
        return Err(foreign());
    }
    staged.into_any().downcast().map_err(|_| foreign())
}
