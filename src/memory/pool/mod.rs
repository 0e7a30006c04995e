//! Decides where allocations lie: slices of shared pages, pages of their own for large requests, and what may be reused.
//!
//! Pure: it calls no driver. The server makes and destroys pages as told, and says which fences the device has passed.

mod class;
mod page;
mod pages;
mod priming;

use std::collections::{BTreeMap, HashMap};

use self::page::Page;
use self::pages::Pages;
use self::priming::{Idle, PrimedBy, Windows};
use super::{Account, Charge, ManagedMemoryId, MemoryUsage, TrimReport};
use crate::error::{MemoryLimit, OutOfMemory, Result, ServerError};
use crate::stream::SlotIndex;
use crate::sync::Arc;

/// Stands for an account that is none: no account has this number.
const NOBODY: u64 = u64::MAX;

/// Sizes of one pool, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolConfig {
    /// A shared page. Smaller ones are made where the limit leaves no more.
    pub page_bytes: u64,
    /// Requests above this get a page of their own.
    pub slice_bytes_max: u64,
    /// Every slice begins and ends at a multiple of this; 0 counts as 1.
    pub alignment: u64,
    /// The largest page that the device makes.
    pub page_bytes_max: u64,
    /// The most bytes of all pages together.
    pub limit: Option<u64>,
}

/// A page of a pool. A number is given again after its page was released; [`Pool::generation`] tells the two apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageId(pub u64);

/// Where an allocation lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slice {
    /// The page.
    pub page: PageId,
    /// First byte in the page, a multiple of the alignment.
    pub offset: u64,
    /// Bytes taken: the request rounded up to its size class.
    pub bytes: u64,
}

/// What [`Pool::reserve`] found.
#[derive(Debug, PartialEq, Eq)]
pub enum Reservation {
    /// The allocation has its bytes.
    Placed {
        /// Where.
        slice: Slice,
        /// Whether the slice must be cleared before its first use, since another account used it.
        needs_zero: bool,
    },
    /// Nothing is reserved or charged yet: destroy and make pages as told, call [`Pool::add_page`], reserve again.
    NeedsPage(PageRequest),
}

/// A page to make.
#[must_use = "pages listed in `release` are gone from the pool and must be destroyed"]
#[derive(Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// Its size in bytes.
    pub bytes: u64,
    /// Empty pages that the pool has given up for it, to be destroyed first.
    pub release: Vec<PageId>,
    exclusive: bool,
}

/// The pool of one device.
///
/// Requests up to `slice_bytes_max` take the smallest free block that fits of a shared page; blocks of a page merge when
/// they are freed. Larger requests take a page of their own, and a free one is reused for a request that wastes at most an
/// eighth of it. An account is charged for [`Slice::bytes`] from `reserve` to `release`.
#[derive(Debug)]
pub struct Pool {
    config: PoolConfig,
    pages: Pages,
    live: HashMap<ManagedMemoryId, Live>,
    /// Released slices by the fence that they wait for.
    pending: BTreeMap<u64, Vec<Slice>>,
    passed: u64,
    windows: Windows,
    accounts: BTreeMap<u64, (Arc<str>, u64)>,
    in_use: u64,
    pinned: u64,
}

#[derive(Debug)]
struct Live {
    slice: Slice,
    charge: Charge,
    pins: u64,
    primed_by: Option<PrimedBy>,
}

impl Pool {
    /// An empty pool.
    pub fn new(config: PoolConfig) -> Self {
        let config = PoolConfig { alignment: config.alignment.max(1), ..config };
        Self {
            config,
            pages: Pages::default(),
            live: HashMap::new(),
            pending: BTreeMap::new(),
            passed: 0,
            windows: Windows::default(),
            accounts: BTreeMap::new(),
            in_use: 0,
            pinned: 0,
        }
    }

