//! A stream handle: the plain calls on a stream of choice, and the explicit steps of a capture.

use std::time::Duration;

use bytemuck::{AnyBitPattern, NoUninit};

use super::inner::DeviceInner;
use super::wait::Pending;
use super::{Args, Buffer, Device, Graph, IntoGrid, build};
use crate::error::{GraphOp, Result};
use crate::kernel::Kernel;
use crate::op::Op;
use crate::server::{CaptureOptions, CaptureStatus, WaitMode};
use crate::stream::StreamId;
use crate::sync::Arc;
use crate::sync::atomic::{AtomicU64, Ordering};

/// A logical stream of a device. Work on it runs in the order of the calls; work on other streams is ordered by the data
/// it shares.
///
/// A capture by explicit steps must be one logical stream from prepare to end (C-19): this handle is pinned to its
/// stream, whatever thread uses it. Streams share pooled ones, and all that share one pay for its window (C-60): use
/// [`Device::capture`], which leases a slot of its own, or a stream that is otherwise unused. Dropping the last clone
/// aborts a window that it opened.
#[derive(Clone, Debug)]
pub struct Stream(Arc<StreamInner>);

#[derive(Debug)]
struct StreamInner {
    device: Device,
    id: StreamId,
    /// The number of the last window that this handle opened; 0 for none.
    opened: AtomicU64,
}

/// Numbers of windows that handles opened.
static NEXT_WINDOW: AtomicU64 = AtomicU64::new(1);

impl Drop for StreamInner {
    fn drop(&mut self) {
        let opened = self.opened.load(Ordering::Acquire);
        if opened == 0 {
            return;
        }
        let mut server = self.device.inner.lock();
        // Only its own window: the slot may hold another stream's by now, or one that another handle on this stream opened.
        let latest = {
            let mut windows = self.device.inner.windows.lock();
            let latest = windows.get(&self.id) == Some(&opened);
            if latest {
                windows.remove(&self.id);
            }
            latest
        };
        if latest
            && server.capture_status(self.id).owner == Some(self.id)
            && let Err(error) = server.graph_abort(self.id)
        {
            tracing::warn!(%error, stream = ?self.id, "the window of a dropped stream could not be aborted");
        }
    }
}

impl Stream {
    pub(super) fn new(device: Device, id: StreamId) -> Self {
        Self(Arc::new(StreamInner { device, id, opened: AtomicU64::new(0) }))
    }

    /// Its name.
    pub fn id(&self) -> StreamId {
        self.0.id
    }

    /// The device it belongs to.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// Run `kernel` over `grid` with `args`.
    ///
    /// # Errors
    ///
    /// Arguments that do not fit; `Tainted` when an input carries a failure; `GraphState` inside a capture closure.
    pub fn launch(&self, kernel: &Kernel, grid: impl IntoGrid, args: impl Args) -> Result<()> {
        self.submit(build::launch(kernel, grid, args))
    }

    /// Run `kernel` over the three `u32` that `counts` holds when it runs; above `max` it runs nothing.
    ///
    /// # Errors
    ///
    /// As [`Stream::launch`].
    pub fn launch_indirect(&self, kernel: &Kernel, counts: &Buffer, max: impl IntoGrid, args: impl Args) -> Result<()> {
        self.submit(build::launch_indirect(kernel, counts.into(), max, args))
    }

    /// Copy on the device. Lengths are equal and ranges do not overlap.
    ///
    /// # Errors
    ///
    /// As [`Stream::launch`].
    pub fn copy(&self, source: &Buffer, destination: &Buffer) -> Result<()> {
        self.submit(Ok(Op::Copy { src: source.into(), dst: destination.into() }))
    }

    /// Set every 4-byte word of a buffer.
    ///
    /// # Errors
    ///
    /// As [`Stream::launch`].
    pub fn fill(&self, buffer: &Buffer, word: u32) -> Result<()> {
        self.submit(Ok(Op::Fill { dst: buffer.into(), word }))
    }

    /// Write `data` at the start of `buffer`. Inside a window of a software graph this dooms the window (C-57); use
    /// [`Stream::upload`] there.
    ///
    /// # Errors
    ///
    /// As [`Buffer::write`].
    pub fn write<T: NoUninit>(&self, buffer: &Buffer, data: &[T]) -> Result<()> {
        self.0.device.inner.or_doom(self.0.id, self.0.device.check_buffer(buffer))?;
        buffer.write_on(self.0.id, data)
    }

    /// Write `data` at the start of `buffer` by a host copy that every backend records, with its bytes.
    ///
    /// # Errors
    ///
    /// As [`Buffer::write`].
    pub fn upload<T: NoUninit>(&self, buffer: &Buffer, data: &[T]) -> Result<()> {
        self.submit(build::upload(buffer, data))
    }

    /// Read a buffer, after all work queued on it.
    ///
    /// # Errors
    ///
    /// As [`Buffer::read`].
    pub fn read<T: AnyBitPattern>(&self, buffer: &Buffer) -> Result<Vec<T>> {
        self.0.device.check_buffer(buffer)?;
        buffer.read_on(self.0.id, WaitMode::Blocking)?.wait()
    }

