//! Which devices the runtime shows, and what each is and can do. Nothing is opened for it.

#![expect(unsafe_code, reason = "the runtime is asked")]

use std::ffi::{c_char, c_int};

use graphreel::DeviceInfo;
use graphreel::error::DriverError;
use graphreel::graph::driver::{DriverCaps, DriverFacts};
use graphreel::graph::{Backend, DriverResult, Listing};
use graphreel::memory::DeviceId;
use graphreel::sync::OnceLock;
use graphreel_hip_sys::handle::{hipDevice_t, hipDeviceAttribute_t};
use graphreel_hip_sys::structure::{hipDeviceProp_tR0600, hipUUID};
use graphreel_hip_sys::{Library, Version, constant, library};

use crate::calls::Calls;
use crate::fault;

/// What the backend is called, wherever it is named.
pub const BACKEND: Backend = Backend { name: "hip", api: "hip", kind: None };

/// Updates of one node after which an executable graph is made anew. AMD's runtime never gives the memory of a node's old
/// parameters back, and has answered its end with stale ones: 4 KiB for 32 kernels was seen, so this keeps a graph of as many
/// within 1 MiB.
const UPDATES_PER_EXEC_MAX: u32 = 256;

/// The first release that launches wide graphs without reading past the end of a list. Those before it give a graph a stream for
/// each of its branches and leave out those that share a hardware queue with the launch's stream, and one more than one ends
/// the process.
const WIDE_GRAPHS_FROM: (u32, u32) = (7, 2);

/// Branches that a graph may have on that release.
fn branches_max(version: Version) -> usize {
    if version.release() >= WIDE_GRAPHS_FROM { usize::MAX } else { 1 }
}

/// Variables that hide devices, in the order in which they are looked at: the layer below HIP first.
const HIDING: [&str; 4] = ["ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"];

/// A device that the runtime shows.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HipDevice {
    /// Its index, after `HIP_VISIBLE_DEVICES` and the like.
    pub index: usize,
    /// Who it is. Its `id` is 0: it is not open.
    pub info: DeviceInfo,
    /// Its architecture, with its features: `gfx90a:sramecc+:xnack-`.
    pub architecture: String,
    /// Lanes of a wave.
    pub wave_size: u32,
    /// Compute units.
    pub compute_units: u32,
}

/// Every device that the runtime shows and that can be asked who it is, in its order. One that cannot is told in the log, once in a
/// process, and by [`problems`]; the others keep their indices.
///
/// # Errors
///
/// Why there is none, in one line with the remedy.
pub fn devices() -> Result<Vec<HipDevice>, String> {
    static TOLD: OnceLock<()> = OnceLock::new();
    Ok(listing()?.usable(&TOLD, "HIP"))
}

/// What is wrong with devices that cannot be asked who they are, a line each. Empty where every one is in [`devices`], and where
/// there is none, of which [`absence`] tells.
pub fn problems() -> Vec<String> {
    listing().map(|listing| listing.problems).unwrap_or_default()
}

/// Why there is no device, in one line with the remedy; empty where there are some.
pub fn absence() -> String {
    listing().err().unwrap_or_default()
}

fn listing() -> Result<Listing<HipDevice>, String> {
    let library = library().map_err(ToString::to_string)?;
    let none = |error: &DriverError| {
        no_device(library, error, |name| Some(std::env::var_os(name)?.to_string_lossy().into_owned()))
    };
    let count = count(library).map_err(|error| none(&error))?;
    if count == 0 {
        return Err(none(&fault::failure("hipGetDeviceCount", fault::NO_DEVICE)));
    }
    Listing::look(count, |index| describe(library, index))
}

