//! What the closures of `capture` and `profile` are given: it collects operations, and nothing runs.

use bytemuck::NoUninit;

use super::{Args, Buffer, BufferSlot, Device, Grid, GridParam, IntoGrid, Param, build};
use crate::error::Result;
use crate::kernel::{Kernel, Value};
use crate::memory::Account;
use crate::op::{self, BufferArg, Op};
use crate::recording::{Recorded, RecordingBuilder};
use crate::sync::Arc;

/// Collects the operations of a capture. Each is checked at its call, and a refused one is not recorded.
///
/// Nothing is launched while the closure runs, so a capture changes no buffer. Scalars given as plain numbers are frozen
/// in the graph and listed in its report; what shall change later is declared here: [`Capture::param`],
/// [`Capture::slot`] and [`Capture::grid_param`].
#[derive(Debug)]
pub struct Capture {
    device: Device,
    ops: Vec<Op>,
    recording: RecordingBuilder,
    label: Option<Arc<str>>,
    /// Who pays for what it allocates, where that is not the default account.
    account: Option<Account>,
}

impl Capture {
    pub(super) fn new(device: Device, label: Option<Arc<str>>, account: Option<Account>) -> Self {
        Self { device, ops: Vec::new(), recording: RecordingBuilder::new(label), label: None, account }
    }

    pub(super) fn into_parts(self) -> (Vec<Op>, Recorded) {
        (self.ops, self.recording.finish())
    }

    /// The device that is captured.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Operations recorded so far.
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// Whether nothing is recorded yet.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// Name the launches that follow, for reports, dumps and profiles.
    pub fn label(&mut self, label: &str) -> &mut Self {
        self.label = Some(label.into());
        self
    }

    /// Record a launch.
    ///
    /// # Errors
    ///
    /// Arguments that do not fit.
    pub fn launch(&mut self, kernel: &Kernel, grid: impl IntoGrid, args: impl Args) -> Result<()> {
        self.push(build::launch(kernel, grid, args)?)
    }

    /// Record a launch whose three `u32` of workgroups are read from `counts` at each replay; above `max` it runs nothing.
    ///
    /// # Errors
    ///
    /// Arguments that do not fit.
    pub fn launch_indirect<'a>(
        &mut self,
        kernel: &Kernel,
        counts: impl Into<BufferRef<'a>>,
        max: Grid,
        args: impl Args,
    ) -> Result<()> {
        self.push(build::launch_indirect(kernel, counts.into().into(), max, args)?)
    }

    /// Record a copy on the device. Lengths are equal and ranges do not overlap.
    ///
    /// # Errors
    ///
    /// Arguments that do not fit.
    pub fn copy<'a, 'b>(
        &mut self,
        source: impl Into<BufferRef<'a>>,
        destination: impl Into<BufferRef<'b>>,
    ) -> Result<()> {
        self.push(Op::Copy { src: source.into().into(), dst: destination.into().into() })
    }

    /// Record setting every 4-byte word of a buffer.
    ///
    /// # Errors
    ///
    /// Arguments that do not fit.
    pub fn fill<'a>(&mut self, buffer: impl Into<BufferRef<'a>>, word: u32) -> Result<()> {
        self.push(Op::Fill { dst: buffer.into().into(), word })
    }

    /// Record a host copy: the graph keeps the bytes and writes them at each replay.
    ///
    /// # Errors
    ///
    /// Data that does not fit.
    pub fn upload<T: NoUninit>(&mut self, buffer: &Buffer, data: &[T]) -> Result<()> {
        self.push(build::upload(buffer, data)?)
    }

    /// Reserve `bytes` of device memory for the graph. They stay unwritten until the first successful replay.
    ///
    /// # Errors
    ///
    /// `OutOfMemory`, `InvalidSize`.
    pub fn alloc(&mut self, bytes: u64) -> Result<Buffer> {
        match &self.account {
            Some(account) => self.device.alloc_charged(bytes, account),
            None => self.device.alloc(bytes),
        }
    }

    /// Declare a scalar that `graph.update` can change. Its name is unique in the graph; use the value it returns wherever
    /// the scalar is an argument.
    pub fn param(&mut self, name: &str, value: impl Into<Value>) -> Param {
        Param { name: name.into(), value: value.into() }
    }

    /// Declare a buffer that `graph.update` can replace by another of the same length.
    ///
    /// # Errors
    ///
    /// A buffer of another device.
    pub fn slot(&mut self, name: &str, buffer: &Buffer) -> Result<BufferSlot> {
        self.device.check_buffer(buffer)?;
        Ok(BufferSlot { name: name.into(), buffer: buffer.clone() })
    }

    /// Declare a grid that `graph.update` can change, up to `max`.
    pub fn grid_param(&mut self, name: &str, grid: Grid, max: Grid) -> GridParam {
        GridParam { name: name.into(), grid, max }
    }

    fn push(&mut self, mut op: Op) -> Result<()> {
        if let Op::Launch(launch) | Op::LaunchIndirect(op::LaunchIndirect { launch, .. }) = &mut op {
            launch.label.clone_from(&self.label);
        }
        let inner = &self.device.inner;
        op::check(&op, &inner.caps, inner.id)?;
        inner.prepare(&op)?;
        self.recording.push(&op)?;
        self.ops.push(op);
        Ok(())
    }
}

/// A buffer or a slot, where an operation of a capture takes either.
#[derive(Clone, Copy, Debug)]
pub enum BufferRef<'a> {
    /// Always this buffer.
    Buffer(&'a Buffer),
    /// A buffer that an update can replace.
    Slot(&'a BufferSlot),
}

impl<'a> From<&'a Buffer> for BufferRef<'a> {
    fn from(buffer: &'a Buffer) -> Self {
        Self::Buffer(buffer)
    }
}

impl<'a> From<&'a BufferSlot> for BufferRef<'a> {
    fn from(slot: &'a BufferSlot) -> Self {
        Self::Slot(slot)
    }
}

impl From<BufferRef<'_>> for BufferArg {
    fn from(buffer: BufferRef<'_>) -> Self {
        match buffer {
            BufferRef::Buffer(buffer) => buffer.into(),
            BufferRef::Slot(slot) => slot.into(),
        }
    }
}
