//! Where memory lies: the pool's pages as wgpu buffers, and buffers of the application.
//!
//! The device has one in-order queue and one batch in call order, so a freed slice is free at once: whatever uses it next is
//! encoded later and runs later, and host writes keep that order too (see the batch). No page is ever destroyed, only dropped, since `Buffer::destroy` would wait for wgpu's snatch
//! lock, which every host wait holds. wgpu keeps a dropped buffer until its work is done.

use std::collections::HashMap;

use graphreel::error::Result;
use graphreel::memory::{Account, BufferBinding, ManagedMemoryId, PageId, Pool, PoolConfig, Reservation, TrimReport};
use graphreel::stream::SlotIndex;
use graphreel::{Config, ServerError};

use crate::gpu::Gpu;

/// Which wgpu buffer memory lies in: a page of the pool, or with the top bit a wrapped buffer.
pub(crate) type PageKey = u64;

const WRAPPED_BIT: u64 = 1 << 63;

/// Usage of a page, and what a wrapped buffer must have.
pub(crate) const PAGE_USAGE: wgpu::BufferUsages =
    wgpu::BufferUsages::STORAGE.union(wgpu::BufferUsages::COPY_SRC).union(wgpu::BufferUsages::COPY_DST);

/// The smallest alignment of slices, so that a program's offsets do not depend on the adapter.
pub(crate) const PAGE_ALIGNMENT_MIN: u64 = 256;

/// Pages up to this are zeroed from the host, without a submission.
const MAPPED_BYTES_MAX: u64 = 16 << 10;

/// A place in a wgpu buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Spot {
    pub(crate) page: PageKey,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

impl Spot {
    /// The length as wgpu wants it: the slice behind the last byte is padded to this.
    pub(crate) const fn padded(&self) -> u64 {
        self.bytes.next_multiple_of(wgpu::COPY_BUFFER_ALIGNMENT)
    }
}

/// The pool and its buffers.
#[derive(Debug)]
pub(crate) struct Pages {
    pool: Pool,
    buffers: HashMap<PageKey, wgpu::Buffer>,
    /// The same the other way: one wgpu buffer is one memory, or work on it would not be ordered.
    keys: HashMap<wgpu::Buffer, PageKey>,
    allocations: u64,
    removed: Vec<PageKey>,
}

impl Pages {
    /// No page yet.
    pub(crate) fn new(gpu: &Gpu, config: &Config) -> Self {
        let alignment = u64::from(gpu.limits.min_storage_buffer_offset_alignment).max(PAGE_ALIGNMENT_MIN);
        let pool = Pool::new(PoolConfig {
            page_bytes: config.page_bytes.min(gpu.caps.buffer_bytes_max),
            // wgpu orders work by buffer, and places buffers in large blocks of memory itself: sharing one would only
            // make unrelated work wait for each other.
            slice_bytes_max: 0,
            alignment,
            page_bytes_max: gpu.caps.buffer_bytes_max,
            limit: config.memory_limit,
        });
        Self { pool, buffers: HashMap::new(), keys: HashMap::new(), allocations: 0, removed: Vec::new() }
    }

    /// Give memory `id` a place. The answer is a range to be zeroed before anything else uses it, if one must be.
    ///
    /// # Errors
    ///
    /// `InvalidSize`, `OutOfMemory`; nothing is reserved then.
    pub(crate) fn reserve(
        &mut self,
        gpu: &Gpu,
        id: ManagedMemoryId,
        bytes: u64,
        account: &Account,
        slot: Option<SlotIndex>,
    ) -> Result<Option<Spot>> {
        loop {
            match self.pool.reserve(id, bytes, account, slot)? {
                Reservation::Placed { slice, needs_zero } => {
                    let spot = Spot { page: slice.page.0, offset: slice.offset, bytes: slice.bytes };
                    return Ok(needs_zero.then_some(spot));
                }
                Reservation::NeedsPage(request) => {
                    for page in &request.release {
                        self.remove(page.0);
                    }
                    self.allocations += 1;
                    let buffer = zeroed_page(gpu, request.bytes)?;
                    let page = self.pool.add_page(request);
                    self.insert(page.0, buffer);
                }
            }
        }
    }

    fn remove(&mut self, page: PageKey) {
        if let Some(buffer) = self.buffers.remove(&page) {
            self.keys.remove(&buffer);
        }
        self.removed.push(page);
    }

    fn insert(&mut self, page: PageKey, buffer: wgpu::Buffer) {
        self.keys.insert(buffer.clone(), page);
        self.buffers.insert(page, buffer);
    }

