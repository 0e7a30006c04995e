//! Mapped buffers that callers fill themselves: lent without the device's lock, unmapped and copied by the queue in the order
//! of the calls, and mapped again once the copy is done.

use std::any::Any;

use graphreel::ServerError;
use graphreel::book::Admission;
use graphreel::error::Result;
use graphreel::memory::{BufferBinding, DeviceId};
use graphreel::op::{Op, check_staged};
use graphreel::staging::{Staging, own};
use graphreel::stream::StreamId;
use graphreel::sync::{Arc, Mutex};
use graphreel::ticket::Fence;

use crate::batch::Scene;
use crate::fault::scoped;
use crate::fence::{Mapped, MappedAtEnd};
use crate::gpu::Gpu;
use crate::server::WgpuServer;

/// The smallest buffer.
const UPLOAD_BYTES_MIN: u64 = 64 << 10;

/// Buffers that came back, mapped or not: above this mapped ones are dropped.
const RETURNED_BYTES_MAX: u64 = 64 << 20;

/// Buffers that the queue still copies from: above this callers should wait.
const FLYING_BYTES_MAX: u64 = 16 << 20;

/// Bytes in a batch after which it is submitted, so that the device copies while the next bytes are filled in.
const BATCH_BYTES_MAX: u64 = 1 << 20;

/// Buffers that came back from their users.
#[derive(Clone, Debug, Default)]
struct Returned(Arc<Mutex<Vec<Remapped>>>);

/// A buffer whose mapping was asked for again.
type Remapped = (wgpu::Buffer, Arc<Mapped>);

/// The buffers of a device.
#[derive(Debug, Default)]
pub(crate) struct Uploads {
    returned: Returned,
    /// What the open batch copies from.
    copied: Vec<wgpu::Buffer>,
    copied_bytes: u64,
}

/// A buffer that a caller fills.
struct Lent {
    device: DeviceId,
    bytes: usize,
    buffer: wgpu::Buffer,
    /// Taken when the buffer is given to the queue.
    view: Option<wgpu::BufferViewMut>,
    returned: Returned,
}

impl Returned {
    /// Bytes that are not mapped yet.
    fn flying_bytes(&self) -> u64 {
        let returned = self.0.lock();
        returned.iter().filter(|(_, mapped)| mapped.outcome().is_none()).map(|(buffer, _)| buffer.size()).sum()
    }

    /// A mapped buffer of at least `bytes`, if there is one.
    fn take(&self, bytes: u64) -> Option<wgpu::Buffer> {
        let mut returned = self.0.lock();
        returned.retain(|(_, mapped)| mapped.outcome() != Some(false));
        let fits = |(buffer, mapped): &Remapped| mapped.outcome().is_some() && buffer.size() >= bytes;
        // The one that was used last: its bytes are still in the processor's cache.
        let index = returned.iter().rposition(fits)?;
        Some(returned.remove(index).0)
    }

    fn put(&self, buffer: wgpu::Buffer, mapped: Arc<Mapped>) {
        let mut returned = self.0.lock();
        returned.push((buffer, mapped));
        let mut bytes: u64 = returned.iter().map(|(buffer, _)| buffer.size()).sum();
        returned.retain(|(buffer, mapped)| {
            let goes = bytes > RETURNED_BYTES_MAX && mapped.outcome().is_some();
            bytes -= if goes { buffer.size() } else { 0 };
            !goes
        });
    }
}

impl Uploads {
    /// A mapped buffer of at least `bytes`, to fill.
    ///
    /// # Errors
    ///
    /// `OutOfMemory`, or the device's loss.
    fn lend(&self, gpu: &Gpu, bytes: u64, len: usize) -> Result<Lent> {
        let padded = bytes.next_multiple_of(wgpu::COPY_BUFFER_ALIGNMENT);
        loop {
            let found = self.returned.take(padded);
            let is_new = found.is_none();
            let buffer = found.map_or_else(|| mapped_buffer(gpu, padded), Ok)?;
            match buffer.get_mapped_range_mut(0..padded) {
                Ok(view) => {
                    let returned = self.returned.clone();
                    return Ok(Lent { device: gpu.info.id, bytes: len, buffer, view: Some(view), returned });
                }
                // A mapping whose end nobody told of: the next buffer will do.
                Err(_) if !is_new => {}
                Err(error) => {
                    gpu.monitor.check()?;
                    let fault =
                        |reason: String| ServerError::DeviceFault { origin: "staging".into(), reason: reason.into() };
                    return Err(fault(error.to_string()));
                }
            }
        }
    }

    /// The batch was submitted, or refused: what it copied from is mapped again once that is done.
    pub(crate) fn submitted(&mut self, gpu: &Gpu, accepted: bool) {
        self.copied_bytes = 0;
        for buffer in self.copied.drain(..).filter(|_| accepted) {
            let mapped = Arc::new(Mapped::default());
            let told = MappedAtEnd::new(&mapped);
            let map = || buffer.map_async(wgpu::MapMode::Write, .., move |outcome| told.note(outcome.is_ok()));
            if gpu.scoped(map).is_ok() {
                self.returned.put(buffer, mapped);
            }
        }
    }

