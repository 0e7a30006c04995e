//! Eager work: operations of all streams in the order of their calls, encoded at once and submitted together.
//!
//! There is one batch for the whole device. Its queue runs what it is given in order, so the order of calls is one order of
//! all operations, and data is ordered across streams without an event. A batch is submitted when something waits for it,
//! when a graph is replayed, and when it is full.

use std::collections::HashSet;
use std::hash::BuildHasherDefault;
use std::ops::Range;

use graphreel::ServerError;
use graphreel::error::Result;
use graphreel::kernel::PackedScalars;
use graphreel::memory::{BufferBinding, ManagedMemoryId};
use graphreel::op::{Launch, LaunchIndirect, Op};

use crate::builtin::{Builtins, GRID_BYTES, fill_parts, guard_part};
use crate::gpu::Gpu;
use crate::groups::{GroupCache, WordHasher, bind_entries, entry};
use crate::pages::{PageKey, Pages, Spot};
use crate::pipeline::{Compiled, ScalarShape};
use crate::scalars::ScalarRing;
use crate::tape::Tape;

/// Host bytes written before a batch is submitted: wgpu holds them twice until then.
const HOST_BYTES_MAX: u64 = 64 << 20;

/// Pages by number.
type PageSet = HashSet<PageKey, BuildHasherDefault<WordHasher>>;

/// What is encoded and not submitted.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) builtins: Builtins,
    pub(crate) groups: GroupCache,
    tape: Option<Tape>,
    operations: usize,
    used: PageSet,
    outputs: Vec<(ManagedMemoryId, Range<u64>)>,
    /// Memory that went since the batch began. Ids are never used again, so a taint on one would stay for good.
    freed: Vec<ManagedMemoryId>,
    host_bytes: u64,
    ring: ScalarRing,
    scratch: Option<wgpu::Buffer>,
    grid: wgpu::Buffer,
    spots: Vec<Spot>,
}

/// What surrounds an operation that is encoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scene<'a> {
    pub(crate) gpu: &'a Gpu,
    pub(crate) pages: &'a Pages,
    /// Capture cache mode: nothing is evicted (C-64).
    pub(crate) keep_all: bool,
}

/// A batch that is no longer open: its commands, and what they would write.
#[derive(Debug)]
pub(crate) struct Closed {
    pub(crate) tape: Option<Tape>,
    pub(crate) outputs: Vec<(ManagedMemoryId, Range<u64>)>,
}

impl Batch {
    /// An empty batch.
    ///
    /// # Errors
    ///
    /// What making its kernels and buffers answers.
    pub(crate) fn new(gpu: &Gpu) -> Result<Self> {
        Ok(Self {
            builtins: Builtins::new(gpu)?,
            groups: GroupCache::default(),
            tape: None,
            operations: 0,
            used: PageSet::default(),
            outputs: Vec::new(),
            freed: Vec::new(),
            host_bytes: 0,
            ring: ScalarRing::default(),
            scratch: None,
            grid: gpu.buffer("graphreel grid", GRID_BYTES, crate::builtin::GRID_USAGE)?,
            spots: Vec::new(),
        })
    }

    /// Whether something waits to be submitted.
    pub(crate) fn has_work(&self) -> bool {
        self.tape.is_some() || self.host_bytes > 0
    }

    /// Whether it should be submitted now.
    pub(crate) fn is_full(&self, operations_max: usize) -> bool {
        self.operations >= operations_max || self.host_bytes >= HOST_BYTES_MAX
    }

    /// Use `tape`, which times what follows. The batch is empty.
    pub(crate) fn begin_timed(&mut self, tape: Tape) {
        self.tape = Some(tape);
    }

    /// Memory `id` is gone: a refusal of the batch must not be held against it.
    pub(crate) fn freed(&mut self, id: ManagedMemoryId) {
        if !self.outputs.is_empty() {
            self.freed.push(id);
        }
    }

    /// Take everything out, with host writes handed to the queue.
    pub(crate) fn close(&mut self, queue: &wgpu::Queue) -> Closed {
        self.ring.submit(queue);
        self.operations = 0;
        self.host_bytes = 0;
        self.used.clear();
        if !self.freed.is_empty() {
            self.freed.sort_unstable();
            self.outputs.retain(|(id, _)| self.freed.binary_search(id).is_err());
            self.freed.clear();
        }
        Closed { tape: self.tape.take(), outputs: std::mem::take(&mut self.outputs) }
    }

    /// Append an operation whose arguments were checked.
    ///
    /// # Errors
    ///
    /// `OutOfMemory`, `DeviceFault`, `ForeignHandle`: nothing that was asked for will run.
    pub(crate) fn encode(&mut self, scene: Scene<'_>, op: &Op) -> Result<()> {
        self.encode_from(scene, op, None)
    }

    /// As [`Batch::encode`] of a host write whose bytes are the first of `staged`.
    ///
    /// # Errors
    ///
    /// As [`Batch::encode`].
    pub(crate) fn encode_staged(&mut self, scene: Scene<'_>, op: &Op, staged: &wgpu::Buffer) -> Result<()> {
        self.encode_from(scene, op, Some(staged))
    }

