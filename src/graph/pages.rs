//! Where memory lies: the pool's pages as driver allocations.
//!
//! A freed slice is free at once. Its next user has another name, so what used its bytes before is remembered here, by range,
//! and the new buffer's first use is ordered after it: no wait on the host, and none on one stream.

use std::any::Any;
use std::collections::HashMap;
use std::num::NonZeroU64;
use std::ops::Range;

use super::driver::{DeviceMemory, DevicePtr, Driver, DriverResult};
use super::lanes::Lanes;
use super::order::{Point, Points};
use super::reclaim::{Doomed, Reclaim};
use super::shared::Shared;
use crate::config::Config;
use crate::error::{DriverError, DriverErrorKind, FaultClass, MemoryLimit, OutOfMemory, Result, ServerError};
use crate::kernel::ADDRESS_ALIGNMENT;
use crate::memory::{
    Account, BufferBinding, ManagedMemoryId, PageId, PageRequest, Pool, PoolConfig, Reservation, Slice, TrimReport,
};
use crate::stream::SlotIndex;
use crate::sync::Arc;

/// Slices begin at multiples of this: what both vendors align allocations to at least.
const SLICE_ALIGNMENT: u64 = 256;

/// Scars of a page before they are merged to one.
const SCARS_MAX: usize = 64;

/// A new place for memory.
#[derive(Debug)]
pub(super) struct Placed {
    /// Bytes to be zeroed before anything else uses them, if there are any.
    pub(super) zero: Option<(DevicePtr, NonZeroU64)>,
    /// What its bytes were last used by, under other names.
    pub(super) after: Points,
}

/// The work that last used some bytes of a page, whose buffer is gone.
struct Scar {
    range: Range<u64>,
    points: Points,
}

struct Page {
    memory: DeviceMemory,
    scars: Vec<Scar>,
    /// Not zeroed since the driver gave it.
    fresh: bool,
}

impl Page {
    fn scar(&mut self, range: Range<u64>, points: Points) {
        if self.scars.len() == SCARS_MAX {
            let mut all = Points::default();
            self.scars.drain(..).for_each(|scar| all.add_all(&scar.points));
            self.scars.push(Scar { range: 0..self.memory.bytes.get(), points: all });
        }
        self.scars.push(Scar { range, points });
    }
}

/// An application's memory that is used as ours.
pub(super) struct Foreign {
    pub(super) memory: DeviceMemory,
    /// Keeps it alive.
    pub(super) owner: Box<dyn Any + Send>,
}

/// The pool and its pages.
pub(super) struct Pages<D: Driver> {
    shared: Arc<Shared<D>>,
    pool: Pool,
    pages: HashMap<PageId, Page>,
    foreign: HashMap<ManagedMemoryId, Foreign>,
    allocations: u64,
}

impl<D: Driver> Pages<D> {
    pub(super) fn new(shared: Arc<Shared<D>>, config: &Config, buffer_bytes_max: u64) -> Self {
        let pool = Pool::new(PoolConfig {
            page_bytes: config.page_bytes.min(buffer_bytes_max),
            slice_bytes_max: config.slice_bytes_max,
            alignment: SLICE_ALIGNMENT.max(ADDRESS_ALIGNMENT),
            page_bytes_max: buffer_bytes_max,
            limit: config.memory_limit,
        });
        Self { shared, pool, pages: HashMap::new(), foreign: HashMap::new(), allocations: 0 }
    }

    /// Give memory `id` a place.
    ///
    /// # Errors
    ///
    /// `InvalidSize`, `OutOfMemory`, the device's loss; nothing is reserved then.
    pub(super) fn reserve(
        &mut self,
        lanes: &mut Lanes<D>,
        reclaim: &mut Reclaim<D>,
        request: Request<'_>,
    ) -> Result<Placed> {
        loop {
            match self.pool.reserve(request.id, request.bytes, request.account, Some(request.slot))? {
                Reservation::Placed { slice, needs_zero } => return Ok(self.placed(lanes, slice, needs_zero)),
                Reservation::NeedsPage(page) => self.add_page(lanes, reclaim, page)?,
            }
        }
    }