    /// Whether more is on its way than should be.
    pub(crate) fn is_over(&self) -> bool {
        self.returned.flying_bytes() > FLYING_BYTES_MAX
    }

    /// Drop the buffers that nobody uses.
    pub(crate) fn clear(&self) {
        self.returned.0.lock().clear();
    }
}

/// wgpu zeroes what it maps at creation, so no earlier bytes of the host are seen.
fn mapped_buffer(gpu: &Gpu, bytes: u64) -> Result<wgpu::Buffer> {
    let size = bytes.max(UPLOAD_BYTES_MIN).checked_next_power_of_two().unwrap_or(bytes);
    let descriptor = wgpu::BufferDescriptor {
        label: Some("graphreel staged write"),
        size: if size > gpu.caps.buffer_bytes_max { bytes } else { size },
        usage: wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC,
        mapped_at_creation: true,
    };
    let made = gpu.scoped(|| gpu.device.create_buffer(&descriptor));
    made.map_err(|caught| caught.into_memory(&gpu.monitor, "staging memory", descriptor.size))
}

impl Staging for Lent {
    fn device(&self) -> DeviceId {
        self.device
    }

    #[expect(unsafe_code, reason = "wgpu lends mapped memory as a pointer, for its readers' sake")]
    fn bytes_mut(&mut self) -> &mut [u8] {
        let Some(view) = &mut self.view else { return &mut [] };
        let first = view.slice(..).as_raw_element_ptr();
        // SAFETY: the view has at least so many bytes, which wgpu initialised when it first mapped them, keeps mapped while the
        // view lives, and lends to this view alone. Memory that is slow to read is memory all the same.
        unsafe { std::slice::from_raw_parts_mut(first.as_ptr(), self.bytes) }
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        self
    }
}

impl Lent {
    /// The buffer, no longer mapped, with zeros behind its bytes up to a whole word.
    fn unmapped(mut self, gpu: &Gpu) -> Result<wgpu::Buffer> {
        let buffer = self.buffer.clone();
        if let Some(mut view) = self.view.take() {
            view.slice(self.bytes..).fill(0);
        }
        scoped(&gpu.device, || buffer.unmap()).map_err(|caught| caught.into_fault(&gpu.monitor, "a staged write"))?;
        Ok(buffer)
    }
}

impl Drop for Lent {
    /// Unused, it is still mapped.
    fn drop(&mut self) {
        if let Some(view) = self.view.take() {
            drop(view);
            let mapped = Arc::new(Mapped::default());
            mapped.note(true);
            self.returned.put(self.buffer.clone(), mapped);
        }
    }
}

impl WgpuServer {
    /// See [`graphreel::Server::stage`].
    pub(crate) fn lend(&mut self, bytes: u64) -> Result<Box<dyn Staging>> {
        let refuse = |problem: &str| Err(ServerError::InvalidSize { bytes, problem: problem.into() });
        let Ok(len) = usize::try_from(bytes) else { return refuse("it exceeds the host's memory") };
        if bytes == 0 || bytes > self.gpu.caps.buffer_bytes_max {
            return refuse("staging memory has at least one byte, and no more than a buffer of the device");
        }
        // Finished copies make their buffers free.
        self.submits.poll();
        Ok(Box::new(self.uploads.lend(&self.gpu, bytes, len)?))
    }

    /// See [`graphreel::Server::write_staged`].
    pub(crate) fn write_lent(&mut self, stream: StreamId, dst: BufferBinding, staged: Box<dyn Staging>) -> Result<()> {
        let here = self.gpu.info.id;
        let checked =
            own::<Lent>(staged, here).and_then(|lent| check_staged(&dst, lent.bytes as u64, here).map(|()| lent));
        let lent = checked.inspect_err(|error| self.book.doom(stream, error.clone()))?;
        let op = Op::staged_write(dst);
        match self.book.admit(stream, &op)? {
            // A host write is never recorded here (C-57).
            Admission::Record { .. } | Admission::Refused => Ok(()),
            Admission::Run | Admission::Side { .. } => self.run_lent(stream, &op, *lent),
        }
    }

    fn run_lent(&mut self, stream: StreamId, op: &Op, lent: Lent) -> Result<()> {
        let bytes = lent.bytes as u64;
        let scene = Scene { gpu: &self.gpu, pages: &self.pages, keep_all: !self.armed.is_empty() };
        let encoded = lent.unmapped(&self.gpu).and_then(|buffer| {
            self.batch.encode_staged(scene, op, &buffer)?;
            Ok(buffer)
        });
        match encoded {
            Ok(buffer) => self.uploads.copied.push(buffer),
            Err(error) => {
                self.book.failed(stream, op, &error);
                return Err(error);
            }
        }
        self.book.ran(op);
        self.uploads.copied_bytes += bytes;
        let full = self.batch.is_full(self.config.batch_operations_max);
        if full || self.uploads.copied_bytes >= BATCH_BYTES_MAX { self.submit_batch() } else { Ok(()) }
    }

    /// What to wait for before more is staged, when too much is.
    pub(crate) fn upload_pressure(&self) -> Option<Arc<dyn Fence>> {
        if self.uploads.is_over() { self.submits.oldest() } else { None }
    }
}
