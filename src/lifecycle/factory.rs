//! What a vendor supplies to the facade: who its devices are, and servers over them (B-203).

use std::fmt;

use crate::config::Config;
use crate::error::ServerError;
use crate::lifecycle::config::MemoryManagerOptions;
use crate::lifecycle::inventory::{BackendKind, GpuInventory};
use crate::lifecycle::telemetry::TelemetrySource;
use crate::server::Server;
use crate::sync::Arc;

/// Opens the devices of one vendor interface. The simulator's is the fake of all tests.
pub trait ServerFactory: Send + Sync + fmt::Debug {
    /// The vendor interface.
    fn kind(&self) -> BackendKind;

    /// What is known about its devices.
    fn inventory(&self) -> Arc<dyn GpuInventory>;

    /// Open the device of that ordinal, within the bounds of `config`.
    ///
    /// # Errors
    ///
    /// The driver's; nothing is left open then.
    fn open(&self, ordinal: usize, config: Config) -> Result<Box<dyn Server>, ServerError>;

    /// Whether the device can have such a memory manager. Opens nothing.
    ///
    /// # Errors
    ///
    /// Why it cannot.
    fn validate_memory_options(&self, ordinal: usize, options: &MemoryManagerOptions) -> Result<(), ServerError>;

    /// Who can be asked about the device while it runs; `None` where nobody can.
    fn telemetry(&self, ordinal: usize) -> Option<Arc<dyn TelemetrySource>>;
}