/// Why the runtime that is there has no device. Releases answer 100 or 101 for it.
fn no_device(library: &Library, error: &DriverError, variable: impl Fn(&str) -> Option<String>) -> String {
    let version = library.version;
    if ![fault::NO_DEVICE, fault::INVALID_DEVICE].contains(&error.code) {
        return format!("the HIP runtime {version} does not start: {error}");
    }
    let set = HIDING.iter().filter_map(|name| Some(format!("{name} is `{}`", variable(name)?.escape_debug())));
    let set: Vec<String> = set.collect();
    let no_gpu = "this machine has no AMD GPU that it knows, or /dev/kfd is not given to this user or container";
    if set.is_empty() {
        return format!("the HIP runtime {version} shows no device: {no_gpu}");
    }
    // Which of them hides a device, and whether there is one to hide, cannot be told.
    let set = set.join(" and ");
    format!("the HIP runtime {version} shows no device: {set}, which may hide those that rocminfo lists; or {no_gpu}")
}

/// Start the runtime, which it lets happen often, and count its devices.
fn count(library: &'static Library) -> DriverResult<usize> {
    let calls = Calls(&library.calls);
    // SAFETY: the call takes no pointer; its flags have to be 0.
    unsafe { calls.hipInit(0) }?;
    let mut count = 0;
    // SAFETY: it writes one number.
    unsafe { calls.hipGetDeviceCount(&raw mut count) }?;
    Ok(usize::try_from(count).unwrap_or(0))
}

fn describe(library: &'static Library, index: usize) -> DriverResult<HipDevice> {
    let asked = Asked::new(library, index)?;
    Ok(HipDevice {
        index,
        info: BACKEND.describe(&asked.facts()?, DeviceId(0)),
        architecture: asked.arch()?,
        wave_size: asked.attribute(constant::hipDeviceAttributeWarpSize)?,
        compute_units: asked.attribute(constant::hipDeviceAttributeMultiprocessorCount)?,
    })
}

/// A device of the runtime, to be asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    library: &'static Library,
    pub(crate) calls: Calls,
    pub(crate) device: hipDevice_t,
}

impl Asked {
    /// The device of that index. The runtime is started.
    pub(crate) fn new(library: &'static Library, index: usize) -> DriverResult<Self> {
        let (calls, mut device) = (Calls(&library.calls), 0);
        // SAFETY: it writes one number.
        unsafe { calls.hipDeviceGet(&raw mut device, c_int::try_from(index).unwrap_or(c_int::MAX)) }?;
        Ok(Self { library, calls, device })
    }

    fn attribute(self, attribute: hipDeviceAttribute_t) -> DriverResult<u32> {
        let mut value = 0;
        // SAFETY: it writes one number.
        unsafe { self.calls.hipDeviceGetAttribute(&raw mut value, attribute, self.device) }?;
        Ok(u32::try_from(value).unwrap_or(0))
    }

    fn attributes(self, attributes: [hipDeviceAttribute_t; 3]) -> DriverResult<[u32; 3]> {
        let [x, y, z] = attributes;
        Ok([self.attribute(x)?, self.attribute(y)?, self.attribute(z)?])
    }

    /// The architecture, with its features. Nothing but the structure of properties has it.
    pub(crate) fn arch(self) -> DriverResult<String> {
        let mut properties = hipDeviceProp_tR0600::zeroed();
        // SAFETY: it writes one structure of this layout.
        unsafe { self.calls.hipGetDevicePropertiesR0600(&raw mut properties, self.device) }?;
        Ok(text(&properties.gcnArchName))
    }

    /// The name; of a device that has none, its architecture.
    fn name(self) -> DriverResult<String> {
        let mut name = [0 as c_char; 256];
        // SAFETY: it writes at most as many bytes as it is told, with a zero byte at the end.
        unsafe { self.calls.hipDeviceGetName(name.as_mut_ptr(), 256, self.device) }?;
        let name = text(&name);
        if name.is_empty() { self.arch() } else { Ok(name) }
    }

    /// The PCI address; `None` where the runtime tells none.
    fn pci(self) -> Option<String> {
        let mut address = [0 as c_char; 32];
        // SAFETY: as for the name.
        unsafe { self.calls.hipDeviceGetPCIBusId(address.as_mut_ptr(), 32, self.device) }.ok()?;
        Some(text(&address).to_lowercase()).filter(|address| !address.is_empty())
    }