    fn encode_from(&mut self, scene: Scene<'_>, op: &Op, staged: Option<&wgpu::Buffer>) -> Result<()> {
        let item = self.operations as u32;
        self.tape(scene.gpu)?.mark(item);
        match op {
            Op::Launch(launch) => self.launch(scene, launch, None),
            Op::LaunchIndirect(indirect) => self.launch_indirect(scene, indirect),
            Op::Copy { src, dst } => self.copy(scene, &src.binding, &dst.binding),
            Op::Fill { dst, word } => self.fill(scene, &dst.binding, *word),
            Op::Write { dst, bytes } | Op::Upload { dst, bytes } => match staged {
                Some(staged) => self.write_from(scene, &dst.binding, staged),
                None => self.write(scene, &dst.binding, bytes),
            },
        }?;
        self.operations += 1;
        op.for_each_use(|arg, access| {
            if access.writes() {
                self.outputs.push((arg.binding.memory.id(), arg.binding.range()));
            }
        });
        Ok(())
    }

    /// Zero a range, before anything that is encoded after it.
    ///
    /// # Errors
    ///
    /// As [`Batch::encode`].
    pub(crate) fn clear(&mut self, gpu: &Gpu, pages: &Pages, spot: &Spot) -> Result<()> {
        self.used.insert(spot.page);
        self.tape(gpu)?.clear(pages.buffer(spot.page), spot.offset, spot.padded());
        Ok(())
    }

    /// Copy a range to a staging buffer.
    ///
    /// # Errors
    ///
    /// As [`Batch::encode`].
    pub(crate) fn read(&mut self, scene: Scene<'_>, spot: &Spot, staging: &wgpu::Buffer, at: u64) -> Result<()> {
        let tape = self.tape(scene.gpu)?;
        tape.copy((scene.pages.buffer(spot.page), spot.offset), (staging, at), spot.padded());
        self.used.insert(spot.page);
        Ok(())
    }

    fn tape(&mut self, gpu: &Gpu) -> Result<&mut Tape> {
        if self.tape.is_none() {
            let made = gpu.scoped(|| Tape::new(&gpu.device, "graphreel batch", None));
            self.tape = Some(made.map_err(|caught| caught.into_memory(&gpu.monitor, "a command encoder", 0))?);
        }
        Ok(self.tape.as_mut().expect("just made"))
    }

    /// The tape, which `encode` has opened, beside the other parts.
    fn launch(&mut self, scene: Scene<'_>, launch: &Launch, counts: Option<(Spot, [u32; 3])>) -> Result<()> {
        let Scene { gpu, pages, keep_all } = scene;
        let here = gpu.info.id.0;
        let compiled = launch.kernel.compiled::<Compiled>().ok_or_else(|| foreign_kernel(launch, here))?;
        self.spots.clear();
        for arg in &launch.buffers {
            let spot = pages.locate(&arg.binding, here)?;
            self.used.insert(spot.page);
            self.spots.push(spot);
        }
        if let Some((spot, most)) = counts {
            self.guard(scene, &spot, most)?;
        }
        let variant = compiled.variant(|argument| self.spots[argument].page)?;
        let tape = self.tape.as_mut().expect("encode opened it");
        tape.pipeline(variant.id, &variant.pipeline);
        for shape in &variant.groups {
            let (id, group) = self.groups.get(gpu, pages, variant, shape, &self.spots, keep_all)?;
            tape.group(shape.index, id, group);
        }
        if compiled.scalars != ScalarShape::None {
            let values = launch.values.iter().map(graphreel::op::ValueArg::value);
            let packed = PackedScalars::new(launch.kernel.reflection(), values);
            match compiled.scalars {
                ScalarShape::Uniform(index) => {
                    let (group, offset) = self.ring.push(gpu, packed.bytes())?;
                    tape.group_at(index, group, offset);
                }
                _ => tape.immediates(packed.bytes()),
            }
        }
        match counts {
            Some(_) => tape.dispatch_indirect(&self.grid),
            None => tape.dispatch(launch.grid.groups()),
        }
        Ok(())
    }

    fn launch_indirect(&mut self, scene: Scene<'_>, indirect: &LaunchIndirect) -> Result<()> {
        let spot = scene.pages.locate(&indirect.counts.binding, scene.gpu.info.id.0)?;
        self.used.insert(spot.page);
        self.launch(scene, &indirect.launch, Some((spot, indirect.launch.grid.groups())))
    }

