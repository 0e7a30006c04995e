//! Pinned memory that callers fill themselves: whole blocks, lent without the device's lock, written by one copy and lent
//! again once that is done.

use std::any::Any;
use std::collections::VecDeque;
use std::num::NonZeroU64;

use super::driver::Driver;
use super::issue::With;
use super::lanes::{Lanes, Role};
use super::order::Points;
use super::server::HardwareServer;
use super::shared::Shared;
use super::staging::{Block, Used};
use crate::book::{self, Admission};
use crate::error::{Result, ServerError};
use crate::memory::{BufferBinding, DeviceId};
use crate::op::{Op, check_staged};
use crate::server::Server;
use crate::staging::{self, Staging};
use crate::stream::StreamId;
use crate::sync::Arc;

/// The smallest block.
const BLOCK_BYTES_MIN: NonZeroU64 = NonZeroU64::new(64 << 10).unwrap();

/// Blocks that came back, idle or not: above this idle ones are freed, and callers should wait.
const RETURNED_BYTES_MAX: u64 = 64 << 20;

/// The blocks that came back from their users, with the copies that read them.
pub(super) struct StagedBlocks<D: Driver> {
    shared: Arc<Shared<D>>,
    returned: VecDeque<Used<D>>,
    bytes: u64,
}

/// A block that a caller fills.
struct Lent<D: Driver> {
    block: Arc<Block<D>>,
    bytes: usize,
    device: DeviceId,
}

impl<D: Driver> StagedBlocks<D> {
    pub(super) fn new(shared: Arc<Shared<D>>) -> Self {
        Self { shared, returned: VecDeque::new(), bytes: 0 }
    }

    /// A block of at least `bytes` that nothing uses.
    ///
    /// # Errors
    ///
    /// The device's loss, or what the driver answers where it has no more.
    #[expect(unsafe_code, reason = "initialises memory that the driver just gave")]
    fn take(&mut self, lanes: &mut Lanes<D>, bytes: NonZeroU64) -> Result<Arc<Block<D>>> {
        for index in 0..self.returned.len() {
            let used = &self.returned[index];
            if used.block.bytes() >= bytes.get() && lanes.are_passed(&used.points)? {
                let found = self.returned.remove(index).expect("the index is in the queue");
                self.bytes -= found.block.bytes();
                return Ok(found.block);
            }
        }
        let block = Block::pin(&self.shared, bytes.max(BLOCK_BYTES_MIN))?;
        // SAFETY: the block has as many bytes, and nobody else knows it yet. Callers see them as initialised.
        unsafe { std::ptr::write_bytes(block.address().0.as_ptr(), 0, block.bytes() as usize) };
        Ok(Arc::new(block))
    }

    /// Take a block back that copies up to `points` read.
    fn put(&mut self, lanes: &mut Lanes<D>, block: Arc<Block<D>>, points: Points) -> Result<()> {
        // The events that tell of their end.
        let marked = lanes.marks(&points);
        self.bytes += block.bytes();
        self.returned.push_back(Used::whole(block, points));
        while self.is_over()
            && let Some(oldest) = self.returned.front()
            && lanes.are_passed(&oldest.points)?
        {
            self.bytes -= oldest.block.bytes();
            self.returned.pop_front().into_iter().for_each(|oldest| Block::spare(oldest.block));
        }
        marked.map(drop)
    }

    /// Whether too much came back that may still be read.
    pub(super) const fn is_over(&self) -> bool {
        self.bytes > RETURNED_BYTES_MAX
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Used<D>> {
        self.returned.iter()
    }

    /// All of them, for destruction.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Used<D>> {
        self.bytes = 0;
        self.returned.drain(..)
    }
}

impl<D: Driver> Staging for Lent<D> {
    fn device(&self) -> DeviceId {
        self.device
    }

    #[expect(unsafe_code, reason = "host bytes are reached through the driver's address")]
    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the block has at least so many bytes, initialised when it was made; it is held here alone, and no copy that
        // reads it is in flight.
        unsafe { std::slice::from_raw_parts_mut(self.block.address().0.as_ptr(), self.bytes) }
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        self
    }
}

impl<D: Driver> HardwareServer<D> {
    /// See [`Server::stage`].
    pub(super) fn lend(&mut self, bytes: u64) -> Result<Box<dyn Staging>> {
        let (Some(wanted), Ok(len)) = (NonZeroU64::new(bytes), usize::try_from(bytes)) else {
            let problem = "staging memory has at least one byte, and fits the host's memory".into();
            return Err(ServerError::InvalidSize { bytes, problem });
        };
        // Blocks that were dropped unused are freed first.
        self.collect()?;
        let block = self.staging.staged.take(&mut self.lanes, wanted)?;
        Ok(Box::new(Lent { block, bytes: len, device: self.info.id }))
    }

    /// See [`Server::write_staged`].
    pub(super) fn write_lent(&mut self, stream: StreamId, dst: BufferBinding, staged: Box<dyn Staging>) -> Result<()> {
        let here = self.info.id;
        let checked = staging::own::<Lent<D>>(staged, here)
            .and_then(|lent| check_staged(&dst, lent.bytes as u64, here).map(|()| lent));
        let mut lent = checked.inspect_err(|error| self.book.doom(stream, error.clone()))?;
        if self.book.role(stream) == book::Role::Owner {
            // The recording keeps bytes of its own, for as long as its graph lives.
            let bytes = lent.bytes_mut();
            return self.submit(stream, Op::Write { dst: dst.into(), bytes: (&*bytes).into() });
        }
        let op = Op::staged_write(dst);
        let slot = self.book.slots().index_of(stream);
        let role = match self.book.admit(stream, &op)? {
            Admission::Run => Role::Main(slot),
            Admission::Side { .. } => Role::Side(slot),
            // Only an owner's operation is recorded, or refused without an error.
            Admission::Record { .. } | Admission::Refused => return Ok(()),
        };
        lent.block.touch();
        let with = With { pinned: Some(lent.block.address()), timed: None };
        let ran = self.run_with(stream, role, &op, with);
        // A call that failed may have been taken.
        let end = self.lanes.existing(role).map_or_else(Points::default, |lane| self.lanes.end(lane).into());
        let put = self.staging.staged.put(&mut self.lanes, lent.block, end);
        if let Err(error) = put {
            tracing::debug!(%error, "the end of a staged write could not be marked");
        }
        ran
    }
}
