//! How a simulator is opened.

use graphreel::graph::driver::{DriverCaps, DriverFacts};
use graphreel::sync::thread;

use crate::fault::FaultPlan;

/// When enqueued work runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// At once, on a thread of its own: as a device does. Times are real.
    Prompt,
    /// In an order that the seed chooses among all legal ones, some of it at each `event_query`. Nothing runs at an
    /// enqueue. Times are virtual, and the same calls make the same run.
    Seeded(u64),
    /// Only when the probe says so. Times are virtual.
    Manual,
}

/// Options of one simulated device.
#[derive(Clone, Debug)]
pub struct SimOptions {
    /// When work runs.
    pub completion: Completion,
    /// Varies what memory holds before it is written, and legal orders where [`Completion::Seeded`] does not.
    pub seed: u64,
    /// Device memory in bytes; pinned host memory is bounded by the same number.
    pub memory_bytes: u64,
    /// Invocations of a subgroup.
    pub subgroup_size: u32,
    /// Threads that run the workgroups of a kernel.
    pub threads: usize,
    /// Steps of one invocation before its kernel counts as endless.
    pub steps_max: u64,
    /// Whether kernels are watched for races, divergence and indices out of range.
    pub sanitize: bool,
    /// Whether work on the same bytes that nothing orders is misuse. Costs time for each command.
    pub hazards: bool,
    /// Faults from the first call on.
    pub faults: FaultPlan,
    /// Lines of the trace that are kept, from the first; 0 for no trace.
    pub trace: usize,
    /// [`DriverCaps::shared_bytes_max`]. Beyond 48 KiB a kernel has to be allowed it.
    pub shared_bytes_max: u32,
    /// [`DriverCaps::graph_upload`].
    pub graph_upload: bool,
    /// [`DriverCaps::capture_tail`].
    pub capture_tail: bool,
    /// [`DriverCaps::free_waits_for_device`].
    pub free_waits_for_device: bool,
    /// [`DriverCaps::unload_waits_for_device`].
    pub unload_waits_for_device: bool,
    /// [`DriverCaps::updates_per_exec_max`].
    pub updates_per_exec_max: Option<u32>,
    /// [`DriverCaps::branches_max`].
    pub branches_max: usize,
    /// [`DriverCaps::relaxed_capture`].
    pub relaxed_capture: bool,
}

impl Default for SimOptions {
    fn default() -> Self {
        Self {
            completion: Completion::Prompt,
            seed: 0,
            memory_bytes: 1 << 30,
            subgroup_size: 32,
            threads: thread::available_parallelism().map_or(1, std::num::NonZero::get),
            steps_max: 1 << 27,
            sanitize: false,
            hazards: false,
            faults: FaultPlan::default(),
            trace: 0,
            shared_bytes_max: 48 << 10,
            graph_upload: true,
            capture_tail: true,
            free_waits_for_device: false,
            unload_waits_for_device: false,
            updates_per_exec_max: None,
            branches_max: usize::MAX,
            relaxed_capture: true,
        }
    }
}

impl SimOptions {
    /// A deterministic device with a trace, which looks for unordered work: what a test wants. One thread runs kernels, so
    /// that even those which race come out the same.
    pub fn seeded(seed: u64) -> Self {
        Self {
            completion: Completion::Seeded(seed),
            seed,
            trace: 100_000,
            hazards: true,
            threads: 1,
            ..Self::default()
        }
    }

    /// As [`SimOptions::seeded`], but what runs is what the probe says.
    pub fn manual() -> Self {
        Self { completion: Completion::Manual, trace: 100_000, hazards: true, threads: 1, ..Self::default() }
    }

    pub(crate) fn caps(&self) -> DriverCaps {
        DriverCaps {
            warp_width: self.subgroup_size,
            graph_upload: self.graph_upload,
            relaxed_capture: self.relaxed_capture,
            capture_tail: self.capture_tail,
            free_waits_for_device: self.free_waits_for_device,
            unload_waits_for_device: self.unload_waits_for_device,
            updates_per_exec_max: self.updates_per_exec_max,
            branches_max: self.branches_max,
            launch_items_max: u64::from(u32::MAX),
            groups_max: [65_535; 3],
            threads_max: [1024, 1024, 64],
            group_threads_max: 1024,
            shared_bytes_max: self.shared_bytes_max,
            event_resolution_ns: 1,
        }
    }

    pub(crate) fn facts(&self) -> DriverFacts {
        DriverFacts {
            name: "Graphreel simulator (CPU interpreter)".to_owned(),
            architecture: "sim".to_owned(),
            driver: env!("CARGO_PKG_VERSION").to_owned(),
            pci: None,
            uuid: None,
            memory_bytes: self.memory_bytes,
            integrated: false,
        }
    }
}
