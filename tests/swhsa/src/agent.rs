//! The processor and the device that the system has, and what the device is: its personality.

use crate::abi::{Agent, Isa, Pool};

/// The processor.
pub(crate) const CPU: Agent = Agent(0x10);
/// The device.
pub(crate) const GPU: Agent = Agent(0x20);
/// The device's instruction set.
pub(crate) const ISA: Isa = Isa(0x30);

/// Memory of the processor in which both see each other's writes at once.
pub(crate) const POOL_FINE: Pool = Pool(0x41);
/// The same for arguments of kernels.
pub(crate) const POOL_KERNARG: Pool = Pool(0x42);
/// Memory of the processor that is coherent at the ends of kernels.
pub(crate) const POOL_COARSE: Pool = Pool(0x43);
/// Memory of the device, which the processor cannot reach.
pub(crate) const POOL_DEVICE: Pool = Pool(0x44);
/// Memory of a workgroup. Nothing is allocated there.
pub(crate) const POOL_GROUP: Pool = Pool(0x45);

/// Bytes of device memory.
pub(crate) const DEVICE_BYTES: u64 = 8 << 30;
/// Bytes of host memory that the pools report.
pub(crate) const HOST_BYTES: u64 = 16 << 30;
/// Bytes of a workgroup's memory.
pub(crate) const GROUP_BYTES: u64 = 64 << 10;
/// Bytes of a page.
pub(crate) const PAGE: usize = 4096;

/// Facts by which a real device of that architecture is known.
pub(crate) struct Personality {
    /// As a code object names it.
    pub(crate) name: &'static str,
    /// The instruction set with its target features.
    pub(crate) isa: &'static str,
    /// What people call it. It says what it is.
    pub(crate) product: &'static str,
    /// `EF_AMDGPU_MACH` of its code objects.
    pub(crate) machine: u32,
    /// Lanes of a wave.
    pub(crate) wave: u32,
    pub(crate) compute_units: u32,
    pub(crate) simds_per_unit: u32,
    pub(crate) waves_per_unit: u32,
    pub(crate) chip: u32,
    pub(crate) family: u32,
}

/// Waves of 32 lanes.
pub(crate) static GFX1100: Personality = Personality {
    name: "gfx1100",
    isa: "amdgcn-amd-amdhsa--gfx1100",
    product: "Graphreel software device, wave 32",
    machine: 0x41,
    wave: 32,
    compute_units: 96,
    simds_per_unit: 2,
    waves_per_unit: 32,
    chip: 0x744C,
    family: 145,
};

/// Waves of 64 lanes.
pub(crate) static GFX90A: Personality = Personality {
    name: "gfx90a",
    isa: "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-",
    product: "Graphreel software device, wave 64",
    machine: 0x3F,
    wave: 64,
    compute_units: 104,
    simds_per_unit: 4,
    waves_per_unit: 32,
    chip: 0x740F,
    family: 141,
};
