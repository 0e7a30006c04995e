//! What the pools hold, for people and for limits.

/// Bytes of one device's pools.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct MemoryUsage {
    /// Bytes taken from the device: pages, whole.
    pub reserved_bytes: u64,
    /// Bytes of slices that handles, recordings or graphs hold.
    pub in_use_bytes: u64,
    /// Bytes of slices that graphs hold; a part of `in_use_bytes`.
    pub pinned_bytes: u64,
    /// Bytes of slices that a priming window keeps for its recording.
    pub primed_bytes: u64,
    /// Pages.
    pub pages: u64,
    /// Slices in use.
    pub slices: u64,
    /// The limit on `reserved_bytes`.
    pub limit_bytes: Option<u64>,
    /// Bytes by account: name and bytes charged.
    pub accounts: Vec<(String, u64)>,
    /// Grows whenever a page is released: a graph that saw the same value need not look at its pages.
    pub epoch: u64,
}

/// What a trim did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct TrimReport {
    /// Bytes given back to the device.
    pub released_bytes: u64,
    /// Bytes in free slices of pages that something still uses, or that graphs pin.
    pub withheld_bytes: u64,
}