    fn placed(&mut self, lanes: &Lanes<D>, slice: Slice, needs_zero: bool) -> Placed {
        let page = self.pages.get_mut(&slice.page).expect("a slice lies in a page that was made");
        let mut after = Points::default();
        let range = slice.offset..slice.offset + slice.bytes;
        for scar in &mut page.scars {
            scar.points.retain(|point| !lanes.is_known_passed(*point));
            if scar.range.start < range.end && range.start < scar.range.end {
                after.add_all(&scar.points);
            }
        }
        // One that the new slice covers is told on by its order; the others stay.
        let covered = |scar: &Scar| range.start <= scar.range.start && scar.range.end <= range.end;
        page.scars.retain(|scar| !scar.points.is_empty() && !covered(scar));
        let (address, bytes) = match (page.fresh, needs_zero) {
            (true, _) => {
                page.fresh = false;
                (Some(page.memory.address), Some(page.memory.bytes))
            }
            (false, true) => (page.memory.address.offset(slice.offset), NonZeroU64::new(slice.bytes)),
            (false, false) => (None, None),
        };
        Placed { zero: address.zip(bytes), after }
    }

    fn add_page(&mut self, lanes: &mut Lanes<D>, reclaim: &mut Reclaim<D>, request: PageRequest) -> Result<()> {
        for page in &request.release {
            self.release_page(lanes, reclaim, *page);
        }
        reclaim.collect(lanes)?;
        let bytes = NonZeroU64::new(request.bytes)
            .ok_or_else(|| ServerError::InvalidSize { bytes: 0, problem: "a page has at least one byte".into() })?;
        if let Some(held) = reclaim.take_memory(lanes, bytes, true) {
            self.take_back(request, held);
            return Ok(());
        }
        let exhausted = |answer: &DriverResult<DeviceMemory>| {
            let local = |error: &DriverError| error.class == FaultClass::CallLocal;
            answer.as_ref().is_err_and(|error| error.kind == DriverErrorKind::OutOfMemory && local(error))
        };
        let mut answer = self.shared.driver().mem_alloc(bytes);
        if exhausted(&answer) {
            // What is free goes back to the device before it is asked once more.
            self.trim(lanes, reclaim);
            reclaim.collect(lanes)?;
            let mut held = reclaim.take_memory(lanes, bytes, true);
            if held.is_none() {
                answer = self.shared.driver().mem_alloc(bytes);
                held = if exhausted(&answer) { reclaim.take_memory(lanes, bytes, false) } else { None };
            }
            if let Some(held) = held {
                self.take_back(request, held);
                return Ok(());
            }
        }
        self.allocations += 1;
        if exhausted(&answer) {
            return Err(self.exhausted(bytes.get(), reclaim.held_bytes()));
        }
        let memory = self.shared.settle(answer, "allocating memory")?;
        let id = self.pool.add_page(request);
        self.pages.insert(id, Page { memory, scars: Vec::new(), fresh: true });
        Ok(())
    }

    /// Let memory be a page again that was to be given back.
    fn take_back(&mut self, request: PageRequest, (memory, needs): (DeviceMemory, Points)) {
        let mut page = Page { scars: Vec::new(), fresh: true, memory };
        page.scar(0..page.memory.bytes.get(), needs);
        self.pages.insert(self.pool.add_page(request), page);
    }

    /// The device has no memory left.
    fn exhausted(&self, need: u64, held: u64) -> ServerError {
        let known = self.shared.driver().mem_info().ok();
        ServerError::OutOfMemory(OutOfMemory {
            refused_by: MemoryLimit::Device,
            need,
            have: known.map(|bytes| bytes.free),
            limit: known.map(|bytes| bytes.total),
            held,
        })
    }

    fn release_page(&mut self, lanes: &mut Lanes<D>, reclaim: &mut Reclaim<D>, id: PageId) {
        let Some(page) = self.pages.remove(&id) else { return };
        let mut needs = Points::default();
        page.scars.iter().for_each(|scar| needs.add_all(&scar.points));
        reclaim.push(lanes, needs, vec![Doomed::Memory(page.memory)]);
    }

    /// The last handle on `id` is gone; `points` are its last uses.
    pub(super) fn release(&mut self, id: ManagedMemoryId, points: Points) {
        let Some(slice) = self.pool.slice_of(id) else { return };
        self.pool.release(id, 0);
        if points.is_empty() {
            return;
        }
        if let Some(page) = self.pages.get_mut(&slice.page) {
            page.scar(slice.offset..slice.offset + slice.bytes, points);
        }
    }

    /// What [`Pages::reserve`] asked for `id` to be zeroed was, at `point`: whatever uses the page next comes after it.
    pub(super) fn zeroed(&mut self, id: ManagedMemoryId, point: Point) {
        let page = self.pool.slice_of(id).and_then(|slice| self.pages.get_mut(&slice.page));
        if let Some(page) = page {
            page.scar(0..page.memory.bytes.get(), point.into());
        }
    }

