//! Staging buffers through which the host reads, pooled and returned by their drop.

use graphreel::ServerError;
use graphreel::error::Result;
use graphreel::op::Bytes;
use graphreel::sync::{Arc, Mutex};

use crate::fault::scoped;
use crate::fence::{Mapped, MappedAtEnd};
use crate::gpu::Gpu;

/// The smallest staging buffer.
const STAGING_BYTES_MIN: u64 = 64 << 10;

/// Free buffers that are kept, and the largest kept one.
const FREE_MAX: usize = 8;
const FREE_BYTES_MAX: u64 = 16 << 20;

/// Free staging buffers.
#[derive(Clone, Debug, Default)]
pub(crate) struct StagingPool(Arc<Mutex<Vec<wgpu::Buffer>>>);

/// A staging buffer in use; it goes back when dropped, read or not.
#[derive(Debug)]
pub(crate) struct Staging {
    device: wgpu::Device,
    buffer: Option<wgpu::Buffer>,
    mapped: Option<Arc<Mapped>>,
    pool: StagingPool,
}

impl StagingPool {
    /// A buffer of at least `bytes`.
    ///
    /// # Errors
    ///
    /// `OutOfMemory`, or the device's loss.
    pub(crate) fn take(&self, gpu: &Gpu, bytes: u64) -> Result<Staging> {
        let reused = {
            let mut free = self.0.lock();
            let fit = free.iter().position(|buffer| buffer.size() >= bytes);
            fit.map(|index| free.swap_remove(index))
        };
        let buffer = match reused {
            Some(buffer) => buffer,
            None => {
                let size = bytes.max(STAGING_BYTES_MIN).checked_next_power_of_two().unwrap_or(bytes);
                let size = if size > gpu.caps.buffer_bytes_max { bytes } else { size };
                gpu.buffer("graphreel read", size, wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST)?
            }
        };
        Ok(Staging { device: gpu.device.clone(), buffer: Some(buffer), mapped: None, pool: self.clone() })
    }

    /// Drop the free buffers.
    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }
}

impl Staging {
    /// The buffer.
    pub(crate) fn buffer(&self) -> &wgpu::Buffer {
        self.buffer.as_ref().expect("it is taken only by the drop")
    }

    /// Ask for the first `bytes` once the work submitted so far is done.
    pub(crate) fn map(&mut self, bytes: u64) -> Arc<Mapped> {
        let mapped = Arc::new(Mapped::default());
        let told = MappedAtEnd::new(&mapped);
        let map = || self.buffer().map_async(wgpu::MapMode::Read, 0..bytes, move |outcome| told.note(outcome.is_ok()));
        if scoped(&self.device, map).is_err() {
            mapped.note(false);
        }
        self.mapped = Some(mapped.clone());
        mapped
    }

    /// The parts at `ranges` (first byte and length) of the first `total` mapped bytes.
    ///
    /// # Errors
    ///
    /// `DeviceFault` when the bytes did not arrive.
    pub(crate) fn read(&self, total: u64, ranges: &[(u64, u64)]) -> Result<Vec<Bytes>> {
        let fault = |reason: String| ServerError::DeviceFault { origin: "reading back".into(), reason: reason.into() };
        if self.mapped.as_ref().and_then(|mapped| mapped.outcome()) != Some(true) {
            return Err(fault("wgpu could not map the staging buffer".to_owned()));
        }
        let view = self.buffer().get_mapped_range(0..total).map_err(|error| fault(error.to_string()))?;
        let part = |(start, len): &(u64, u64)| Bytes::from(&view[*start as usize..(*start + *len) as usize]);
        Ok(ranges.iter().map(part).collect())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        let Some(buffer) = self.buffer.take() else { return };
        if self.mapped.is_some() {
            // Also ends a mapping that is still to come: a ticket may be dropped unread.
            let unmapped = scoped(&self.device, || buffer.unmap());
            if unmapped.is_err() {
                return;
            }
        }
        let mut free = self.pool.0.lock();
        if free.len() < FREE_MAX && buffer.size() <= FREE_BYTES_MAX {
            free.push(buffer);
        }
    }
}
