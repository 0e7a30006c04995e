//! The boundaries of a construction: where a test may look, fail or panic (B-61, B-63).

use std::fmt;

use crate::lifecycle::error::QueryResult;

/// A boundary in the construction of a backend, in the order in which it is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GpuBackendConstructionCheckpoint {
    /// The claim is held; no thread cleans up yet.
    BeforeCleanupWorker,
    /// The coordinator owns the cleanup.
    AfterCleanupWorker,
    /// Nothing is known of the device.
    BeforeDeviceDiscovery {
        /// The device.
        device_ordinal: usize,
    },
    /// Its facts are known and its capacity is resolved.
    AfterDeviceDiscovery {
        /// The device.
        device_ordinal: usize,
    },
    /// Its memory manager comes next.
    BeforeMemoryManager {
        /// The device.
        device_ordinal: usize,
    },
    /// Its memory manager is installed and journaled.
    AfterMemoryManager {
        /// The device.
        device_ordinal: usize,
    },
    /// Its streams come next.
    BeforeStreamPool {
        /// The device.
        device_ordinal: usize,
    },
    /// Its streams are leased and journaled.
    AfterStreamPool {
        /// The device.
        device_ordinal: usize,
    },
    /// Its context comes next.
    BeforeDeviceContext {
        /// The device.
        device_ordinal: usize,
    },
    /// Its context is made and journaled.
    AfterDeviceContext {
        /// The device.
        device_ordinal: usize,
    },
    /// Its workers come next.
    BeforeWorkerPool {
        /// The device.
        device_ordinal: usize,
    },
    /// Its workers run and are journaled.
    AfterWorkerPool {
        /// The device.
        device_ordinal: usize,
    },
    /// Everything is installed and cross-checked.
    BeforeStartupRecords,
    /// The records are published.
    AfterStartupRecords,
    /// The first handle exists.
    Published,
}

/// Told of each boundary. An error fails the construction there.
pub trait GpuBackendConstructionProbe: fmt::Debug + Send + Sync {
    /// The construction has come to `checkpoint`. No lock is held.
    ///
    /// # Errors
    ///
    /// The failure that is injected at this boundary.
    fn checkpoint(&self, checkpoint: GpuBackendConstructionCheckpoint) -> QueryResult;
}

/// The probe of production: it lets everything pass.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoopConstructionProbe;

impl GpuBackendConstructionProbe for NoopConstructionProbe {
    fn checkpoint(&self, _checkpoint: GpuBackendConstructionCheckpoint) -> QueryResult {
        Ok(())
    }
}