    /// Put the counts at `spot`, or zeros where one is above `most`, into the batch's own grid buffer. One buffer serves
    /// all: the queue keeps each guard before its dispatch and after the one before.
    fn guard(&mut self, scene: Scene<'_>, spot: &Spot, most: [u32; 3]) -> Result<()> {
        let Scene { gpu, pages, .. } = scene;
        let (offset, bytes, scalars) = guard_part(gpu, spot.offset, most);
        let bound = Spot { page: spot.page, offset, bytes };
        let grid = wgpu::BindGroupEntry { binding: 1, resource: self.grid.as_entire_binding() };
        let entries = [entry(pages.buffer(spot.page), 0, &bound), grid];
        let group = bind_entries(gpu, &self.builtins.guard.layout, &entries)?;
        let tape = self.tape.as_mut().expect("encode opened it");
        tape.pipeline(self.builtins.guard.id, &self.builtins.guard.pipeline);
        tape.group(0, crate::gpu::resource_id(), &group);
        let (scalar_group, at) = self.ring.push(gpu, &scalars)?;
        tape.group_at(1, scalar_group, at);
        tape.dispatch([1, 1, 1]);
        Ok(())
    }

    fn copy(&mut self, scene: Scene<'_>, src: &BufferBinding, dst: &BufferBinding) -> Result<()> {
        let Scene { gpu, pages, .. } = scene;
        let (from, to) = (pages.locate(src, gpu.info.id.0)?, pages.locate(dst, gpu.info.id.0)?);
        self.used.extend([from.page, to.page]);
        let bytes = to.padded();
        if from.page != to.page {
            let tape = self.tape.as_mut().expect("encode opened it");
            tape.copy((pages.buffer(from.page), from.offset), (pages.buffer(to.page), to.offset), bytes);
            return Ok(());
        }
        if self.scratch.as_ref().is_none_or(|scratch| scratch.size() < bytes) {
            let usage = wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
            // A smaller one that is in use lives until its copies are done.
            self.scratch = Some(gpu.buffer("graphreel scratch", bytes, usage)?);
        }
        if let (Some(scratch), Some(tape)) = (&self.scratch, &mut self.tape) {
            tape.copy_within(pages.buffer(to.page), from.offset, to.offset, bytes, scratch);
        }
        Ok(())
    }

    fn fill(&mut self, scene: Scene<'_>, dst: &BufferBinding, word: u32) -> Result<()> {
        let Scene { gpu, pages, .. } = scene;
        let spot = pages.locate(dst, gpu.info.id.0)?;
        self.used.insert(spot.page);
        let tape = self.tape.as_mut().expect("encode opened it");
        if word == 0 {
            tape.clear(pages.buffer(spot.page), spot.offset, spot.padded());
            return Ok(());
        }
        for part in fill_parts(gpu, spot.offset, spot.padded(), word) {
            let bound = Spot { page: spot.page, offset: part.offset, bytes: part.bytes };
            let entries = [entry(pages.buffer(spot.page), 0, &bound)];
            let group = bind_entries(gpu, &self.builtins.fill.layout, &entries)?;
            tape.pipeline(self.builtins.fill.id, &self.builtins.fill.pipeline);
            tape.group(0, crate::gpu::resource_id(), &group);
            let (scalar_group, at) = self.ring.push(gpu, &part.scalars)?;
            tape.group_at(1, scalar_group, at);
            tape.dispatch([part.groups, 1, 1]);
        }
        Ok(())
    }

    fn write_from(&mut self, scene: Scene<'_>, dst: &BufferBinding, staged: &wgpu::Buffer) -> Result<()> {
        let Scene { gpu, pages, .. } = scene;
        let spot = pages.locate(dst, gpu.info.id.0)?;
        self.used.insert(spot.page);
        let tape = self.tape.as_mut().expect("encode opened it");
        tape.copy((staged, 0), (pages.buffer(spot.page), spot.offset), spot.padded());
        Ok(())
    }

    /// Queue host bytes. A write through the queue runs before the whole batch, so it serves only pages that the batch does
    /// not use yet; else the bytes are staged and copied in their turn.
    fn write(&mut self, scene: Scene<'_>, dst: &BufferBinding, bytes: &[u8]) -> Result<()> {
        let Scene { gpu, pages, .. } = scene;
        let spot = pages.locate(dst, gpu.info.id.0)?;
        self.host_bytes += spot.padded();
        let tape = self.tape.as_mut().expect("encode opened it");
        if self.used.contains(&spot.page) || tape.is_timed() {
            self.used.insert(spot.page);
            let staging = gpu.buffer_with("graphreel write", bytes)?;
            tape.copy((&staging, 0), (pages.buffer(spot.page), spot.offset), spot.padded());
            return Ok(());
        }
        let padded: Vec<u8>;
        let bytes = if bytes.len() as u64 == spot.padded() {
            bytes
        } else {
            padded = bytes.iter().copied().chain(std::iter::repeat(0)).take(spot.padded() as usize).collect();
            &padded
        };
        gpu.scoped(|| gpu.queue.write_buffer(pages.buffer(spot.page), spot.offset, bytes))
            .map_err(|caught| caught.into_memory(&gpu.monitor, "a host write", spot.padded()))
    }
}

fn foreign_kernel(launch: &Launch, here: u64) -> ServerError {
    ServerError::ForeignHandle {
        what: format!("kernel `{}`", launch.kernel.entry()).into(),
        of: launch.kernel.device().0,
        here,
    }
}
