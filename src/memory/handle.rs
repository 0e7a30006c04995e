//! Shared handles on device memory, and the exact ranges that work is given (C-40 to C-48).

use std::fmt;
use std::ops::Range;

use crate::error::ServerError;
use crate::process;
use crate::stream::StreamId;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Arc, Mutex, OnceLock, Weak};

static NEXT_DEVICE: AtomicU64 = AtomicU64::new(1);
static NEXT_MEMORY: AtomicU64 = AtomicU64::new(1);

/// A device opened in this process. Numbers are never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceId(pub u64);

/// One allocation. Ordered by creation and never used twice in a process, so no taint can reach a later user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ManagedMemoryId(pub u64);

impl fmt::Display for ManagedMemoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// Makes the handles of one device and collects those that were dropped.
///
/// A drop only notes the id here; the device's server frees it at its next call, so dropping never blocks.
#[derive(Clone, Debug)]
pub struct MemoryService(Arc<ServiceInner>);

#[derive(Debug)]
struct ServiceInner {
    device: DeviceId,
    dropped: Mutex<Vec<ManagedMemoryId>>,
}

impl Default for MemoryService {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryService {
    /// The service of a new device.
    pub fn new() -> Self {
        Self(Arc::new(ServiceInner {
            device: DeviceId(NEXT_DEVICE.fetch_add(1, Ordering::Relaxed)),
            dropped: Mutex::new(Vec::new()),
        }))
    }

    /// The device whose handles this makes.
    pub fn device(&self) -> DeviceId {
        self.0.device
    }

    /// Move the ids of memory that nobody holds any more into `out`.
    pub fn drain_dropped(&self, out: &mut Vec<ManagedMemoryId>) {
        out.append(&mut self.0.dropped.lock());
    }
}

/// One allocation, shared by all handles on it. The last drop queues it for release.
#[derive(Clone, Debug)]
pub struct Memory(Arc<MemoryInner>);

#[derive(Debug)]
struct MemoryInner {
    id: ManagedMemoryId,
    size: u64,
    service: MemoryService,
    /// Why its payer took it back, once it did.
    revoked: OnceLock<Arc<str>>,
}

impl MemoryInner {
    /// Let the server free it at its next call.
    fn give_back(&self) {
        self.service.0.dropped.lock().push(self.id);
    }
}

impl Drop for MemoryInner {
    fn drop(&mut self) {
        // In a process that ends, the lock may belong to a thread that is gone.
        if self.revoked.get().is_none() && !process::is_ending() {
            self.give_back();
        }
    }
}

/// An allocation that its payer can take back; holds nothing.
#[derive(Clone, Debug)]
pub(super) struct WeakMemory(Weak<MemoryInner>);

impl WeakMemory {
    /// Whether a handle is left.
    pub(super) fn is_held(&self) -> bool {
        self.0.strong_count() > 0
    }

    /// Free the memory although handles are left: they are refused from now on.
    pub(super) fn revoke(&self, why: &Arc<str>) {
        if let Some(memory) = self.0.upgrade()
            && memory.revoked.set(why.clone()).is_ok()
        {
            memory.give_back();
        }
    }
}

impl Memory {
    /// Its identity.
    pub fn id(&self) -> ManagedMemoryId {
        self.0.id
    }

    /// Its size in bytes, as asked for.
    pub fn size(&self) -> u64 {
        self.0.size
    }

    /// The device it lies on.
    pub fn device(&self) -> DeviceId {
        self.0.service.device()
    }

    /// The refusal of memory that its payer took back; `None` while it is there.
    pub fn revoked(&self) -> Option<ServerError> {
        self.0.revoked.get().map(|why| ServerError::closed(format!("buffer {}", self.0.id), why.clone()))
    }

    pub(super) fn downgrade(&self) -> WeakMemory {
        WeakMemory(Arc::downgrade(&self.0))
    }

    /// How many handles, recordings and graphs hold it.
    pub fn holders(&self) -> usize {
        Arc::strong_count(&self.0)
    }
}

/// A handle on an allocation or a part of it, made on a stream.
#[derive(Clone, Debug)]
pub struct Handle {
    binding: BufferBinding,
}

impl Handle {
    /// A new allocation of `size` bytes. Touches no device: the server gives it a place.
    pub fn new(service: &MemoryService, stream: StreamId, size: u64) -> Self {
        let id = ManagedMemoryId(NEXT_MEMORY.fetch_add(1, Ordering::Relaxed));
        let memory = Memory(Arc::new(MemoryInner { id, size, service: service.clone(), revoked: OnceLock::new() }));
        Self { binding: BufferBinding { memory, offset_start: None, offset_end: None, size, stream } }
    }

    /// Skip `bytes` more at the front. The caller keeps the sum within the size.
    #[must_use]
    pub fn offset_start(mut self, bytes: u64) -> Self {
        self.binding.offset_start = Some(self.binding.offset_start.unwrap_or(0) + bytes);
        self
    }

