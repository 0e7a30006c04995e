//! Figures of admission as the metrics show them: plain numbers of one moment, from whoever keeps the ledgers.

/// What admission holds and has waiting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdmissionGauges {
    /// Requests in the queue.
    pub queued_requests: u64,
    /// The most that it takes.
    pub max_queued_requests: u64,
    /// Each device's ledger.
    pub devices: Vec<DeviceAdmissionGauges>,
}

/// One device's ledger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceAdmissionGauges {
    /// The device.
    pub device_ordinal: usize,
    /// Bytes that queries share.
    pub capacity_bytes: u64,
    /// Bytes that are granted now.
    pub committed_bytes: u64,
    /// Attempts that are admitted now.
    pub active_attempts: u64,
    /// The most at once.
    pub max_active_attempts: u64,
    /// Whether it admits: neither quarantined nor faulted.
    pub open: bool,
}