    /// Reserve `bytes` for a new allocation, paid by `account`, for work of `slot`. The account's limit is checked before a
    /// page is asked for. An id that has a place keeps it.
    ///
    /// # Errors
    ///
    /// `OutOfMemory` of the account or of the pool's limit, with nothing changed; `InvalidSize` above the largest page.
    pub fn reserve(
        &mut self,
        id: ManagedMemoryId,
        bytes: u64,
        account: &Account,
        slot: Option<SlotIndex>,
    ) -> Result<Reservation> {
        if let Some(live) = self.live.get(&id) {
            return Ok(Reservation::Placed { slice: live.slice, needs_zero: false });
        }
        let (rounded, exclusive) = self.class(bytes)?;
        let charge = account.charge(rounded)?;
        let kept = slot.and_then(|slot| self.windows.take(slot, rounded, self.passed));
        let free = |pages: &mut Pages| {
            if exclusive { pages.take_exclusive(rounded) } else { pages.take_shared(rounded) }
        };
        let Some(slice) = kept.or_else(|| free(&mut self.pages)) else {
            return self.request(rounded, exclusive).map(Reservation::NeedsPage);
        };
        let needs_zero = self.pages.occupy(slice, account.id());
        let primed_by = slot.and_then(|slot| self.windows.primes(slot));
        self.in_use += slice.bytes;
        self.accounts.entry(account.id()).or_insert_with(|| (account.name().into(), 0)).1 += slice.bytes;
        self.live.insert(id, Live { slice, charge, pins: 0, primed_by });
        Ok(Reservation::Placed { slice, needs_zero })
    }

    /// Take in a page that was made as `request` says, all zeros.
    pub fn add_page(&mut self, request: PageRequest) -> PageId {
        self.pages.add(Page::new(request.bytes, request.exclusive))
    }

    /// Where an allocation lies; `None` once it is released.
    pub fn slice_of(&self, id: ManagedMemoryId) -> Option<Slice> {
        self.live.get(&id).map(|live| live.slice)
    }

    /// The last handle is gone. The account is paid back at once; the bytes are reused once the device has passed `fence`,
    /// which is that of the last work that touches them. A server whose device runs all work in one order may give a
    /// fence that has passed.
    pub fn release(&mut self, id: ManagedMemoryId, fence: u64) {
        let Some(live) = self.live.remove(&id) else { return };
        let bytes = live.slice.bytes;
        self.in_use -= bytes;
        if live.pins > 0 {
            self.pinned -= bytes;
        }
        let account = live.charge.account().id();
        if let Some((_, charged)) = self.accounts.get_mut(&account) {
            *charged -= bytes;
            if *charged == 0 {
                self.accounts.remove(&account);
            }
        }
        let idle = Idle { slice: live.slice, fence };
        if !live.primed_by.is_some_and(|by| self.windows.keep(by, idle)) {
            self.retire(idle);
        }
    }

    /// The device has passed `fence` and all before it.
    pub fn passed(&mut self, fence: u64) {
        self.passed = self.passed.max(fence);
        while let Some(first) = self.pending.first_entry().filter(|first| *first.key() <= self.passed) {
            for slice in first.remove() {
                self.pages.give(slice);
            }
        }
    }

    /// Zeroing the allocation failed: its bytes still count as another account's, for whoever gets them next.
    pub fn not_zeroed(&mut self, id: ManagedMemoryId) {
        if let Some(slice) = self.slice_of(id) {
            self.pages.occupy(slice, NOBODY);
        }
    }

    /// Count a graph that holds the allocation, for [`MemoryUsage::pinned_bytes`]. The graph's handle is what keeps it.
    pub fn pin(&mut self, id: ManagedMemoryId) {
        let Some(live) = self.live.get_mut(&id) else { return };
        live.pins += 1;
        if live.pins == 1 {
            self.pinned += live.slice.bytes;
        }
    }

    /// Undo one [`Pool::pin`].
    pub fn unpin(&mut self, id: ManagedMemoryId) {
        let Some(live) = self.live.get_mut(&id).filter(|live| live.pins > 0) else { return };
        live.pins -= 1;
        if live.pins == 0 {
            self.pinned -= live.slice.bytes;
        }
    }

    /// Begin a warmup on `slot`: what it reserves from now on is kept for the slot's recording when it is released.
    pub fn prime(&mut self, slot: SlotIndex) {
        self.windows.prime(slot);
    }

    /// End the warmup: the recording on `slot` takes the kept slices of its sizes first.
    pub fn end_priming(&mut self, slot: SlotIndex) {
        self.windows.end_priming(slot);
    }

