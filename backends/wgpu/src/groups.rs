//! Bind groups of eager launches, kept by what they bind.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use graphreel::error::Result;

use crate::gpu::{Gpu, resource_id};
use crate::pages::{PageKey, Pages, Spot};
use crate::pipeline::{GroupShape, Variant};

/// Groups kept outside windows. A window keeps every one (C-64).
const GROUPS_KEPT_MAX: usize = 4096;

/// What a group binds: a kernel's group, and the ranges in order of its slots.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct GroupKey {
    pipeline: u64,
    group: u32,
    spots: Vec<Spot>,
}

#[derive(Debug)]
struct Entry {
    id: u64,
    group: wgpu::BindGroup,
    used: u64,
}

/// A cache of bind groups, bounded unless a window is open.
#[derive(Debug, Default)]
pub(crate) struct GroupCache {
    entries: HashMap<GroupKey, Entry, BuildHasherDefault<WordHasher>>,
    scratch: GroupKey,
    clock: u64,
}

impl GroupCache {
    /// The group of `shape` over the arguments at `spots`, made now if it is not known. `keep_all` is Capture cache mode.
    ///
    /// # Errors
    ///
    /// As [`bind`].
    pub(crate) fn get(
        &mut self,
        gpu: &Gpu,
        pages: &Pages,
        kernel: &Variant,
        shape: &GroupShape,
        spots: &[Spot],
        keep_all: bool,
    ) -> Result<(u64, &wgpu::BindGroup)> {
        self.clock += 1;
        self.scratch.pipeline = kernel.id;
        self.scratch.group = shape.index;
        self.scratch.spots.clear();
        self.scratch.spots.extend(shape.slots.iter().map(|(_, argument)| spots[*argument]));
        if !self.entries.contains_key(&self.scratch) {
            if !keep_all && self.entries.len() >= GROUPS_KEPT_MAX {
                self.evict();
            }
            let group = bind(gpu, pages, shape, spots)?;
            self.entries.insert(self.scratch.clone(), Entry { id: resource_id(), group, used: 0 });
        }
        let entry = self.entries.get_mut(&self.scratch).expect("it was there or was just inserted");
        entry.used = self.clock;
        Ok((entry.id, &entry.group))
    }

    /// Forget groups over pages that went, so that the cache does not keep their memory.
    pub(crate) fn forget(&mut self, pages: &[PageKey]) {
        if !pages.is_empty() {
            self.entries.retain(|key, _| !key.spots.iter().any(|spot| pages.contains(&spot.page)));
        }
    }

    /// Groups kept now.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Drop the older half: the cost is spread over as many insertions.
    fn evict(&mut self) {
        let mut used: Vec<u64> = self.entries.values().map(|entry| entry.used).collect();
        let middle = used.len() / 2;
        let (_, median, _) = used.select_nth_unstable(middle);
        let median = *median;
        self.entries.retain(|_, entry| entry.used > median);
    }
}

/// A bind group of `shape` over `spots`, which are in order of the kernel's arguments.
///
/// # Errors
///
/// `DeviceFault` with what wgpu says, or the device's loss.
pub(crate) fn bind(gpu: &Gpu, pages: &Pages, shape: &GroupShape, spots: &[Spot]) -> Result<wgpu::BindGroup> {
    let entries: Vec<_> = shape
        .slots
        .iter()
        .map(|(binding, argument)| entry(pages.buffer(spots[*argument].page), *binding, &spots[*argument]))
        .collect();
    bind_entries(gpu, &shape.layout, &entries)
}

/// A bind group of `layout`.
///
/// # Errors
///
/// As [`bind`].
pub(crate) fn bind_entries(
    gpu: &Gpu,
    layout: &wgpu::BindGroupLayout,
    entries: &[wgpu::BindGroupEntry<'_>],
) -> Result<wgpu::BindGroup> {
    let descriptor = wgpu::BindGroupDescriptor { label: None, layout, entries };
    gpu.scoped(|| gpu.device.create_bind_group(&descriptor))
        .map_err(|caught| caught.into_fault(&gpu.monitor, "binding buffers"))
}

/// The entry that binds the bytes at `spot` of `buffer`.
pub(crate) fn entry<'a>(buffer: &'a wgpu::Buffer, binding: u32, spot: &Spot) -> wgpu::BindGroupEntry<'a> {
    wgpu::BindGroupEntry {
        binding,
        resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer,
            offset: spot.offset,
            size: wgpu::BufferSize::new(spot.padded()),
        }),
    }
}

/// Mixes words by multiplication: keys are numbers of ours, which nobody chooses to collide.
#[derive(Debug, Default)]
pub(crate) struct WordHasher(u64);

impl Hasher for WordHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}
