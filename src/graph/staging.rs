//! Pinned memory through which the host writes and reads: blocks filled from the front, used again once the device and the
//! host are done with them. A recorded copy never uses it, since its bytes belong to its graph (C-49).

use std::collections::VecDeque;
use std::num::NonZeroU64;

use super::driver::{Driver, HostPtr, PinnedMemory};
use super::lanes::Lanes;
use super::order::{Point, Points};
use super::reclaim::{Doomed, Reclaim};
use super::shared::{EventCell, Orphan, Shared};
use super::spare::size_class;
use super::staged::StagedBlocks;
use crate::error::Result;
use crate::sync::Arc;
use crate::sync::atomic::{AtomicBool, Ordering};

/// Bytes of an ordinary block; a larger request gets a block of its own.
const BLOCK_BYTES: u64 = 1 << 20;

/// Where pieces begin in a block.
const PIECE_ALIGNMENT: u64 = 64;

/// Blocks that wait for the device before callers should.
const BUSY_BYTES_MAX: u64 = 64 << 20;

/// A piece of pinned memory; its block is not used again while it lives.
pub(super) struct Piece<D: Driver> {
    block: Arc<Block<D>>,
    offset: u64,
    bytes: u64,
}

/// One allocation of pinned memory.
pub(super) struct Block<D: Driver> {
    shared: Arc<Shared<D>>,
    memory: Option<PinnedMemory>,
    /// Whether the device may ever have used it.
    touched: AtomicBool,
}

/// A block with the work that uses it.
pub(super) struct Used<D: Driver> {
    pub(super) block: Arc<Block<D>>,
    filled: u64,
    pub(super) points: Points,
}

/// The blocks of a device.
pub(super) struct Staging<D: Driver> {
    shared: Arc<Shared<D>>,
    current: Option<Used<D>>,
    busy: VecDeque<Used<D>>,
    busy_bytes: u64,
    /// Blocks that are lent whole.
    pub(super) staged: StagedBlocks<D>,
}

impl<D: Driver> Staging<D> {
    pub(super) fn new(shared: Arc<Shared<D>>) -> Self {
        let staged = StagedBlocks::new(shared.clone());
        Self { shared, current: None, busy: VecDeque::new(), busy_bytes: 0, staged }
    }

    /// Pinned memory of `bytes` bytes for work that [`Staging::used`] names afterwards.
    ///
    /// # Errors
    ///
    /// What the driver answers where it has no more.
    pub(super) fn take(&mut self, lanes: &mut Lanes<D>, bytes: NonZeroU64) -> Result<Piece<D>> {
        let fits = |used: &Used<D>| used.filled.checked_add(bytes.get()).is_some_and(|end| end <= used.block.bytes());
        if !self.current.as_ref().is_some_and(fits) {
            self.retire(lanes)?;
            let block = self.block(lanes, bytes)?;
            block.touch();
            self.current = Some(Used { block, filled: 0, points: Points::default() });
        }
        let used = self.current.as_mut().expect("it was just put there");
        let offset = used.filled;
        used.filled = (offset + bytes.get()).next_multiple_of(PIECE_ALIGNMENT);
        Ok(Piece { block: used.block.clone(), offset, bytes: bytes.get() })
    }

    /// The piece taken last is used by work up to `point`.
    pub(super) fn used(&mut self, point: Point) {
        if let Some(current) = &mut self.current {
            current.points.add(point);
        }
    }

    /// Put the current block aside until its work is done.
    fn retire(&mut self, lanes: &mut Lanes<D>) -> Result<()> {
        let Some(current) = self.current.take() else { return Ok(()) };
        // The events that tell of its end.
        let marked = lanes.marks(&current.points);
        self.busy_bytes += current.block.bytes();
        self.busy.push_back(current);
        marked.map(drop)
    }

    /// A block that nothing uses, of at least `bytes`.
    fn block(&mut self, lanes: &mut Lanes<D>, bytes: NonZeroU64) -> Result<Arc<Block<D>>> {
        let wanted = size_class(bytes).get().max(BLOCK_BYTES);
        for _ in 0..self.busy.len() {
            let Some(used) = self.busy.pop_front() else { break };
            let idle = Arc::strong_count(&used.block) == 1 && lanes.are_passed(&used.points)?;
            let bytes = used.block.bytes();
            if !idle || (bytes == BLOCK_BYTES && wanted != BLOCK_BYTES) {
                self.busy.push_back(used);
                continue;
            }
            // Large blocks serve a request of their own size, or go.
            self.busy_bytes -= bytes;
            if bytes == wanted {
                return Ok(used.block);
            }
            Block::spare(used.block);
        }
        let wanted = NonZeroU64::new(wanted).unwrap_or(bytes);
        Block::pin(&self.shared, wanted).map(Arc::new)
    }

