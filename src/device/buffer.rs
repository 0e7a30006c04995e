//! A buffer: device memory, or a part of it, that its handles keep alive.

use std::fmt;
use std::ops::Range;

use bytemuck::{AnyBitPattern, NoUninit};

use super::Device;
use super::wait::Pending;
use crate::error::{GraphOp, Result, ServerError};
use crate::memory::{BufferBinding, ManagedMemoryId};
use crate::op::{Bytes, Op};
use crate::server::WaitMode;
use crate::stream::StreamId;

/// Device memory, or a byte range of it. Cheap to clone; the memory lives while any handle, recording or graph holds it.
///
/// Calls go to the calling thread's stream, those of a buffer that an attempt of a backend allocated to the attempt's own;
/// [`Stream`](super::Stream) has the same calls for a stream of choice. Offsets
/// of reads, writes and copies are multiples of 4 bytes, lengths too unless they reach the end of the buffer.
#[derive(Clone)]
pub struct Buffer {
    device: Device,
    binding: BufferBinding,
}

impl Buffer {
    pub(super) fn new(device: Device, binding: BufferBinding) -> Self {
        Self { device, binding }
    }

    /// Where the plain calls go: the calling thread's stream, or the one of the attempt whose memory it is.
    fn home(&self) -> StreamId {
        if self.binding.stream.turn() == 0 { StreamId::current() } else { self.binding.stream }
    }

    /// The device it lies on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Its length in bytes.
    pub fn len_bytes(&self) -> u64 {
        self.binding.len()
    }

    /// How many whole `T` it holds.
    pub fn len_of<T>(&self) -> u64 {
        self.binding.len() / (size_of::<T>().max(1) as u64)
    }

    /// The identity of its memory; slices of one allocation share it.
    pub fn memory_id(&self) -> ManagedMemoryId {
        self.binding.memory.id()
    }

    /// The bytes it names, as an operation is given them.
    pub fn binding(&self) -> BufferBinding {
        self.binding.clone()
    }

    /// The bytes `range` of it, counted from its own start. Bound to a kernel, the offset must be a multiple of
    /// `Caps::binding_alignment`.
    ///
    /// # Errors
    ///
    /// [`ServerError::InvalidRange`] when the range is empty or does not lie within.
    pub fn slice(&self, range: Range<u64>) -> Result<Self> {
        let refuse =
            |problem| ServerError::InvalidRange { op: "slice", range: range.clone(), size: self.len_bytes(), problem };
        if range.start >= range.end {
            return Err(refuse("the range is empty; name at least one byte"));
        }
        let binding = self.binding.slice(range.clone()).ok_or_else(|| refuse("the range ends beyond the buffer"))?;
        Ok(Self { device: self.device.clone(), binding })
    }

    /// The elements `range` of it, as `T`.
    ///
    /// # Errors
    ///
    /// As [`Buffer::slice`].
    pub fn elements<T>(&self, range: Range<u64>) -> Result<Self> {
        let size = size_of::<T>() as u64;
        let scaled = range.start.checked_mul(size).zip(range.end.checked_mul(size));
        let (start, end) = scaled.unwrap_or((u64::MAX, u64::MAX));
        self.slice(start..end)
    }

    /// Write `data` at the start of the buffer.
    ///
    /// # Errors
    ///
    /// [`ServerError::InvalidRange`] when it does not fit; `GraphState` where a window refuses it.
    pub fn write<T: NoUninit>(&self, data: &[T]) -> Result<()> {
        self.write_on(self.home(), data)
    }

    pub(super) fn write_on<T: NoUninit>(&self, stream: StreamId, data: &[T]) -> Result<()> {
        let (dst, bytes) = self.device.inner.or_doom(stream, self.host_bytes("write", data))?;
        self.device.inner.submit(stream, Op::Write { dst: dst.binding.into(), bytes })
    }

