//! Which devices the driver shows, and what each is and can do. Nothing is opened for it: no context is made.

#![expect(unsafe_code, reason = "the driver is asked")]

use std::ffi::{c_char, c_int};

use cudarc::driver::sys::{CUdevice, CUdevice_attribute, CUuuid};
use graphreel::DeviceInfo;
use graphreel::error::DriverError;
use graphreel::graph::driver::{DriverCaps, DriverFacts};
use graphreel::graph::{Backend, DriverResult, Listing};
use graphreel::memory::DeviceId;
use graphreel::sync::OnceLock;

use crate::fault;
use crate::library::{Library, library};
use crate::telemetry;

/// What the backend is called, wherever it is named.
pub const BACKEND: Backend = Backend { name: "cuda", api: "cuda", kind: None };

/// A device that the driver shows: a whole GPU or a MIG instance of one.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CudaDevice {
    /// Its index, after `CUDA_VISIBLE_DEVICES`.
    pub index: usize,
    /// Who it is. Its `id` is 0: it is not open.
    pub info: DeviceInfo,
    /// Its compute capability, major and minor.
    pub compute_capability: (u32, u32),
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Whether it is a MIG instance: a part of a GPU.
    pub is_mig: bool,
}

/// Every device that the driver shows and that can be asked who it is, in its order. One that cannot is told in the log, once in a
/// process, and by [`problems`]; the others keep their indices.
///
/// # Errors
///
/// Why there is none, in one line with the remedy.
pub fn devices() -> Result<Vec<CudaDevice>, String> {
    static TOLD: OnceLock<()> = OnceLock::new();
    Ok(listing()?.usable(&TOLD, "CUDA"))
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

fn listing() -> Result<Listing<CudaDevice>, String> {
    let library = library()?;
    let count =
        count(library).map_err(|error| no_device(&error, std::env::var("CUDA_VISIBLE_DEVICES").ok().as_deref()))?;
    if count == 0 {
        let none = fault::failure("cuDeviceGetCount", fault::NO_DEVICE);
        return Err(no_device(&none, std::env::var("CUDA_VISIBLE_DEVICES").ok().as_deref()));
    }
    Listing::look(count, |index| describe(library, index))
}

/// Why the driver that is there has no device.
fn no_device(error: &DriverError, visible: Option<&str>) -> String {
    match (error.code, visible) {
        (fault::NO_DEVICE, Some(visible)) => format!(
            "the NVIDIA driver shows no device: CUDA_VISIBLE_DEVICES is `{}`; unset it, or name devices that nvidia-smi -L lists",
            visible.escape_debug()
        ),
        (fault::NO_DEVICE, None) => {
            "the NVIDIA driver shows no device: this machine has none, or none is given to this container".to_owned()
        }
        (fault::STUB_LIBRARY, _) => {
            "libcuda.so is the toolkit's stub and no driver: leave its folder out of the library path".to_owned()
        }
        (fault::DRIVER_MISMATCH, _) => {
            "the NVIDIA driver's library and its kernel module are of different versions: load the module anew, or restart the machine"
                .to_owned()
        }
        _ => format!("the NVIDIA driver does not start: {error}"),
    }
}

/// Start the driver, which it lets happen often, and count its devices.
fn count(library: &Library) -> DriverResult<usize> {
    // SAFETY: the call takes no pointer; its flags have to be 0.
    unsafe { library.calls.cuInit(0) }?;
    let mut count = 0;
    // SAFETY: it writes one number.
    unsafe { library.calls.cuDeviceGetCount(&raw mut count) }?;
    Ok(usize::try_from(count).unwrap_or(0))
}

fn describe(library: &Library, index: usize) -> DriverResult<CudaDevice> {
    let asked = Asked::new(library, index)?;
    let facts = asked.facts()?;
    Ok(CudaDevice {
        index,
        is_mig: asked.is_mig(&facts),
        info: BACKEND.describe(&facts, DeviceId(0)),
        compute_capability: asked.compute_capability()?,
        multiprocessors: asked.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
    })
}

/// A device of the driver, to be asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    library: &'a Library,
    pub(crate) device: CUdevice,
}

impl<'a> Asked<'a> {
    /// The device of that index. The driver is started.
    pub(crate) fn new(library: &'a Library, index: usize) -> DriverResult<Self> {
        let mut device = 0;
        // SAFETY: it writes one number.
        unsafe { library.calls.cuDeviceGet(&raw mut device, c_int::try_from(index).unwrap_or(c_int::MAX)) }?;
        Ok(Self { library, device })
    }

    /// The device of the context that the thread has bound.
    pub(crate) fn bound(library: &'a Library) -> DriverResult<Self> {
        let mut device = 0;
        // SAFETY: it writes one number.
        unsafe { library.calls.cuCtxGetDevice(&raw mut device) }?;
        Ok(Self { library, device })
    }

    fn attribute(self, attribute: CUdevice_attribute) -> DriverResult<u32> {
        let mut value = 0;
        // SAFETY: it writes one number.
        unsafe { self.library.calls.cuDeviceGetAttribute(&raw mut value, attribute, self.device) }?;
        Ok(u32::try_from(value).unwrap_or(0))
    }

    fn attributes(self, attributes: [CUdevice_attribute; 3]) -> DriverResult<[u32; 3]> {
        let [x, y, z] = attributes;
        Ok([self.attribute(x)?, self.attribute(y)?, self.attribute(z)?])
    }

