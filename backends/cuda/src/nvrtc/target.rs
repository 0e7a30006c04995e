//! What NVRTC compiles for: the device's own architecture, or one that its driver can translate further.

use std::fmt;

/// What is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// Code of this compute capability, 90 for 9.0: nothing is left to the driver.
    Cubin(u32),
    /// PTX of this compute capability, for a device that NVRTC does not know: its driver compiles the rest when it loads it.
    Ptx(u32),
}

/// A device that no code can be made for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "NVRTC {}.{} makes no code for devices of compute capability {}.{}; use an older one, which GRAPHREEL_NVRTC can name",
    version.0, version.1, capability / 10, capability % 10
)]
pub struct NoTarget {
    /// The device's compute capability, 90 for 9.0.
    pub capability: u32,
    /// NVRTC's version.
    pub version: (i32, i32),
}

impl Target {
    /// `known` is what NVRTC has, in order.
    pub(super) fn choose(capability: u32, known: &[u32], version: (i32, i32)) -> Result<Self, NoTarget> {
        if known.contains(&capability) {
            return Ok(Self::Cubin(capability));
        }
        let older = known.iter().copied().filter(|one| *one < capability).max();
        older.map(Self::Ptx).ok_or(NoTarget { capability, version })
    }
}

/// As `--gpu-architecture` takes it.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cubin(capability) => write!(f, "sm_{capability}"),
            Self::Ptx(capability) => write!(f, "compute_{capability}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_has_its_own_code_or_the_nearest_ptx() {
        let known = [75, 80, 86, 90, 100, 120];
        let choose = |capability| Target::choose(capability, &known, (13, 0));
        assert_eq!(choose(90).map(|target| target.to_string()), Ok("sm_90".to_owned()));
        assert_eq!(choose(89), Ok(Target::Ptx(86)));
        assert_eq!(choose(130).map(|target| target.to_string()), Ok("compute_120".to_owned()));
        let error = choose(61).expect_err("it is too old");
        assert!(error.to_string().contains("capability 6.1"), "{error}");
    }
}
