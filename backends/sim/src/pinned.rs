//! Pinned host memory: real bytes, since the caller reads and writes them. What is freed is kept for a while, so that its
//! addresses belong to nobody else and a late use is seen.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU64;

use graphreel::graph::driver::{HostPtr, PinnedMemory};
use graphreel::sync::Arc;

use crate::failure::{Answer, Fail, Rule};
use crate::op::{Holds, Use};
use crate::raw::Block;

/// Freed bytes that are kept.
const KEPT_BYTES: u64 = 16 << 20;

/// Pinned blocks by address.
#[derive(Debug)]
pub(crate) struct PinnedSpace {
    total: u64,
    used: u64,
    ids: u64,
    live: BTreeMap<usize, Pinned>,
    freed: VecDeque<Pinned>,
    freed_bytes: u64,
}

/// One block.
#[derive(Debug)]
pub(crate) struct Pinned {
    id: u64,
    pub(crate) bytes: NonZeroU64,
    pub(crate) block: Arc<Block>,
    pub(crate) holds: Holds,
}

impl Pinned {
    fn base(&self) -> usize {
        self.block.start().0.addr().get()
    }

    fn contains(&self, address: usize) -> bool {
        address.checked_sub(self.base()).is_some_and(|offset| (offset as u64) < self.bytes.get())
    }
}

impl PinnedSpace {
    pub(crate) fn new(total: u64) -> Self {
        Self { total, used: 0, ids: 0, live: BTreeMap::new(), freed: VecDeque::new(), freed_bytes: 0 }
    }

    pub(crate) fn count(&self) -> usize {
        self.live.len()
    }

    pub(crate) fn alloc(&mut self, bytes: NonZeroU64) -> Result<PinnedMemory, Fail> {
        let fits = bytes.get() <= self.total - self.used;
        let block = if fits { Block::new(bytes, 0xcd) } else { None };
        let block = block.ok_or_else(|| Answer::out_of_memory("pinned host memory"))?;
        self.ids += 1;
        self.used += bytes.get();
        let address = block.start();
        let pinned = Pinned { id: self.ids, bytes, block: Arc::new(block), holds: Holds::default() };
        self.live.insert(pinned.base(), pinned);
        Ok(PinnedMemory { address, bytes })
    }

    /// Forget a block. Answers how it was held, and the block, to be scribbled over.
    pub(crate) fn free(&mut self, memory: &PinnedMemory) -> Result<(Holds, Arc<Block>), Fail> {
        let base = memory.address.0.addr().get();
        match self.live.get(&base) {
            Some(found) if found.bytes == memory.bytes => {}
            _ => {
                return Fail::misuse(Rule::BadFree, format!("{} of {} bytes", self.name(memory.address), memory.bytes));
            }
        }
        let found = self.live.remove(&base).expect("it was just found");
        self.used -= found.bytes.get();
        self.freed_bytes += found.bytes.get();
        let (holds, block) = (found.holds, Arc::clone(&found.block));
        self.freed.push_back(found);
        while self.freed_bytes > KEPT_BYTES {
            let Some(oldest) = self.freed.pop_front() else { break };
            self.freed_bytes -= oldest.bytes.get();
        }
        Ok((holds, block))
    }

    fn containing(&self, address: usize) -> Option<&Pinned> {
        let (_, found) = self.live.range(..=address).next_back()?;
        found.contains(address).then_some(found)
    }

    /// What a host range uses: a pinned block, or nothing where it is plain memory of the caller's.
    pub(crate) fn find(&self, start: HostPtr, bytes: NonZeroU64) -> Result<Option<(Use, Arc<Block>)>, Fail> {
        let address = start.0.addr().get();
        let Some(found) = self.containing(address) else {
            if self.freed.iter().any(|freed| freed.contains(address)) {
                return Fail::misuse(Rule::UseAfterFree, format!("{bytes} bytes at {}", self.name(start)));
            }
            return Ok(None);
        };
        let rest = found.bytes.get() - (address - found.base()) as u64;
        if bytes.get() > rest {
            let detail = format!("{bytes} bytes at {} of {} bytes", self.name(start), found.bytes);
            return Fail::misuse(Rule::PastTheEnd, detail);
        }
        Ok(Some((Use::Pinned { base: found.base(), id: found.id }, Arc::clone(&found.block))))
    }

    pub(crate) fn holds(&mut self, base: usize, id: u64) -> Option<&mut Holds> {
        self.live.get_mut(&base).filter(|found| found.id == id).map(|found| &mut found.holds)
    }

    pub(crate) fn forget_pending(&mut self) {
        self.live.values_mut().for_each(|found| found.holds.forget_pending());
    }

    /// An address for people. Plain memory has no number, which would differ from run to run.
    pub(crate) fn name(&self, address: HostPtr) -> String {
        let address = address.0.addr().get();
        if let Some(found) = self.containing(address) {
            return format!("p{}+{}", found.id, address - found.base());
        }
        let freed = self.freed.iter().rev().find(|freed| freed.contains(address));
        freed.map_or_else(|| "host".to_owned(), |freed| format!("freed p{}+{}", freed.id, address - freed.base()))
    }
}