    /// As [`Stream::read`], as a future or to wait for later.
    ///
    /// # Errors
    ///
    /// As [`Buffer::read`], for what is known at once.
    pub fn read_async<T: AnyBitPattern>(&self, buffer: &Buffer) -> Result<Pending<Vec<T>>> {
        self.0.device.check_buffer(buffer)?;
        buffer.read_on(self.0.id, WaitMode::Future)
    }

    /// Hand everything queued so far to the device.
    ///
    /// # Errors
    ///
    /// What the driver answers; `GraphState` inside a capture closure.
    pub fn flush(&self) -> Result<()> {
        self.outside(GraphOp::Flush, "a flush after the capture")?.lock_on(self.0.id)?.flush(self.0.id)
    }

    /// Block until all work queued on this stream is done, for at most `Config::wait_max`.
    ///
    /// # Errors
    ///
    /// `GraphState` where a window refuses it, `Timeout`, `DeviceLost`.
    pub fn sync(&self) -> Result<()> {
        self.start_sync(WaitMode::Blocking)?.wait()
    }

    /// As [`Stream::sync`], for at most `timeout`.
    ///
    /// # Errors
    ///
    /// As [`Stream::sync`].
    pub fn sync_for(&self, timeout: Duration) -> Result<()> {
        self.start_sync(WaitMode::Blocking)?.wait_for(timeout)
    }

    /// As [`Stream::sync`], as a future or to wait for later.
    ///
    /// # Errors
    ///
    /// As [`Stream::sync`], for what is known at once.
    pub fn sync_async(&self) -> Result<Pending<()>> {
        self.start_sync(WaitMode::Future)
    }

    fn start_sync(&self, mode: WaitMode) -> Result<Pending<()>> {
        let inner = &self.0.device.inner;
        inner.refuse_in_closure(GraphOp::Sync, "a sync after the capture")?;
        let ticket = inner.lock_on(self.0.id)?.sync(self.0.id, mode)?;
        Ok(Pending::new(inner.clone(), ticket, "a sync"))
    }

    /// Open a window with the default options. Until [`Stream::begin_capture`] work still runs: a warmup here sizes pools
    /// and fills caches.
    ///
    /// # Errors
    ///
    /// `GraphState` when a window is active on this stream's slot.
    pub fn graph_prepare(&self) -> Result<()> {
        self.graph_prepare_with(CaptureOptions::default())
    }

    /// As [`Stream::graph_prepare`], with a policy and a label.
    ///
    /// # Errors
    ///
    /// As [`Stream::graph_prepare`]; `TierRefused` when the policy cannot be met.
    pub fn graph_prepare_with(&self, options: CaptureOptions) -> Result<()> {
        let inner = &self.0.device.inner;
        inner.refuse_in_closure(GraphOp::Prepare, "the capture that is running")?;
        if self.0.id.turn() == 0 {
            inner.refuse_if_managed("a capture")?;
        }
        let mut server = inner.lock_on(self.0.id)?;
        server.graph_prepare(self.0.id, options)?;
        let window = NEXT_WINDOW.fetch_add(1, Ordering::Relaxed);
        inner.windows.lock().insert(self.0.id, window);
        self.0.opened.store(window, Ordering::Release);
        Ok(())
    }

    /// Start recording: from here work of this stream is recorded and does not run.
    ///
    /// # Errors
    ///
    /// `GraphState` without a prepared window of this stream, and inside a capture closure.
    pub fn begin_capture(&self) -> Result<()> {
        self.outside(GraphOp::Begin, "begin_capture after the capture")?.lock_on(self.0.id)?.begin_capture(self.0.id)
    }

    /// Close the window and seal what it recorded. The slot is usable afterwards in every case.
    ///
    /// # Errors
    ///
    /// What doomed the window; `GraphState` when it belongs to another stream, recorded nothing, or does not record; and
    /// inside a capture closure.
    pub fn end_capture(&self) -> Result<Graph> {
        let inner = self.outside(GraphOp::End, "end_capture after the capture")?;
        let sealed = inner.lock_on(self.0.id)?.end_capture(self.0.id)?;
        Ok(Graph::new(self.0.device.clone(), sealed, (self.0.id.turn() != 0).then_some(self.0.id)))
    }

    /// Drop the window and what it recorded. A prepared window may be dropped by anyone.
    ///
    /// # Errors
    ///
    /// `GraphState` when another stream records on this slot, and inside a capture closure.
    pub fn graph_abort(&self) -> Result<()> {
        self.outside(GraphOp::Abort, "graph_abort after the capture")?.lock_on(self.0.id)?.graph_abort(self.0.id)
    }

    /// Where this stream's slot is in its capture lifecycle.
    pub fn capture_status(&self) -> CaptureStatus {
        self.0.device.inner.lock().capture_status(self.0.id)
    }

    /// The device, for a call that is no part of a capture closure.
    fn outside(&self, call: GraphOp, instead: &'static str) -> Result<&DeviceInner> {
        let inner = &self.0.device.inner;
        inner.refuse_in_closure(call, instead)?;
        Ok(inner)
    }

    fn submit(&self, op: Result<Op>) -> Result<()> {
        let inner = &self.0.device.inner;
        inner.submit(self.0.id, inner.or_doom(self.0.id, op)?)
    }
}
