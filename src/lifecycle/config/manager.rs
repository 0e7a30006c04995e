//! What a device's memory manager is installed with.

use crate::error::{Result, ServerError};

/// Options of one device's memory manager (B-176).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryManagerOptions {
    /// The most bytes the manager may take from the device; `None` for no cap of its own.
    pub allocation_limit_bytes: Option<usize>,
}

impl MemoryManagerOptions {
    /// Options with that cap.
    pub const fn new(allocation_limit_bytes: Option<usize>) -> Self {
        Self { allocation_limit_bytes }
    }

    /// Check what holds on every vendor's device.
    ///
    /// # Errors
    ///
    /// [`ServerError::InvalidSize`] for a cap of zero.
    pub fn validate(&self) -> Result<()> {
        if self.allocation_limit_bytes == Some(0) {
            let problem = "a memory manager needs a cap above zero, or none";
            return Err(ServerError::InvalidSize { bytes: 0, problem: problem.into() });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B-176.
    #[test]
    fn a_cap_of_zero_is_refused() {
        MemoryManagerOptions::default().validate().unwrap();
        MemoryManagerOptions::new(Some(1)).validate().unwrap();
        assert!(matches!(MemoryManagerOptions::new(Some(0)).validate(), Err(ServerError::InvalidSize { .. })));
    }
}
