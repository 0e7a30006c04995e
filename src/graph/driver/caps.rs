//! How one vendor, driver version and device differ from another, as data. A difference is a field here, never an `if`
//! on a vendor's name above the waist.

/// What a driver and its device can do, asked once when they are opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverCaps {
    /// Threads that run in lockstep: 32 on NVIDIA and RDNA, 64 on CDNA and GCN.
    pub warp_width: u32,
    /// Whether `graph_upload` exists. HIP has it from 5.7 on.
    pub graph_upload: bool,
    /// Whether captures can be opened in relaxed mode. A driver without it cannot be served.
    pub relaxed_capture: bool,
    /// Whether `capture_tail` names the nodes of a capture, so that a captured graph can be updated node by node.
    pub capture_tail: bool,
    /// Whether freeing device memory waits for the whole device (`hipFree` documents it). Frees wait for open windows then.
    pub free_waits_for_device: bool,
    /// Whether giving back pinned memory or code waits for the whole device. Both are put off until it is idle then.
    pub unload_waits_for_device: bool,
    /// Updates of nodes after which an executable is made anew, where updating one never gives memory back; `None` for never.
    pub updates_per_exec_max: Option<u32>,
    /// The most branches that a built graph may have side by side. 1 where the driver breaks over wider ones, so that its nodes run one
    /// after the other.
    pub branches_max: usize,
    /// The most work-items (groups times threads) in one dimension of a launch.
    pub launch_items_max: u64,
    /// The most workgroups in x, y and z.
    pub groups_max: [u32; 3],
    /// The largest workgroup in x, y and z.
    pub threads_max: [u32; 3],
    /// The most threads of one workgroup.
    pub group_threads_max: u32,
    /// Workgroup memory in bytes, with what a kernel has to be allowed by `function_allow_shared`.
    pub shared_bytes_max: u32,
    /// Resolution of `event_elapsed` in nanoseconds.
    pub event_resolution_ns: u32,
}

/// Who the device is, asked once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverFacts {
    /// The device's name.
    pub name: String,
    /// What its code is compiled for: `sm_90`, `gfx90a`.
    pub architecture: String,
    /// The driver's version, as text.
    pub driver: String,
    /// PCI address `domain:bus:device.function`, where it has one.
    pub pci: Option<String>,
    /// UUID, where it has one.
    pub uuid: Option<[u8; 16]>,
    /// Device memory in bytes.
    pub memory_bytes: u64,
    /// Whether it shares memory with the processor.
    pub integrated: bool,
}