    /// Zeroing `bytes` bytes for `id` failed: they still count as somebody else's, for whoever gets them next. Only a page that
    /// was to be zeroed whole is so again: of any other, others have slices.
    pub(super) fn not_zeroed(&mut self, id: ManagedMemoryId, bytes: NonZeroU64) {
        self.pool.not_zeroed(id);
        let page = self.pool.slice_of(id).and_then(|slice| self.pages.get_mut(&slice.page));
        if let Some(page) = page {
            page.fresh |= page.memory.bytes == bytes;
        }
    }

    /// The first byte of a binding.
    ///
    /// # Errors
    ///
    /// `ForeignHandle` for memory that is not of this device.
    pub(super) fn locate(&self, binding: &BufferBinding, here: u64) -> Result<DevicePtr> {
        let id = binding.memory.id();
        let slice = self.pool.slice_of(id);
        let page = slice.and_then(|slice| Some((slice, self.pages.get(&slice.page)?)));
        let address =
            page.and_then(|(slice, page)| page.memory.address.offset(slice.offset.checked_add(binding.range().start)?));
        let foreign = || self.foreign.get(&id)?.memory.address.offset(binding.range().start);
        let address = address.or_else(foreign);
        address.ok_or_else(|| ServerError::ForeignHandle {
            what: format!("buffer {id}").into(),
            of: binding.memory.device().0,
            here,
        })
    }

    /// Whether memory of an application can become memory of its own.
    ///
    /// # Errors
    ///
    /// `Unsupported` where a byte of it is memory of this device already.
    pub(super) fn check_new(&self, memory: &DeviceMemory) -> Result<()> {
        let end = |memory: &DeviceMemory| memory.address.0.get().saturating_add(memory.bytes.get());
        let meets = |other: &DeviceMemory| memory.address.0.get() < end(other) && other.address.0.get() < end(memory);
        let what = if self.pages.values().any(|page| meets(&page.memory)) {
            "wrapping memory of this device's own pool".to_owned()
        } else if let Some((id, _)) = self.foreign.iter().find(|(_, foreign)| meets(&foreign.memory)) {
            format!("wrapping bytes again while they are memory {id}")
        } else {
            return Ok(());
        };
        let why = "two memories over the same bytes would not be ordered; clone the first handle";
        Err(ServerError::unsupported(what, why))
    }

    /// Let `id` be memory of an application, which [`Pages::check_new`] allowed.
    pub(super) fn wrap(&mut self, id: ManagedMemoryId, foreign: Foreign) {
        self.foreign.insert(id, foreign);
    }

    /// The last handle on `id` is gone: what keeps it alive, where it is an application's.
    pub(super) fn unwrap(&mut self, id: ManagedMemoryId) -> Option<Box<dyn Any + Send>> {
        self.foreign.remove(&id).map(|foreign| foreign.owner)
    }

    /// Give free pages back, once their work is done.
    pub(super) fn trim(&mut self, lanes: &mut Lanes<D>, reclaim: &mut Reclaim<D>) -> TrimReport {
        let (pages, report) = self.pool.trim();
        for page in pages {
            self.release_page(lanes, reclaim, page);
        }
        report
    }

    /// Pages and generations of the memory `ids`.
    pub(super) fn generations(&self, ids: &[ManagedMemoryId]) -> Vec<(PageId, u64)> {
        let mut pages: Vec<PageId> = ids.iter().filter_map(|id| Some(self.pool.slice_of(*id)?.page)).collect();
        pages.sort_unstable();
        pages.dedup();
        pages.into_iter().filter_map(|page| Some((page, self.pool.generation(page)?))).collect()
    }

    /// Pages asked of the driver so far.
    pub(super) const fn allocations(&self) -> u64 {
        self.allocations
    }

    pub(super) const fn pool(&self) -> &Pool {
        &self.pool
    }

    pub(super) const fn pool_mut(&mut self) -> &mut Pool {
        &mut self.pool
    }

    /// Free every page. All work is done, or the device is lost.
    pub(super) fn destroy(&mut self, lanes: &mut Lanes<D>, reclaim: &mut Reclaim<D>) {
        let mut pages: Vec<_> = self.pages.drain().collect();
        pages.sort_by_key(|(id, _)| *id);
        for (_, page) in pages {
            reclaim.push(lanes, Points::default(), vec![Doomed::Memory(page.memory)]);
        }
        let owners: Vec<_> = self.foreign.drain().map(|(_, foreign)| Doomed::Holds(foreign.owner)).collect();
        reclaim.push(lanes, Points::default(), owners);
    }
}

/// A request for memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request<'a> {
    pub(super) id: ManagedMemoryId,
    pub(super) bytes: u64,
    pub(super) account: &'a Account,
    pub(super) slot: SlotIndex,
}
