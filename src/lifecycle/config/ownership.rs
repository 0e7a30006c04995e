//! What the deployment promises about a device: all of it is ours, or a fixed part.

/// The promise that the owner of the deployment makes about one device (B-11). It has no default: nobody but the owner
/// can know it (B-12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum GpuMemoryOwnership {
    /// We are the only allocator on the whole visible device.
    WholeDeviceExclusive,
    /// Whoever manages the process gave it a fixed part.
    StaticPartition {
        /// The part, in bytes. It caps the installed allocator, as no memory limit does (B-13).
        allocation_limit_bytes: u64,
    },
}

impl GpuMemoryOwnership {
    /// The cap of the installed allocator, where there is one.
    pub const fn allocation_limit_bytes(self) -> Option<u64> {
        match self {
            Self::WholeDeviceExclusive => None,
            Self::StaticPartition { allocation_limit_bytes } => Some(allocation_limit_bytes),
        }
    }

    /// The bytes that are ours on a device of `visible_total_bytes` (B-40).
    pub(in crate::lifecycle) const fn owned_bytes(self, visible_total_bytes: u64) -> u64 {
        match self {
            Self::WholeDeviceExclusive => visible_total_bytes,
            Self::StaticPartition { allocation_limit_bytes } => allocation_limit_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B-11.
    #[test]
    fn only_a_partition_has_an_allocation_limit() {
        assert_eq!(GpuMemoryOwnership::WholeDeviceExclusive.allocation_limit_bytes(), None);
        let partition = GpuMemoryOwnership::StaticPartition { allocation_limit_bytes: 9 };
        assert_eq!(partition.allocation_limit_bytes(), Some(9));
    }
}
