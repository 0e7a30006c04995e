//! Scalars for devices without immediates: small uniform entries, written once for each submission.
//!
//! An entry is read by one submission only, and `Queue::write_buffer` is ordered on the queue, so the same entries serve the
//! next submission at once.

use graphreel::ServerError;
use graphreel::error::Result;

use crate::gpu::Gpu;
use crate::groups::bind_entries;

/// Bytes between entries: every adapter's alignment of dynamic uniform offsets, and room for 128 bytes of scalars.
pub(crate) const ENTRY_BYTES: u32 = 256;

/// Entries of one chunk.
const CHUNK_ENTRIES: u32 = 256;

/// The layout of a group that holds one entry.
pub(crate) fn layout(device: &wgpu::Device) -> wgpu::BindGroupLayout {
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some("graphreel scalars"),
        entries: &[wgpu::BindGroupLayoutEntry {
            binding: 0,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty: wgpu::BufferBindingType::Uniform,
                has_dynamic_offset: true,
                min_binding_size: None,
            },
            count: None,
        }],
    })
}

/// Append an entry that holds `scalars` to `bytes`; its offset.
///
/// # Errors
///
/// As [`offset`]; nothing is appended then.
pub(crate) fn push_entry(bytes: &mut Vec<u8>, scalars: &[u8]) -> Result<u32> {
    let start = offset(bytes.len(), ENTRY_BYTES as usize)?;
    bytes.extend_from_slice(scalars);
    bytes.resize(start as usize + ENTRY_BYTES as usize, 0);
    Ok(start)
}

/// The offset of `more` bytes behind `held` ones. Offsets of scalars are 32 bits wide, as wgpu's dynamic offsets are.
///
/// # Errors
///
/// `Unsupported` where the bytes would end above 4 GiB.
pub(crate) fn offset(held: usize, more: usize) -> Result<u32> {
    let end = held.checked_add(more).and_then(|end| u32::try_from(end).ok());
    match (u32::try_from(held), end) {
        (Ok(start), Some(_)) => Ok(start),
        _ => Err(ServerError::unsupported(
            "more than 4 GiB of scalars in one recording",
            "record it as several graphs, or put the scalars into a buffer",
        )),
    }
}

/// A uniform buffer of entries, and the group that binds one of them at a dynamic offset.
#[derive(Debug)]
pub(crate) struct Entries {
    buffer: wgpu::Buffer,
    pub(crate) group: wgpu::BindGroup,
    /// What the buffer holds after the next [`Entries::write`].
    pub(crate) bytes: Vec<u8>,
}

impl Entries {
    /// Room for `count` entries.
    ///
    /// # Errors
    ///
    /// `OutOfMemory`, or the device's loss.
    pub(crate) fn new(gpu: &Gpu, count: u32) -> Result<Self> {
        let size = u64::from(count.max(1)) * u64::from(ENTRY_BYTES);
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let buffer = gpu.buffer("graphreel scalars", size, usage)?;
        let resource = wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer: &buffer,
            offset: 0,
            size: wgpu::BufferSize::new(u64::from(ENTRY_BYTES)),
        });
        let entries = [wgpu::BindGroupEntry { binding: 0, resource }];
        let group = bind_entries(gpu, &gpu.scalar_layout, &entries)?;
        Ok(Self { buffer, group, bytes: Vec::new() })
    }

    /// Hand the entries to the queue, ahead of the next submission.
    pub(crate) fn write(&self, queue: &wgpu::Queue) {
        if !self.bytes.is_empty() {
            queue.write_buffer(&self.buffer, 0, &self.bytes);
        }
    }
}

/// Entries for eager work.
#[derive(Debug, Default)]
pub(crate) struct ScalarRing {
    chunks: Vec<Entries>,
    used: usize,
}

impl ScalarRing {
    /// An entry of the submission being built: the chunk and the offset in it.
    ///
    /// # Errors
    ///
    /// As [`Entries::new`].
    pub(crate) fn push(&mut self, gpu: &Gpu, scalars: &[u8]) -> Result<(&wgpu::BindGroup, u32)> {
        let full = |chunk: &Entries| chunk.bytes.len() as u32 >= CHUNK_ENTRIES * ENTRY_BYTES;
        if self.chunks.get(self.used).is_some_and(full) {
            self.used += 1;
        }
        if self.used == self.chunks.len() {
            self.chunks.push(Entries::new(gpu, CHUNK_ENTRIES)?);
        }
        let chunk = &mut self.chunks[self.used];
        let offset = push_entry(&mut chunk.bytes, scalars)?;
        Ok((&chunk.group, offset))
    }

    /// Write what the submission uses and begin again.
    pub(crate) fn submit(&mut self, queue: &wgpu::Queue) {
        for chunk in &mut self.chunks {
            chunk.write(queue);
            chunk.bytes.clear();
        }
        self.used = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_lie_one_behind_the_other() {
        let mut bytes = Vec::new();
        assert_eq!(push_entry(&mut bytes, &[1, 2]).expect("room"), 0);
        assert_eq!(push_entry(&mut bytes, &[3]).expect("room"), ENTRY_BYTES);
        assert_eq!((bytes.len(), bytes[1], bytes[256]), (512, 2, 3));
    }

    #[test]
    fn offsets_above_4_gib_are_refused_and_do_not_wrap() {
        let most = u32::MAX as usize;
        assert_eq!(offset(most - 256, 256).expect("the last that fits"), u32::MAX - 256);
        for (held, more) in [(most - 255, 256), (most, 1), (most + 1, 0), (usize::MAX, 1)] {
            let error = offset(held, more).expect_err("no such offset");
            assert!(matches!(&error, ServerError::Unsupported { what, .. } if what.contains("4 GiB")), "{error}");
        }
    }
}