    /// Events to wait for before more is staged, where too much is.
    pub(super) fn pressure(&self, lanes: &Lanes<D>) -> Option<Vec<Arc<EventCell<D>>>> {
        let (busy, staged) = (&self.busy, &self.staged);
        let late = |used: &&Used<D>| used.points.iter().any(|point| !lanes.is_known_passed(point));
        let oldest = if self.busy_bytes > BUSY_BYTES_MAX { busy.iter().find(late) } else { None };
        let oldest = oldest.or_else(|| if staged.is_over() { staged.iter().find(late) } else { None })?;
        Some(lanes.known_marks(&oldest.points)).filter(|events| !events.is_empty())
    }

    /// Give up every block that nothing uses, and large ones for good.
    pub(super) fn trim(&mut self, lanes: &mut Lanes<D>, reclaim: &mut Reclaim<D>) {
        drop(self.retire(lanes));
        for used in self.busy.drain(..).chain(self.staged.drain()) {
            reclaim.push(lanes, used.points, vec![Doomed::Block(used.block)]);
        }
        self.busy_bytes = 0;
    }
}

impl<D: Driver> Used<D> {
    /// A block that is filled, and used by work up to `points`.
    pub(super) fn whole(block: Arc<Block<D>>, points: Points) -> Self {
        Self { filled: block.bytes(), block, points }
    }
}

impl<D: Driver> Block<D> {
    /// A new block.
    ///
    /// # Errors
    ///
    /// What the driver answers where it has no more.
    pub(super) fn pin(shared: &Arc<Shared<D>>, bytes: NonZeroU64) -> Result<Self> {
        Ok(Self { shared: shared.clone(), memory: Some(shared.pin(bytes)?), touched: AtomicBool::new(false) })
    }

    /// Let a block that nothing uses serve any request of its size. One that an answer holds is left to that.
    pub(super) fn spare(block: Arc<Self>) {
        let shared = block.shared.clone();
        if let Some(memory) = Self::into_memory(block) {
            shared.spare().lock().keep(memory);
        }
    }

    /// Its memory, where nobody else holds it.
    pub(super) fn into_memory(block: Arc<Self>) -> Option<PinnedMemory> {
        Arc::into_inner(block)?.memory.take()
    }

    /// A copy was given to the device that reaches it.
    pub(super) fn touch(&self) {
        self.touched.store(true, Ordering::Relaxed);
    }

    pub(super) fn bytes(&self) -> u64 {
        self.memory.as_ref().map_or(0, |memory| memory.bytes.get())
    }

    pub(super) fn address(&self) -> HostPtr {
        self.memory.as_ref().expect("it is taken only by the drop").address
    }
}

impl<D: Driver> Drop for Block<D> {
    /// A read's answer may hold the last piece, on any thread and after the server: the memory is left to whoever closes.
    fn drop(&mut self) {
        let Some(memory) = self.memory.take() else { return };
        if self.touched.load(Ordering::Relaxed) {
            self.shared.orphan(Orphan::Pinned(memory));
        } else {
            self.shared.spare().lock().keep(memory);
        }
    }
}

#[expect(unsafe_code, reason = "host bytes are reached through the driver's address")]
impl<D: Driver> Piece<D> {
    /// Where it begins, for a copy.
    pub(super) fn address(&self) -> HostPtr {
        // SAFETY: the piece lies within its block's memory.
        HostPtr(unsafe { self.block.address().0.add(self.offset as usize) })
    }

    /// Where the byte `start` of it is, for a copy.
    pub(super) fn part(&self, start: u64) -> HostPtr {
        debug_assert!(start < self.bytes, "a part of the piece");
        // SAFETY: the part lies in the piece.
        HostPtr(unsafe { self.address().0.add(start as usize) })
    }

    /// Fill it. Nothing on the device uses it yet.
    pub(super) fn write(&self, bytes: &[u8]) {
        let len = bytes.len().min(self.bytes as usize);
        // SAFETY: the piece has `len` bytes, nobody else has this piece, and no copy that reads it was issued.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.address().0.as_ptr(), len) };
    }

    /// `len` bytes from `start`, after the copy that wrote them is done.
    pub(super) fn read(&self, start: u64, len: u64) -> Arc<[u8]> {
        debug_assert!(start + len <= self.bytes, "a part of the piece");
        let first = self.part(start).0;
        // SAFETY: the copy that wrote the part is done, nothing writes the piece again while it lives, and pinned memory is
        // initialised by the copy.
        let part = unsafe { std::slice::from_raw_parts(first.as_ptr(), len as usize) };
        part.into()
    }
}
