//! What a device is opened with: every bound on queues, pools and waits, by name.

use std::time::Duration;

use crate::clock::Clock;
use crate::error::{Result, ServerError};
use crate::recording::Tier;

/// Bounds and choices of one device. `Config::default()` suits a program that shares the device with others.
#[derive(Clone, Debug)]
pub struct Config {
    /// Shared slots, on which logical streams fold: 1 to 65,536, to which other numbers are brought.
    pub max_streams: usize,
    /// Exclusive slots, made on demand for captures and attempts.
    pub max_exclusive_streams: usize,
    /// The most bytes that pools may take from the device; `None` for what the device has.
    pub memory_limit: Option<u64>,
    /// Bytes of a pool page that small allocations share. For backends with shared pages: on wgpu every allocation has a
    /// buffer of its own, and this has no effect.
    pub page_bytes: u64,
    /// Allocations above this many bytes get a page of their own. No effect on wgpu, where all do.
    pub slice_bytes_max: u64,
    /// Eager operations that may wait in a batch before it is submitted (wgpu).
    pub batch_operations_max: usize,
    /// Nodes of a replay in one submission, so that encoding overlaps execution (wgpu). `None`: as many as serve the device
    /// best; one submission on a software device, where encoding and execution share the processor.
    pub submit_nodes: Option<usize>,
    /// Submissions that may be in flight before a call waits for the oldest (wgpu).
    pub submits_in_flight_max: usize,
    /// The longest that a deferred wait lasts before it answers `Timeout`.
    pub deferred_wait_max: Duration,
    /// The longest that `read` and `sync` wait when they are given no deadline.
    pub wait_max: Duration,
    /// Threads that block on behalf of futures.
    pub waiter_threads_max: usize,
    /// Tiers that captures may use; `GRAPHREEL_TIERS` narrows it further.
    pub tiers: Vec<Tier>,
    /// The source of time for every wait.
    pub clock: Clock,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_streams: 16,
            max_exclusive_streams: 16,
            memory_limit: None,
            page_bytes: 4 << 20,
            slice_bytes_max: 64 << 10,
            batch_operations_max: 64,
            submit_nodes: None,
            submits_in_flight_max: 64,
            deferred_wait_max: Duration::from_secs(30),
            wait_max: Duration::from_secs(600),
            waiter_threads_max: 8,
            tiers: Tier::ALL.to_vec(),
            clock: Clock::system(),
        }
    }
}

impl Config {
    /// The tiers allowed by this configuration and by `GRAPHREEL_TIERS` (names separated by commas).
    ///
    /// # Errors
    ///
    /// [`ServerError::Unsupported`] when the variable names an unknown tier.
    pub fn allowed_tiers(&self) -> Result<Vec<Tier>> {
        let text = std::env::var("GRAPHREEL_TIERS").unwrap_or_default();
        if text.trim().is_empty() {
            return Ok(self.tiers.clone());
        }
        let mut wanted = Vec::new();
        for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            wanted.push(Tier::from_name(name).ok_or_else(|| {
                ServerError::unsupported(
                    format!("tier `{name}` in GRAPHREEL_TIERS"),
                    "the tiers are captured, built, native, re-encoded and eager",
                )
            })?);
        }
        Ok(self.tiers.iter().copied().filter(|tier| wanted.contains(tier)).collect())
    }
}