    /// The window is over, sealed or not: slices that are still kept for it are free for everybody.
    pub fn window_closed(&mut self, slot: SlotIndex) {
        for idle in self.windows.close(slot) {
            self.retire(idle);
        }
    }

    /// How often the page of that number was released, plus one; `None` for a number never given.
    pub fn generation(&self, page: PageId) -> Option<u64> {
        self.pages.generation(page)
    }

    /// Grows whenever a page is released, so that a graph that saw the same value need not look at its pages.
    pub fn epoch(&self) -> u64 {
        self.pages.epoch()
    }

    /// Give up every page that nothing uses, waits for or keeps; the server destroys them.
    pub fn trim(&mut self) -> (Vec<PageId>, TrimReport) {
        let empty = self.pages.empty();
        let released_bytes = empty.iter().map(|(bytes, _)| bytes).sum();
        let pages: Vec<PageId> = empty.into_iter().map(|(_, id)| id).collect();
        pages.iter().for_each(|id| self.pages.release(*id));
        (pages, TrimReport { released_bytes, withheld_bytes: self.pages.free_bytes() })
    }

    /// What the pool holds.
    pub fn usage(&self) -> MemoryUsage {
        MemoryUsage {
            reserved_bytes: self.pages.reserved(),
            in_use_bytes: self.in_use,
            pinned_bytes: self.pinned,
            primed_bytes: self.windows.kept_bytes(),
            pages: self.pages.count(),
            slices: self.live.len() as u64,
            limit_bytes: self.config.limit,
            accounts: self.accounts.values().map(|(name, bytes)| (name.to_string(), *bytes)).collect(),
            epoch: self.pages.epoch(),
        }
    }

    fn retire(&mut self, idle: Idle) {
        if idle.fence <= self.passed {
            self.pages.give(idle.slice);
        } else {
            self.pending.entry(idle.fence).or_default().push(idle.slice);
        }
    }

    /// The bytes that a request takes, and whether it gets a page of its own.
    fn class(&self, bytes: u64) -> Result<(u64, bool)> {
        let PoolConfig { alignment, page_bytes_max, .. } = self.config;
        if bytes <= self.config.slice_bytes_max
            && let Some(class) = class::slice_class(bytes, alignment).filter(|class| *class <= self.shared_page())
        {
            return Ok((class, false));
        }
        if bytes > page_bytes_max {
            let problem = format!("one allocation has at most {page_bytes_max} bytes here; use several buffers");
            return Err(ServerError::InvalidSize { bytes, problem: problem.into() });
        }
        // The largest page need not be a multiple of the alignment.
        Ok((class::aligned(bytes, alignment).map_or(page_bytes_max, |rounded| rounded.min(page_bytes_max)), true))
    }

    fn shared_page(&self) -> u64 {
        self.config.page_bytes.min(self.config.page_bytes_max)
    }

    /// The page that a request of `bytes` needs. Where the limit is in the way, empty pages are given up, the largest
    /// first; where that is not enough, nothing is.
    fn request(&mut self, bytes: u64, exclusive: bool) -> Result<PageRequest> {
        let limit = self.config.limit.unwrap_or(u64::MAX);
        let room = limit.saturating_sub(self.pages.reserved());
        let (mut release, mut freed) = (Vec::new(), 0u64);
        if room < bytes {
            for (size, id) in self.pages.empty() {
                if room.saturating_add(freed) >= bytes {
                    break;
                }
                freed = freed.saturating_add(size);
                release.push(id);
            }
        }
        let room = room.saturating_add(freed);
        if room < bytes {
            return Err(ServerError::OutOfMemory(OutOfMemory {
                refused_by: MemoryLimit::Config,
                need: bytes,
                have: Some(room),
                limit: Some(limit),
                held: 0,
            }));
        }
        release.iter().for_each(|id| self.pages.release(*id));
        // Neither the page size nor the room need be a multiple of the alignment; a page is, as its slices are.
        let shared = self.shared_page().min(room);
        let bytes = if exclusive { bytes } else { (shared - shared % self.config.alignment).max(bytes) };
        Ok(PageRequest { bytes, release, exclusive })
    }
}

#[cfg(test)]
mod tests;