    fn compute_capability(self) -> DriverResult<(u32, u32)> {
        Ok((
            self.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            self.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ))
    }

    fn name(self) -> DriverResult<String> {
        let mut name = [0 as c_char; 256];
        // SAFETY: it writes at most as many bytes as it is told, with a zero byte at the end.
        unsafe { self.library.calls.cuDeviceGetName(name.as_mut_ptr(), 256, self.device) }?;
        Ok(text(&name))
    }

    /// The PCI address; `None` where the driver tells none.
    fn pci(self) -> Option<String> {
        let mut address = [0 as c_char; 32];
        // SAFETY: as for the name.
        unsafe { self.library.calls.cuDeviceGetPCIBusId(address.as_mut_ptr(), 32, self.device) }.ok()?;
        Some(text(&address).to_lowercase()).filter(|address| !address.is_empty())
    }

    /// The UUID, of the instance where it is one; `None` where the driver tells none.
    fn uuid(self) -> Option<[u8; 16]> {
        let mut uuid = CUuuid { bytes: [0; 16] };
        // SAFETY: it writes one structure.
        unsafe { self.library.calls.cuDeviceGetUuid_v2(&raw mut uuid, self.device) }.ok()?;
        Some(uuid.bytes.map(|byte| byte.to_ne_bytes()[0])).filter(|bytes| *bytes != [0; 16])
    }

    fn memory_bytes(self) -> DriverResult<u64> {
        let mut bytes = 0;
        // SAFETY: it writes one number.
        unsafe { self.library.calls.cuDeviceTotalMem_v2(&raw mut bytes, self.device) }?;
        Ok(bytes as u64)
    }

    pub(crate) fn facts(self) -> DriverResult<DriverFacts> {
        let (major, minor) = self.compute_capability()?;
        let cuda = format!("CUDA {}", self.library.version());
        Ok(DriverFacts {
            name: self.name()?,
            architecture: format!("sm_{major}{minor}"),
            driver: telemetry::driver_version().map_or(cuda.clone(), |version| format!("{version}, {cuda}")),
            pci: self.pci(),
            uuid: self.uuid(),
            memory_bytes: self.memory_bytes()?,
            integrated: self.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_INTEGRATED)? != 0,
        })
    }

    /// Whether it is a MIG instance. The driver has no call for it; NVML has, and the name of one says so.
    fn is_mig(self, facts: &DriverFacts) -> bool {
        let uuid = BACKEND.describe(facts, DeviceId(0)).uuid;
        let asked = uuid.and_then(|uuid| telemetry::Source::of(&uuid)).and_then(|source| source.is_mig());
        asked.unwrap_or_else(|| facts.name.contains(" MIG "))
    }

    /// Whether it has stream-ordered pools.
    pub(crate) fn has_pools(self) -> DriverResult<bool> {
        Ok(self.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)? != 0)
    }

    pub(crate) fn caps(self) -> DriverResult<DriverCaps> {
        use CUdevice_attribute as Ask;
        let groups_max = self.attributes([
            Ask::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X,
            Ask::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
            Ask::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z,
        ])?;
        let threads_max = self.attributes([
            Ask::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X,
            Ask::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y,
            Ask::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z,
        ])?;
        Ok(DriverCaps {
            warp_width: self.attribute(Ask::CU_DEVICE_ATTRIBUTE_WARP_SIZE)?,
            graph_upload: true,
            relaxed_capture: true,
            capture_tail: true,
            // Not documented of `cuMemFree`, and seen of it: it returns once the device is idle. Under an endless kernel it
            // would keep the device's lock.
            free_waits_for_device: true,
            // Nor of these, and taken of them for the same reason.
            unload_waits_for_device: true,
            updates_per_exec_max: None,
            branches_max: usize::MAX,
            // There is no bound of its own: what the two others allow.
            launch_items_max: u64::from(groups_max[0]) * u64::from(threads_max[0]),
            groups_max,
            threads_max,
            group_threads_max: self.attribute(Ask::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            // Beyond 48 KiB a kernel is allowed it when it is loaded.
            shared_bytes_max: self.attribute(Ask::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            event_resolution_ns: 500,
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
    fn each_reason_is_one_line_with_the_remedy() {
        let say = |code, visible| no_device(&fault::failure("cuInit", code), visible);
        let hidden = say(fault::NO_DEVICE, Some("GPU-\nx"));
        assert!(hidden.contains("CUDA_VISIBLE_DEVICES is `GPU-\\nx`") && hidden.contains("unset it"), "{hidden}");
        assert!(say(fault::NO_DEVICE, Some("")).contains("CUDA_VISIBLE_DEVICES is ``"));
        assert!(say(fault::NO_DEVICE, None).contains("this machine has none"));
        assert!(say(fault::STUB_LIBRARY, Some("0")).contains("stub"));
        assert!(say(fault::DRIVER_MISMATCH, None).contains("different versions"));
        let other = say(999, None);
        assert!(other.contains("cuInit") && other.contains("999"), "{other}");
        assert!([hidden, other].iter().all(|text| !text.contains('\n')));
    }

    #[test]
    fn text_ends_at_the_zero_byte() {
        let of = |bytes: &[u8]| text(&bytes.iter().map(|byte| *byte as c_char).collect::<Vec<_>>());
        assert_eq!(of(b"NVIDIA H200\0garbage"), "NVIDIA H200");
        assert_eq!(of(b" no end"), "no end");
        assert_eq!(of(b"\0"), "");
    }
}
