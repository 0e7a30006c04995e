//! Admission as it is at one moment, for diagnostics and gauges (B-118).

use crate::lifecycle::admission::ledger::DeviceClosure;

/// All of admission, taken under one lock: its numbers belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AdmissionSnapshot {
    /// The devices, by ordinal.
    pub devices: Vec<DeviceAdmissionSnapshot>,
    /// How many wait in each class as it was asked for: high, normal, low.
    pub queued_by_class: [usize; 3],
    /// How many wait.
    pub queued: usize,
    /// The most that may wait.
    pub max_queued_requests: usize,
    /// What has happened so far.
    pub counters: AdmissionCounters,
}

/// One device's ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceAdmissionSnapshot {
    /// The device.
    pub ordinal: usize,
    /// What it may grant, in bytes.
    pub capacity_bytes: u64,
    /// What it has granted, in bytes.
    pub committed_bytes: u64,
    /// The attempts that hold a grant.
    pub active: usize,
    /// The most of them.
    pub max_active: usize,
    /// Source slots that grants hold.
    pub source_slots_in_use: usize,
    /// All of them.
    pub source_slots: usize,
    /// How many wait that this device could serve. One that several could serve counts for each.
    pub queued: usize,
    /// Why it admits nothing, if so.
    pub closure: Option<DeviceClosure>,
}

impl DeviceAdmissionSnapshot {
    /// Whether it was taken out of service or has faulted.
    pub fn is_closed(&self) -> bool {
        self.closure.is_some()
    }
}

/// Counts since the backend was built. At every moment `submitted = refused_at_once + declined + placed_at_once +
/// queued_total`, and what was queued is granted, expired, cancelled, refused in the queue, or still waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AdmissionCounters {
    /// Requests.
    pub submitted: u64,
    /// Refused without waiting.
    pub refused_at_once: u64,
    /// Tries that found no room and did not wait.
    pub declined: u64,
    /// Granted without waiting.
    pub placed_at_once: u64,
    /// Requests that had to wait.
    pub queued_total: u64,
    /// All grants, at once or after a wait.
    pub granted: u64,
    /// Whose deadline came while they waited.
    pub expired: u64,
    /// Withdrawn while they waited.
    pub cancelled: u64,
    /// Refused while they waited, because their last device closed or admission ended.
    pub refused_in_queue: u64,
    /// Grants that were given back.
    pub released: u64,
    /// The most times that one waiter was passed.
    pub overtakes_max: u64,
}
