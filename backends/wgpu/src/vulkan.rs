//! What Vulkan tells of a physical device and wgpu does not pass on: its memory and its UUID.
#![expect(unsafe_code, reason = "asks the driver through handles that wgpu lends")]

use ash::vk;

/// Bytes of device-local memory, and the UUID as 8-4-4-4-12 hexadecimal digits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Physical {
    pub(crate) memory_bytes: Option<u64>,
    pub(crate) uuid: Option<String>,
}

/// What the driver tells of `adapter`; nothing where it is not a Vulkan one.
pub(crate) fn physical(adapter: &wgpu::Adapter) -> Physical {
    // SAFETY: the guard is used to read only: nothing below changes or keeps what wgpu owns.
    let Some(raw) = (unsafe { adapter.as_hal::<wgpu::hal::api::Vulkan>() }) else { return Physical::default() };
    let (device, instance) = (raw.raw_physical_device(), raw.shared_instance().raw_instance());
    // SAFETY: `device` was enumerated from `instance`, and the guard keeps both alive.
    let memory = unsafe { instance.get_physical_device_memory_properties(device) };
    // The largest: a second one is the part of it that the host can map.
    let local = |heap: &&vk::MemoryHeap| heap.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL);
    let bytes = memory.memory_heaps_as_slice().iter().filter(local).map(|heap| heap.size).max();
    let mut id = vk::PhysicalDeviceIDProperties::default();
    let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut id);
    // SAFETY: as above; `id` is the only structure in the chain and outlives the call. wgpu needs Vulkan 1.1, or the
    // extension that brings this call, for every adapter it shows.
    unsafe { instance.get_physical_device_properties2(device, &mut properties) };
    Physical { memory_bytes: bytes, uuid: uuid(&id.device_uuid) }
}

/// The text of a UUID; none where all bytes are zero.
fn uuid(bytes: &[u8; 16]) -> Option<String> {
    let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = [&hex[..4], &hex[4..6], &hex[6..8], &hex[8..10], &hex[10..]].map(<[String]>::concat);
    (*bytes != [0; 16]).then(|| parts.join("-"))
}

#[cfg(test)]
mod tests {
    use super::uuid;

    #[test]
    fn a_uuid_is_grouped_and_zeros_are_none() {
        let bytes = [0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(uuid(&bytes).as_deref(), Some("12345678-9abc-def0-0102-030405060708"));
        assert_eq!(uuid(&[0; 16]), None);
    }
}