    /// Trim `bytes` more from the back. The caller keeps the sum within the size.
    #[must_use]
    pub fn offset_end(mut self, bytes: u64) -> Self {
        self.binding.offset_end = Some(self.binding.offset_end.unwrap_or(0) + bytes);
        self
    }

    /// The bytes it names, as a launch is given them.
    pub fn binding(&self) -> BufferBinding {
        self.binding.clone()
    }

    /// The allocation.
    pub fn memory(&self) -> &Memory {
        &self.binding.memory
    }

    /// The stream it was made on.
    pub fn stream(&self) -> StreamId {
        self.binding.stream
    }
}

/// An allocation and a byte range in it, as handed to an operation (C-44).
#[derive(Clone, Debug)]
pub struct BufferBinding {
    /// The allocation.
    pub memory: Memory,
    /// Bytes skipped at the front; `None` is 0.
    pub offset_start: Option<u64>,
    /// Bytes trimmed at the back; `None` is 0.
    pub offset_end: Option<u64>,
    /// The allocation's size in bytes.
    pub size: u64,
    /// The stream the handle was made on. Not part of the claim.
    pub stream: StreamId,
}

/// The identity of a binding: memory, first byte, bytes trimmed at the back; ordered in that order (C-45).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClaimKey {
    /// The allocation.
    pub memory: ManagedMemoryId,
    /// Bytes skipped at the front.
    pub start: u64,
    /// Bytes trimmed at the back.
    pub end_trim: u64,
}

impl BufferBinding {
    /// The claim that this binding names.
    pub fn claim_key(&self) -> ClaimKey {
        ClaimKey {
            memory: self.memory.id(),
            start: self.offset_start.unwrap_or(0),
            end_trim: self.offset_end.unwrap_or(0),
        }
    }

    /// The bytes it names, relative to the allocation.
    pub fn range(&self) -> Range<u64> {
        let start = self.offset_start.unwrap_or(0);
        start..self.size.saturating_sub(self.offset_end.unwrap_or(0)).max(start)
    }

    /// How many bytes it names.
    pub fn len(&self) -> u64 {
        let range = self.range();
        range.end - range.start
    }

    /// Whether it names no byte.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The part `range` of it, relative to its own start; `None` when that does not lie within.
    pub fn slice(&self, range: Range<u64>) -> Option<Self> {
        if range.start > range.end || range.end > self.len() {
            return None;
        }
        let start = self.offset_start.unwrap_or(0) + range.start;
        let end_trim = self.offset_end.unwrap_or(0) + (self.len() - range.end);
        Some(Self { offset_start: Some(start), offset_end: Some(end_trim), ..self.clone() })
    }
}

/// What an operation does with a range. Access is what the entry point does, not what it declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Reads it.
    Read,
    /// Writes the whole of it and reads none.
    Write,
    /// Reads and writes it, or its access is unknown.
    ReadWrite,
    /// Writes a part of it: the rest keeps its bytes, so it counts as read and written.
    WritePart,
}

impl Access {
    /// Whether the bytes before matter.
    pub const fn reads(self) -> bool {
        !matches!(self, Self::Write)
    }

    /// Whether the bytes after may differ.
    pub const fn writes(self) -> bool {
        !matches!(self, Self::Read)
    }

    /// What two uses of one range amount to.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        match (self, other) {
            (Self::Read, Self::Read) => Self::Read,
            (Self::Write, Self::Write) => Self::Write,
            (Self::WritePart, Self::WritePart) => Self::WritePart,
            _ => Self::ReadWrite,
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::ReadWrite => "read-write",
            Self::WritePart => "write-part",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_memory_is_queued_once_and_only_after_its_last_handle() {
        let service = MemoryService::new();
        let handle = Handle::new(&service, StreamId { value: 1 }, 8);
        let (id, binding) = (handle.memory().id(), handle.binding());
        drop(handle);
        let mut dropped = Vec::new();
        service.drain_dropped(&mut dropped);
        assert!(dropped.is_empty());
        drop(binding);
        service.drain_dropped(&mut dropped);
        service.drain_dropped(&mut dropped);
        assert_eq!(dropped, [id]);
    }

    #[test]
    fn no_offset_and_offset_zero_are_one_claim() {
        // C-45, XC-9.
        let handle = Handle::new(&MemoryService::new(), StreamId { value: 1 }, 8);
        let zero = handle.clone().offset_start(0).offset_end(0);
        assert_eq!(handle.binding().claim_key(), zero.binding().claim_key());
        assert_eq!(handle.binding().range(), 0..8);
    }

    #[test]
    fn a_slice_is_relative_to_its_binding() {
        let binding = Handle::new(&MemoryService::new(), StreamId { value: 1 }, 16).offset_start(4).binding();
        let part = binding.slice(4..8).expect("within 12 bytes");
        assert_eq!(part.range(), 8..12);
        assert_eq!(part.claim_key().end_trim, 4);
        assert!(binding.slice(4..13).is_none());
    }
}
