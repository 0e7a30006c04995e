//! In the place of the sanitizer, in a build without the simulator.

use graphreel::ServerError;
use graphreel::device::Device;

use crate::failure::Failure;
use crate::finding::Finding;

/// There is none.
pub(crate) enum Sanitizer {}

impl Sanitizer {
    /// Refused, always.
    ///
    /// # Errors
    ///
    /// `Unsupported`.
    pub(crate) fn open() -> Result<(Device, Self), Failure> {
        let why = "this build has no simulator; build with the feature `sim`";
        Err(ServerError::unsupported("--sanitize", why).into())
    }

    /// Never called.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        match *self {}
    }
}
