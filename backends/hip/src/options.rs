//! How a device is opened.

use graphreel::{Result, ServerError};
use graphreel_cpp::FloatMode;

use crate::device::{HipDevice, devices, problems};

/// Which device to open, and how.
#[derive(Clone, Debug, Default)]
pub struct HipOptions {
    /// The device.
    pub select: Select,
    /// How floating-point arithmetic of WGSL kernels is compiled.
    pub floats: FloatMode,
}

/// Which device. `HIP_VISIBLE_DEVICES` and `ROCR_VISIBLE_DEVICES` have chosen and ordered before: they are AMD's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Select {
    /// The device with that [`index`](crate::HipDevice::index).
    Index(usize),
    /// The device with that UUID, in any case: as 16 bytes in hexadecimal, or as the text that AMD's tools make of them, with or
    /// without `GPU-`.
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
    pub(crate) fn find(&self) -> Result<HipDevice> {
        let found = devices().map_err(|why| ServerError::unsupported("opening a HIP device", why))?;
        match self.position(&found) {
            Some(index) => Ok(found.into_iter().nth(index).expect("the position is one of this list")),
            None => {
                let names: Vec<String> =
                    found.iter().map(|device| format!("{} {}", device.index, device.info.name)).collect();
                let what = match self {
                    Self::Index(index) => format!("HIP device {index}"),
                    Self::Uuid(uuid) => format!("a HIP device with UUID {uuid}"),
                };
                let lines = std::iter::once(format!("the devices are: {}", names.join(", "))).chain(problems());
                Err(ServerError::unsupported(what, lines.collect::<Vec<_>>().join("; ")))
            }
        }
    }

    fn position(&self, found: &[HipDevice]) -> Option<usize> {
        match self {
            Self::Index(index) => found.iter().position(|device| device.index == *index),
            Self::Uuid(asked) => {
                let asked = bare(asked);
                let has = |device: &HipDevice| device.info.uuid.as_deref().is_some_and(|uuid| is(uuid, &asked));
                (!asked.is_empty()).then(|| found.iter().position(has)).flatten()
            }
        }
    }
}

/// Whether a device's UUID is meant by `asked`: by its digits, or by the text that its bytes are.
fn is(uuid: &str, asked: &str) -> bool {
    let digits: Vec<u32> = uuid.chars().filter_map(|c| c.to_digit(16)).collect();
    let text: String = digits
        .chunks(2)
        .map(|pair| char::from_u32(pair.iter().fold(0, |all, one| all * 16 + one)))
        .map(Option::unwrap_or_default)
        .collect();
    bare(uuid) == asked || bare(&text) == asked
}

/// A UUID without what AMD's tools put before it.
fn bare(uuid: &str) -> String {
    let uuid = uuid.trim().to_lowercase();
    uuid.strip_prefix("gpu-").unwrap_or(&uuid).to_owned()
}

#[cfg(test)]
mod tests {
    use graphreel::memory::DeviceId;
    use graphreel::{DeviceInfo, DeviceKind};

    use super::*;

    fn device(index: usize, uuid: &str) -> HipDevice {
        let info = DeviceInfo {
            backend: "hip".into(),
            name: format!("card {index}"),
            api: "hip".into(),
            kind: DeviceKind::Discrete,
            driver: "HIP 6.4.0".into(),
            pci: None,
            uuid: Some(uuid.to_owned()),
            memory_bytes: None,
            id: DeviceId(0),
        };
        HipDevice { index, info, architecture: "gfx90a".into(), wave_size: 64, compute_units: 104 }
    }

    #[test]
    fn a_device_is_found_by_index_and_by_uuid() {
        let found =
            [device(0, "01234567-89ab-cdef-0123-456789abcdef"), device(1, "ffffffff-89ab-cdef-0123-456789abcdef")];
        assert_eq!(Select::default().position(&found), Some(0));
        assert_eq!([Select::Index(1).position(&found), Select::Index(2).position(&found)], [Some(1), None]);
        for text in ["FFFFFFFF-89ab-cdef-0123-456789abcdef", "GPU-ffffffff-89ab-cdef-0123-456789abcdef "] {
            assert_eq!(Select::Uuid(text.to_owned()).position(&found), Some(1), "{text}");
        }
        // AMD's bytes are sixteen digits as text.
        let amd = [device(0, "38656130-3037-6364-6630-633564636463")];
        assert_eq!(Select::Uuid("GPU-8ea007cdf0c5dcdc".to_owned()).position(&amd), Some(0));
        for text in ["", "GPU-", "ffffffff"] {
            assert_eq!(Select::Uuid(text.to_owned()).position(&found), None, "{text}");
        }
        assert_eq!(Select::default().position(&[]), None);
        // One before it cannot be asked, and is never taken for another.
        let gap = &found[1..];
        assert_eq!([Select::Index(0).position(gap), Select::Index(1).position(gap)], [None, Some(0)]);
    }
}
