//! How a device is opened.

use graphreel::{Result, ServerError};
use graphreel_cpp::FloatMode;

use crate::device::{CudaDevice, devices, problems};
use crate::pages::Pages;

/// Which device to open, and how.
#[derive(Clone, Debug, Default)]
pub struct CudaOptions {
    /// The device.
    pub select: Select,
    /// How floating-point arithmetic of WGSL kernels is compiled.
    pub floats: FloatMode,
    /// Where pages of device memory come from. Refused where the device has no such pages.
    pub pages: Pages,
}

/// Which device. `CUDA_VISIBLE_DEVICES` has chosen and ordered before: it is the driver's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Select {
    /// The device with that [`index`](crate::CudaDevice::index).
    Index(usize),
    /// The device with that UUID, of a whole device or a MIG instance, in any case and with or without `GPU-` or `MIG-`.
    Uuid(String),
}

impl Default for Select {
    fn default() -> Self {
        Self::Index(0)
    }
}

impl Select {
    /// The device that is meant.
    ///
    /// # Errors
    ///
    /// `Unsupported`, with what there is, or why there is none.
    pub(crate) fn find(&self) -> Result<CudaDevice> {
        let found = devices().map_err(|why| ServerError::unsupported("opening a CUDA device", why))?;
        match self.position(&found) {
            Some(index) => Ok(found.into_iter().nth(index).expect("the position is one of this list")),
            None => {
                let names: Vec<String> =
                    found.iter().map(|device| format!("{} {}", device.index, device.info.name)).collect();
                let what = match self {
                    Self::Index(index) => format!("CUDA device {index}"),
                    Self::Uuid(uuid) => format!("a CUDA device with UUID {uuid}"),
                };
                let lines = std::iter::once(format!("the devices are: {}", names.join(", "))).chain(problems());
                Err(ServerError::unsupported(what, lines.collect::<Vec<_>>().join("; ")))
            }
        }
    }

    fn position(&self, found: &[CudaDevice]) -> Option<usize> {
        match self {
            Self::Index(index) => found.iter().position(|device| device.index == *index),
            Self::Uuid(asked) => {
                let asked = bare(asked);
                let has = |device: &CudaDevice| device.info.uuid.as_deref().is_some_and(|uuid| bare(uuid) == asked);
                (!asked.is_empty()).then(|| found.iter().position(has)).flatten()
            }
        }
    }
}

/// A UUID without what NVIDIA's tools put before it.
fn bare(uuid: &str) -> String {
    let uuid = uuid.trim().to_lowercase();
    ["gpu-", "mig-"].iter().find_map(|kind| uuid.strip_prefix(kind)).unwrap_or(&uuid).to_owned()
}

#[cfg(test)]
mod tests {
    use graphreel::memory::DeviceId;
    use graphreel::{DeviceInfo, DeviceKind};

    use super::*;

    fn device(index: usize, uuid: &str) -> CudaDevice {
        let info = DeviceInfo {
            backend: "cuda".into(),
            name: format!("card {index}"),
            api: "cuda".into(),
            kind: DeviceKind::Discrete,
            driver: "CUDA 12.0".into(),
            pci: None,
            uuid: Some(uuid.to_owned()),
            memory_bytes: None,
            id: DeviceId(0),
        };
        CudaDevice { index, info, compute_capability: (9, 0), multiprocessors: 1, is_mig: false }
    }

    #[test]
    fn a_device_is_found_by_index_and_by_uuid() {
        let found =
            [device(0, "01234567-89ab-cdef-0123-456789abcdef"), device(1, "ffffffff-89ab-cdef-0123-456789abcdef")];
        assert_eq!(Select::default().position(&found), Some(0));
        assert_eq!([Select::Index(1).position(&found), Select::Index(2).position(&found)], [Some(1), None]);
        for text in [
            "FFFFFFFF-89ab-cdef-0123-456789abcdef",
            "GPU-ffffffff-89ab-cdef-0123-456789abcdef",
            "MIG-ffffffff-89ab-cdef-0123-456789abcdef ",
        ] {
            assert_eq!(Select::Uuid(text.to_owned()).position(&found), Some(1), "{text}");
        }
        for text in ["", "GPU-", "ffffffff"] {
            assert_eq!(Select::Uuid(text.to_owned()).position(&found), None, "{text}");
        }
        assert_eq!(Select::default().position(&[]), None);
        // One before it cannot be asked, and is never taken for another.
        let gap = &found[1..];
        assert_eq!([Select::Index(0).position(gap), Select::Index(1).position(gap)], [None, Some(0)]);
    }
}