    /// The part of the buffer that `data` fills from its start, and the bytes.
    pub(super) fn host_bytes<T: NoUninit>(&self, op: &'static str, data: &[T]) -> Result<(Self, Bytes)> {
        let bytes: &[u8] = bytemuck::cast_slice(data);
        let (size, len) = (self.len_bytes(), bytes.len() as u64);
        if len == 0 || len > size {
            let problem = if len == 0 {
                "there is no data; give at least one element"
            } else {
                "the data ends beyond the buffer"
            };
            return Err(ServerError::InvalidRange { op, range: 0..len, size, problem });
        }
        let dst = if len == size { self.clone() } else { self.slice(0..len)? };
        Ok((dst, bytes.into()))
    }

    /// Read the buffer, after all work queued on it. Blocks for at most `Config::wait_max`.
    ///
    /// # Errors
    ///
    /// `Unwritten`, `Tainted`, `GraphState` where a window refuses it, `Timeout`, `DeviceLost`; `InvalidRange` when the
    /// length is not a multiple of `T`'s size.
    pub fn read<T: AnyBitPattern>(&self) -> Result<Vec<T>> {
        self.read_on(self.home(), WaitMode::Blocking)?.wait()
    }

    /// As [`Buffer::read`], as a future or to wait for later.
    ///
    /// # Errors
    ///
    /// As [`Buffer::read`], for what is known at once.
    pub fn read_async<T: AnyBitPattern>(&self) -> Result<Pending<Vec<T>>> {
        self.read_on(self.home(), WaitMode::Future)
    }

    pub(super) fn read_on<T: AnyBitPattern>(&self, stream: StreamId, mode: WaitMode) -> Result<Pending<Vec<T>>> {
        let size = size_of::<T>() as u64;
        if size == 0 || !self.len_bytes().is_multiple_of(size) {
            let problem = "the length is no multiple of the element's size; slice the buffer to whole elements";
            return Err(ServerError::InvalidRange {
                op: "read",
                range: 0..self.len_bytes(),
                size: self.len_bytes(),
                problem,
            });
        }
        let inner = &self.device.inner;
        inner.refuse_in_closure(GraphOp::Read, "a read after the capture")?;
        let ticket = inner.lock_on(stream)?.read(stream, vec![self.binding()], mode)?;
        let finish = ticket.finish;
        let cast: crate::ticket::Finish<Vec<T>> = Box::new(move |server| {
            let bytes = finish(server)?;
            let bytes: &[u8] = bytes.first().map_or(&[], |bytes| bytes);
            Ok(bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect())
        });
        Ok(Pending::new(inner.clone(), crate::ticket::Ticket { fence: ticket.fence, finish: cast }, "a read"))
    }

    /// Set every 4-byte word of the buffer.
    ///
    /// # Errors
    ///
    /// As a launch.
    pub fn fill(&self, word: u32) -> Result<()> {
        self.device.inner.submit(self.home(), Op::Fill { dst: self.into(), word })
    }

    /// Copy the whole of `source` here. Lengths are equal.
    ///
    /// # Errors
    ///
    /// As a launch.
    pub fn copy_from(&self, source: &Self) -> Result<()> {
        self.device.inner.submit(self.home(), Op::Copy { src: source.into(), dst: self.into() })
    }

    /// Tell that something outside Graphreel has written the buffer: it is readable, and ordered after, from here on.
    /// The caller has made the device wait for the writer.
    ///
    /// # Errors
    ///
    /// [`ServerError::DeviceLost`]; `GraphState` inside a capture closure.
    pub fn external_write(&self) -> Result<()> {
        let inner = &self.device.inner;
        inner.refuse_in_closure(GraphOp::ExternalWrite, "external_write after the capture")?;
        inner.lock_on(self.home())?.external_write(self.home(), self.binding())
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range = self.binding.range();
        f.debug_struct("Buffer").field("memory", &self.memory_id()).field("range", &range).finish_non_exhaustive()
    }
}