    /// The UUID; `None` where the runtime tells none.
    fn uuid(self) -> Option<[u8; 16]> {
        let mut uuid = hipUUID { bytes: [0; 16] };
        // SAFETY: it writes one structure.
        unsafe { self.calls.hipDeviceGetUuid(&raw mut uuid, self.device) }.ok()?;
        Some(uuid.bytes.map(|byte| byte.to_ne_bytes()[0])).filter(|bytes| *bytes != [0; 16])
    }

    fn memory_bytes(self) -> DriverResult<u64> {
        let mut bytes = 0;
        // SAFETY: it writes one number.
        unsafe { self.calls.hipDeviceTotalMem(&raw mut bytes, self.device) }?;
        Ok(bytes as u64)
    }

    pub(crate) fn facts(self) -> DriverResult<DriverFacts> {
        let (arch, wave) = (self.arch()?, self.attribute(constant::hipDeviceAttributeWarpSize)?);
        Ok(DriverFacts {
            name: self.name()?,
            driver: format!("HIP {}, {arch}, wave {wave}", self.library.version),
            architecture: arch,
            pci: self.pci(),
            uuid: self.uuid(),
            memory_bytes: self.memory_bytes()?,
            integrated: self.attribute(constant::hipDeviceAttributeIntegrated)? != 0,
        })
    }

    pub(crate) fn caps(self) -> DriverResult<DriverCaps> {
        use graphreel_hip_sys::constant as ask;
        let groups_max = self.attributes([
            ask::hipDeviceAttributeMaxGridDimX,
            ask::hipDeviceAttributeMaxGridDimY,
            ask::hipDeviceAttributeMaxGridDimZ,
        ])?;
        let threads_max = self.attributes([
            ask::hipDeviceAttributeMaxBlockDimX,
            ask::hipDeviceAttributeMaxBlockDimY,
            ask::hipDeviceAttributeMaxBlockDimZ,
        ])?;
        Ok(DriverCaps {
            warp_width: self.attribute(ask::hipDeviceAttributeWarpSize)?,
            graph_upload: true,
            relaxed_capture: true,
            capture_tail: true,
            // AMD documents it of `hipFree`.
            free_waits_for_device: true,
            // Not documented of these, and taken of them for the same reason.
            unload_waits_for_device: true,
            updates_per_exec_max: Some(UPDATES_PER_EXEC_MAX),
            branches_max: branches_max(self.library.version),
            // Documented of `hipModuleLaunchKernel`: groups times threads are below 2^32.
            launch_items_max: u64::from(u32::MAX),
            groups_max,
            threads_max,
            group_threads_max: self.attribute(ask::hipDeviceAttributeMaxThreadsPerBlock)?,
            // What a kernel has without asking for more.
            shared_bytes_max: self.attribute(ask::hipDeviceAttributeMaxSharedMemoryPerBlock)?,
            event_resolution_ns: 1_000,
        })
    }
}

/// Text that a C function wrote; all of it where no zero byte ends it.
fn text(bytes: &[c_char]) -> String {
    let bytes: Vec<u8> = bytes.iter().map(|byte| byte.to_ne_bytes()[0]).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_ends_at_the_zero_byte() {
        let of = |bytes: &[u8]| text(&bytes.iter().map(|byte| *byte as c_char).collect::<Vec<_>>());
        assert_eq!(of(b"gfx90a:sramecc+:xnack-\0garbage"), "gfx90a:sramecc+:xnack-");
        assert_eq!(of(b" no end"), "no end");
        assert_eq!(of(b"\0"), "");
    }

    #[test]
    fn graphs_are_wide_from_7_2_on() {
        let of = |number| branches_max(Version(number));
        assert_eq!([of(60_443_484), of(70_100_000), of(70_253_211), of(80_000_000)], [1, 1, usize::MAX, usize::MAX]);
    }
}
