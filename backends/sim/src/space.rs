//! The device's address space. Addresses are numbers that lead nowhere on the host; what is freed is handed out again at once,
//! so that a stale address meets its next owner.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use graphreel::graph::driver::{DeviceBytes, DeviceMemory, DevicePtr};
use graphreel::sync::Arc;

use crate::failure::{Answer, Fail, Rule};
use crate::memory::Memory;
use crate::op::{Holds, Use};

/// Alignment of an allocation, as on both vendors.
const ALIGNMENT: u64 = 256;
/// The first address: no address that a process has.
const FIRST: u64 = 0xd000_0000_0000;
/// How far back in the list of freed spans a fitting one is looked for.
const FREED_SEARCHED: usize = 64;

/// Device memory by address.
#[derive(Debug)]
pub(crate) struct Space {
    total: u64,
    used: u64,
    next: u64,
    ids: u64,
    rng: fastrand::Rng,
    live: BTreeMap<u64, Allocation>,
    /// The last freed last.
    freed: Vec<Span>,
}

/// One allocation.
#[derive(Debug)]
pub(crate) struct Allocation {
    id: u64,
    bytes: NonZeroU64,
    span: u64,
    memory: Arc<Memory>,
    pub(crate) holds: Holds,
}

#[derive(Debug)]
struct Span {
    base: u64,
    bytes: u64,
    id: u64,
}

impl Space {
    pub(crate) fn new(total: u64, seed: u64) -> Self {
        let rng = fastrand::Rng::with_seed(seed ^ 0xdead_beef);
        Self { total, used: 0, next: FIRST, ids: 0, rng, live: BTreeMap::new(), freed: Vec::new() }
    }

    pub(crate) fn bytes(&self) -> DeviceBytes {
        DeviceBytes { free: self.total - self.used, total: self.total }
    }

    pub(crate) fn count(&self) -> usize {
        self.live.len()
    }

    pub(crate) fn alloc(&mut self, bytes: NonZeroU64) -> Result<DeviceMemory, Fail> {
        let need = bytes.get().checked_next_multiple_of(ALIGNMENT).unwrap_or(u64::MAX);
        if need > self.total - self.used {
            return Err(Answer::out_of_memory("device memory").into());
        }
        // Whatever the memory held before: a pattern that is recognised in a dump and no valid result.
        let garbage = 0xdead_beef ^ (self.rng.u32(..) & 0x0000_ffff);
        let memory =
            Memory::try_new(bytes.get(), garbage).ok_or_else(|| Answer::out_of_memory("the machine's memory"))?;
        let memory = Arc::new(memory);
        let (base, span) = self.place(need);
        self.ids += 1;
        self.used += need;
        self.live.insert(base, Allocation { id: self.ids, bytes, span, memory, holds: Holds::default() });
        Ok(DeviceMemory { address: DevicePtr(NonZeroU64::new(base).expect("addresses start above zero")), bytes })
    }

    /// The span freed last that is large enough, else a new one.
    fn place(&mut self, need: u64) -> (u64, u64) {
        let found = self.freed.iter().rev().take(FREED_SEARCHED).position(|span| span.bytes >= need);
        if let Some(back) = found {
            let span = self.freed.remove(self.freed.len() - 1 - back);
            return (span.base, span.bytes);
        }
        let base = self.next;
        // A gap between allocations, so that a range past an end meets no neighbour.
        self.next += need + ALIGNMENT;
        (base, need)
    }

    /// Forget an allocation. Answers how it was held.
    pub(crate) fn free(&mut self, memory: &DeviceMemory) -> Result<Holds, Fail> {
        let base = memory.address.0.get();
        match self.live.get(&base) {
            Some(found) if found.bytes == memory.bytes => {}
            _ => return Fail::misuse(Rule::BadFree, format!("{} of {} bytes", self.name(base), memory.bytes)),
        }
        let found = self.live.remove(&base).expect("it was just found");
        self.used -= found.bytes.get().next_multiple_of(ALIGNMENT);
        self.freed.push(Span { base, bytes: found.span, id: found.id });
        Ok(found.holds)
    }

    fn containing(&self, address: u64) -> Option<(u64, &Allocation)> {
        let (base, found) = self.live.range(..=address).next_back()?;
        (address - base < found.bytes.get()).then_some((*base, found))
    }

    /// What a range of an allocation uses.
    pub(crate) fn find(&self, address: u64, bytes: u64) -> Result<Use, Fail> {
        let Some((base, found)) = self.containing(address) else {
            let freed = self.freed.iter().any(|span| address >= span.base && address - span.base < span.bytes);
            let rule = if freed { Rule::UseAfterFree } else { Rule::NoAllocation };
            return Fail::misuse(rule, format!("{bytes} bytes at {}", self.name(address)));
        };
        if bytes > found.bytes.get() - (address - base) {
            let detail = format!("{bytes} bytes at {} of {} bytes", self.name(address), found.bytes);
            return Fail::misuse(Rule::PastTheEnd, detail);
        }
        Ok(Use::Device { base, id: found.id })
    }

    /// The bytes of a range: the memory, and where in it the range starts.
    pub(crate) fn view(&self, address: u64, bytes: u64) -> Option<(Arc<Memory>, u64)> {
        let (base, found) = self.containing(address)?;
        let offset = address - base;
        (bytes <= found.bytes.get() - offset).then(|| (Arc::clone(&found.memory), offset))
    }

    pub(crate) fn holds(&mut self, base: u64, id: u64) -> Option<&mut Holds> {
        self.live.get_mut(&base).filter(|found| found.id == id).map(|found| &mut found.holds)
    }

    pub(crate) fn forget_pending(&mut self) {
        self.live.values_mut().for_each(|found| found.holds.forget_pending());
    }

    /// An address for people: the allocation and the offset in it.
    pub(crate) fn name(&self, address: u64) -> String {
        if let Some((base, found)) = self.containing(address) {
            return format!("m{}+{}", found.id, address - base);
        }
        let freed = self.freed.iter().rev().find(|span| address >= span.base && address - span.base < span.bytes);
        freed.map_or_else(|| format!("{address:#x}"), |span| format!("freed m{}+{}", span.id, address - span.base))
    }
}