    /// Pages that went since the last call: what binds them must be forgotten.
    pub(crate) fn take_removed(&mut self) -> Vec<PageKey> {
        std::mem::take(&mut self.removed)
    }

    /// Take a buffer of the application as memory `id`.
    pub(crate) fn wrap(&mut self, id: ManagedMemoryId, buffer: wgpu::Buffer) {
        self.insert(WRAPPED_BIT | id.0, buffer);
    }

    /// Whether a buffer of the application can become memory of its own.
    ///
    /// # Errors
    ///
    /// `Unsupported` when it is memory of this device already.
    pub(crate) fn check_new(&self, buffer: &wgpu::Buffer) -> Result<()> {
        let Some(key) = self.keys.get(buffer) else { return Ok(()) };
        let what = if key & WRAPPED_BIT == 0 {
            "wrapping a buffer of this device's own pool".to_owned()
        } else {
            format!("wrapping a buffer again while it is memory {}", ManagedMemoryId(key & !WRAPPED_BIT))
        };
        let why = "two memories over the same bytes would not be ordered; clone the first handle";
        Err(ServerError::unsupported(what, why))
    }

    /// The whole of memory `id`, as long as something holds it.
    fn home(&self, id: ManagedMemoryId, size: u64) -> Option<Spot> {
        match self.pool.slice_of(id) {
            Some(slice) => Some(Spot { page: slice.page.0, offset: slice.offset, bytes: size }),
            None => {
                let page = WRAPPED_BIT | id.0;
                self.buffers.contains_key(&page).then_some(Spot { page, offset: 0, bytes: size })
            }
        }
    }

    /// Where a binding's bytes lie.
    ///
    /// # Errors
    ///
    /// `ForeignHandle` for memory that is not of this device.
    pub(crate) fn locate(&self, binding: &BufferBinding, here: u64) -> Result<Spot> {
        let home = self.home(binding.memory.id(), binding.size).ok_or_else(|| ServerError::ForeignHandle {
            what: format!("buffer {}", binding.memory.id()).into(),
            of: binding.memory.device().0,
            here,
        })?;
        let range = binding.range();
        Ok(Spot { page: home.page, offset: home.offset + range.start, bytes: range.end - range.start })
    }

    /// The buffer of a located page.
    pub(crate) fn buffer(&self, page: PageKey) -> &wgpu::Buffer {
        self.buffers.get(&page).expect("a page lives as long as memory is located in it")
    }

    /// The last handle on `id` is gone.
    pub(crate) fn release(&mut self, id: ManagedMemoryId) {
        if self.buffers.contains_key(&(WRAPPED_BIT | id.0)) {
            self.remove(WRAPPED_BIT | id.0);
        } else {
            self.pool.release(id, 0);
        }
    }

    /// Give free pages back.
    pub(crate) fn trim(&mut self) -> TrimReport {
        let (pages, report) = self.pool.trim();
        for page in pages {
            self.remove(page.0);
        }
        report
    }

    /// Grows whenever a page of the pool goes.
    pub(crate) fn epoch(&self) -> u64 {
        self.pool.epoch()
    }

    /// The generation of a page of the pool; `None` for a wrapped buffer, which its holder keeps, or a page that went.
    pub(crate) fn generation(&self, page: PageKey) -> Option<u64> {
        self.pool.generation(PageId(page))
    }

    /// Pages asked of the device so far.
    pub(crate) const fn allocations(&self) -> u64 {
        self.allocations
    }

    /// The pool's own bookkeeping.
    pub(crate) const fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The pool's own bookkeeping.
    pub(crate) const fn pool_mut(&mut self) -> &mut Pool {
        &mut self.pool
    }
}

/// A page whose every byte is zero, by a submission of its own: nothing can use the page before it.
///
/// wgpu then takes the page for initialised and never zeroes it lazily, which would overwrite what work it does not see
/// has written.
fn zeroed_page(gpu: &Gpu, bytes: u64) -> Result<wgpu::Buffer> {
    if bytes <= MAPPED_BYTES_MAX {
        // wgpu zeroes what it maps, and the zeros go ahead of the next submission, in order with host writes.
        return gpu.zeroed_buffer("graphreel page", bytes, PAGE_USAGE);
    }
    let buffer = gpu.buffer("graphreel page", bytes, PAGE_USAGE)?;
    let zero = || {
        let mut encoder =
            gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("zero a page") });
        encoder.clear_buffer(&buffer, 0, None);
        gpu.queue.submit([encoder.finish()]);
    };
    gpu.scoped(zero).map_err(|caught| caught.into_memory(&gpu.monitor, "zeroing a page", bytes))?;
    Ok(buffer)
}
