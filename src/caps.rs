//! What a device is and what it can do, as values asked once.

use crate::memory::DeviceId;
use crate::recording::Tier;

/// A device's identity, for people, logs and selection. As JSON it leaves out what is not known.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct DeviceInfo {
    /// The backend's name: `wgpu`, `cuda`, `hip`, `sim`.
    pub backend: String,
    /// The device's name.
    pub name: String,
    /// The vendor API below the backend: `vulkan`, `metal`, `dx12`, `cuda`, ...
    pub api: String,
    /// What kind of device it is.
    pub kind: DeviceKind,
    /// The driver's name and version, as it gives them.
    pub driver: String,
    /// PCI address `domain:bus:device.function`, where the device has one and tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pci: Option<String>,
    /// UUID, where the device has one and tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// Device memory in bytes, where the driver tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// The process-wide number of this opened device.
    #[serde(skip)]
    pub id: DeviceId,
}

/// Kinds of devices, best for compute first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceKind {
    /// A card with memory of its own.
    Discrete,
    /// A part of the processor.
    Integrated,
    /// A share of another machine's device.
    Virtual,
    /// Something else.
    Other,
    /// The processor, standing in for a device.
    Software,
    /// A simulator: no device at all.
    Simulated,
}

/// What a device can do. A feature that is absent here is refused by name when it is asked for.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Caps {
    /// Tiers that captures can use, best first.
    pub tiers: Vec<Tier>,
    /// Whether a host write inside a window is recorded (hardware graphs) or dooms it (software graphs, C-57).
    pub records_host_writes: bool,
    /// Whether neighbours' host calls wait for the window's end (hardware graphs) or are refused (software graphs).
    pub defers_neighbours: bool,
    /// Alignment of a bound offset in bytes.
    pub binding_alignment: u64,
    /// The most bytes of one binding.
    pub binding_bytes_max: u64,
    /// The most bytes of one allocation.
    pub buffer_bytes_max: u64,
    /// The most buffers of one launch.
    pub bindings_max: u32,
    /// Bytes of scalars that a launch can pass without a uniform buffer; 0 where the device has no immediates.
    pub immediate_bytes_max: u32,
    /// The most workgroups in one dimension.
    pub groups_max: u32,
    /// The most invocations of one workgroup.
    pub workgroup_invocations_max: u32,
    /// The largest workgroup in x, y and z.
    pub workgroup_size_max: [u32; 3],
    /// Bytes of workgroup memory.
    pub workgroup_bytes_max: u32,
    /// WGSL features that kernels may need, as in `Reflection::needs`.
    pub features: Vec<String>,
    /// Whether eager work can be timed on the device.
    pub times_eager: bool,
    /// Whether each node of a replay can be timed on the device.
    pub times_nodes: bool,
}

impl Caps {
    /// Caps of a device that can do the least; a backend fills in what it found.
    pub fn minimal() -> Self {
        Self {
            tiers: Vec::new(),
            records_host_writes: false,
            defers_neighbours: false,
            binding_alignment: 256,
            binding_bytes_max: 128 << 20,
            buffer_bytes_max: 256 << 20,
            bindings_max: 8,
            immediate_bytes_max: 0,
            groups_max: crate::op::MAX_GROUPS,
            workgroup_invocations_max: 256,
            workgroup_size_max: [256, 256, 64],
            workgroup_bytes_max: 16 << 10,
            features: Vec::new(),
            times_eager: false,
            times_nodes: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_of_a_device_is_absent() {
        let known = DeviceInfo {
            backend: "sim".into(),
            name: "one".into(),
            api: String::new(),
            kind: DeviceKind::Simulated,
            driver: String::new(),
            pci: None,
            uuid: None,
            memory_bytes: Some(4),
            id: DeviceId(0),
        };
        let text = serde_json::to_string(&known).expect("plain fields");
        assert!(text.ends_with(r#""driver":"","memory_bytes":4}"#), "{text}");
    }
}
