//! The wgpu device with what is known about it, shared by everything that may run without the server's lock.

use std::panic::{AssertUnwindSafe, catch_unwind};

use graphreel::device::Monitor;
use graphreel::sync::Arc;
use graphreel::sync::atomic::{AtomicU64, Ordering};
use graphreel::{Caps, DeviceInfo, ServerError};

use crate::fault::{Caught, Faults, scoped};

static NEXT_RESOURCE: AtomicU64 = AtomicU64::new(1);

/// A number for a pipeline or bind group, so that "already set" is one comparison. Never 0, never used twice.
pub(crate) fn resource_id() -> u64 {
    NEXT_RESOURCE.fetch_add(1, Ordering::Relaxed)
}

/// wgpu's queue. Its last handle waits for the device, and panics when the driver has lost it: that stays in here.
#[derive(Debug)]
pub(crate) struct Queue(Option<wgpu::Queue>);

impl Queue {
    /// The queue.
    pub(crate) const fn new(queue: wgpu::Queue) -> Self {
        Self(Some(queue))
    }
}

impl std::ops::Deref for Queue {
    type Target = wgpu::Queue;

    fn deref(&self) -> &wgpu::Queue {
        self.0.as_ref().expect("it is taken only by the drop")
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let queue = self.0.take();
        if catch_unwind(AssertUnwindSafe(|| drop(queue))).is_err() {
            tracing::warn!("wgpu's queue could not be closed in order, since its device is lost");
        }
    }
}

/// A wgpu device, its queue, and what they can do.
#[derive(Debug)]
pub(crate) struct Gpu {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: Queue,
    pub(crate) features: wgpu::Features,
    pub(crate) limits: wgpu::Limits,
    pub(crate) info: DeviceInfo,
    pub(crate) caps: Caps,
    pub(crate) monitor: Arc<Monitor>,
    pub(crate) faults: Faults,
    /// The layout of the one uniform that stands for a kernel's scalars.
    pub(crate) scalar_layout: wgpu::BindGroupLayout,
}

impl Gpu {
    /// Run `work` with wgpu's errors caught.
    pub(crate) fn scoped<T>(&self, work: impl FnOnce() -> T) -> Result<T, Caught> {
        scoped(&self.device, work)
    }

    /// A new buffer.
    ///
    /// # Errors
    ///
    /// `OutOfMemory` by the device, or its loss.
    pub(crate) fn buffer(
        &self,
        label: &'static str,
        bytes: u64,
        usage: wgpu::BufferUsages,
    ) -> Result<wgpu::Buffer, ServerError> {
        let descriptor = wgpu::BufferDescriptor { label: Some(label), size: bytes, usage, mapped_at_creation: false };
        self.scoped(|| self.device.create_buffer(&descriptor))
            .map_err(|caught| caught.into_memory(&self.monitor, label, bytes))
    }

    /// A new buffer of zeros, which go to the device ahead of the next submission. wgpu zeroes what it maps at creation.
    ///
    /// # Errors
    ///
    /// As [`Gpu::buffer`].
    pub(crate) fn zeroed_buffer(
        &self,
        label: &'static str,
        bytes: u64,
        usage: wgpu::BufferUsages,
    ) -> Result<wgpu::Buffer, ServerError> {
        let descriptor = wgpu::BufferDescriptor { label: Some(label), size: bytes, usage, mapped_at_creation: true };
        let make = || {
            let buffer = self.device.create_buffer(&descriptor);
            buffer.unmap();
            buffer
        };
        self.scoped(make).map_err(|caught| caught.into_memory(&self.monitor, label, bytes))
    }

    /// A new buffer that holds `bytes`, padded with zeros to a multiple of 4.
    ///
    /// # Errors
    ///
    /// As [`Gpu::buffer`].
    pub(crate) fn buffer_with(&self, label: &'static str, bytes: &[u8]) -> Result<wgpu::Buffer, ServerError> {
        let size = (bytes.len() as u64).next_multiple_of(wgpu::COPY_BUFFER_ALIGNMENT).max(wgpu::COPY_BUFFER_ALIGNMENT);
        let make = || {
            let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(label),
                size,
                usage: wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: true,
            });
            // A buffer that could not be made cannot be mapped either: the scope holds the cause.
            let filled = buffer.get_mapped_range_mut(..).map(|mut view| {
                view.slice(..bytes.len()).copy_from_slice(bytes);
            });
            buffer.unmap();
            filled.map(|()| buffer)
        };
        match self.scoped(make) {
            Ok(Ok(buffer)) => Ok(buffer),
            Ok(Err(error)) => Err(Caught { out_of_memory: true, text: error.to_string() }),
            Err(caught) => Err(caught),
        }
        .map_err(|caught| caught.into_memory(&self.monitor, label, size))
    }
}
