//! Encodes operations one after another, opening passes and setting state only where it changes.
//!
//! Eager batches and replays both write through a tape, so they differ in what is known beforehand and in nothing else.

use crate::timing::{StampReader, Stamps};

/// Bind groups that a pass can hold at once: the most that any wgpu adapter offers.
pub(crate) const GROUPS_MAX: usize = 8;

/// State that is not set: no resource has this number.
const UNSET: u64 = 0;

/// A command encoder with what its open pass has set.
#[derive(Debug)]
pub(crate) struct Tape {
    // The pass goes before its encoder.
    pass: Option<wgpu::ComputePass<'static>>,
    encoder: wgpu::CommandEncoder,
    pipeline: u64,
    groups: [u64; GROUPS_MAX],
    stamps: Option<Stamps>,
    open_stamp: Option<u32>,
}

impl Tape {
    /// An empty tape; with `stamps`, each operation marked by [`Tape::mark`] is timed.
    pub(crate) fn new(device: &wgpu::Device, label: &'static str, stamps: Option<Stamps>) -> Self {
        let encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some(label) });
        Self { pass: None, encoder, pipeline: UNSET, groups: [UNSET; GROUPS_MAX], stamps, open_stamp: None }
    }

    /// Whether each operation gets a time.
    pub(crate) const fn is_timed(&self) -> bool {
        self.stamps.is_some()
    }

    /// The operation `item` begins: it gets a pass, or timestamps, of its own when the tape is timed.
    pub(crate) fn mark(&mut self, item: u32) {
        if self.stamps.is_some() {
            self.end_pass();
            self.open_stamp = Some(item);
        }
    }

    /// Set the pipeline numbered `id`.
    pub(crate) fn pipeline(&mut self, id: u64, pipeline: &wgpu::ComputePipeline) {
        if self.pipeline != id || self.pass.is_none() {
            self.pass().set_pipeline(pipeline);
            self.pipeline = id;
        }
    }

    /// Set the bind group numbered `id` at `index`.
    pub(crate) fn group(&mut self, index: u32, id: u64, group: &wgpu::BindGroup) {
        let set = self.pass.is_some() && self.groups.get(index as usize) == Some(&id);
        if !set {
            self.pass().set_bind_group(index, group, &[]);
            if let Some(slot) = self.groups.get_mut(index as usize) {
                *slot = id;
            }
        }
    }

    /// Set a bind group whose one binding starts `offset` bytes in.
    pub(crate) fn group_at(&mut self, index: u32, group: &wgpu::BindGroup, offset: u32) {
        self.pass().set_bind_group(index, group, &[offset]);
        if let Some(slot) = self.groups.get_mut(index as usize) {
            *slot = UNSET;
        }
    }

    /// Set the immediate bytes.
    pub(crate) fn immediates(&mut self, bytes: &[u8]) {
        self.pass().set_immediates(0, bytes);
    }

    /// Run what is set.
    pub(crate) fn dispatch(&mut self, groups: [u32; 3]) {
        self.pass().dispatch_workgroups(groups[0], groups[1], groups[2]);
    }

    /// Run what is set over the counts in `buffer`.
    pub(crate) fn dispatch_indirect(&mut self, buffer: &wgpu::Buffer) {
        self.pass().dispatch_workgroups_indirect(buffer, 0);
    }

    /// Copy between two buffers.
    pub(crate) fn copy(&mut self, from: (&wgpu::Buffer, u64), to: (&wgpu::Buffer, u64), bytes: u64) {
        self.outside_pass(|encoder| encoder.copy_buffer_to_buffer(from.0, from.1, to.0, to.1, bytes));
    }

    /// Copy within one buffer, which wgpu refuses in one step, through `scratch`.
    pub(crate) fn copy_within(
        &mut self,
        buffer: &wgpu::Buffer,
        from: u64,
        to: u64,
        bytes: u64,
        scratch: &wgpu::Buffer,
    ) {
        self.outside_pass(|encoder| {
            encoder.copy_buffer_to_buffer(buffer, from, scratch, 0, bytes);
            encoder.copy_buffer_to_buffer(scratch, 0, buffer, to, bytes);
        });
    }

    /// Zero a range.
    pub(crate) fn clear(&mut self, buffer: &wgpu::Buffer, offset: u64, bytes: u64) {
        self.outside_pass(|encoder| encoder.clear_buffer(buffer, offset, Some(bytes)));
    }

    /// The finished commands. A timed tape also copies its timestamps to `readback` (as many bytes as it answers), to be
    /// read as it answers.
    pub(crate) fn finish(
        mut self,
        readback: Option<&wgpu::Buffer>,
    ) -> (wgpu::CommandBuffer, Option<(StampReader, u64)>) {
        self.end_pass();
        let stamps = self.stamps.take().map(|stamps| {
            let (resolved, bytes) = stamps.buffer();
            if let Some(readback) = readback.filter(|_| bytes > 0) {
                stamps.resolve(&mut self.encoder);
                self.encoder.copy_buffer_to_buffer(resolved, 0, readback, 0, bytes);
            }
            (stamps.reader(), bytes)
        });
        (self.encoder.finish(), stamps)
    }

    fn end_pass(&mut self) {
        self.pass = None;
        self.pipeline = UNSET;
        self.groups = [UNSET; GROUPS_MAX];
    }

    fn outside_pass(&mut self, work: impl FnOnce(&mut wgpu::CommandEncoder)) {
        self.end_pass();
        let stamp = self.open_stamp.take();
        if let (Some(stamps), Some(item)) = (&mut self.stamps, stamp) {
            stamps.before(&mut self.encoder, item);
        }
        work(&mut self.encoder);
        if let (Some(stamps), Some(item)) = (&mut self.stamps, stamp) {
            stamps.after(&mut self.encoder, item);
        }
    }

    fn pass(&mut self) -> &mut wgpu::ComputePass<'static> {
        let Self { pass, encoder, stamps, open_stamp, .. } = self;
        pass.get_or_insert_with(|| {
            let writes = match (stamps, open_stamp.take()) {
                (Some(stamps), Some(item)) => stamps.pass_writes(item),
                _ => None,
            };
            encoder
                .begin_compute_pass(&wgpu::ComputePassDescriptor { label: None, timestamp_writes: writes })
                .forget_lifetime()
        })
    }
}
