//! Working beside an application that uses HIP itself: its streams and its memory as ours, and ours as its. Its device is
//! opened by index: HIP has one context for each device, which all of a process share.

#![expect(unsafe_code, reason = "handles and addresses are taken from outside")]

use std::any::Any;
use std::ffi::c_void;
use std::num::NonZeroU64;

use graphreel::graph::Driver as _;
use graphreel::graph::driver::{DeviceMemory, DevicePtr};
use graphreel::memory::{Access, BufferBinding, Handle};
use graphreel::{Result, ServerError, StreamId};

use crate::handle::{HipStream, RawStream};
use crate::open::HipServer;

/// Bytes of ours, for the application's own calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawBuffer {
    /// The first byte: a device pointer.
    pub address: u64,
    /// How many there are.
    pub bytes: u64,
}

/// Calls of a [`HipServer`] that share with an application. Through a `Device` they are made by
/// [`with_server`](graphreel::Device::with_server), which keeps other threads out until it returns.
pub trait Interop {
    /// Our device's index, as `hipSetDevice` takes it.
    fn raw_device(&self) -> i32;

    /// Use a stream of the application as ours. What it gives to the stream, and what we do on the [`StreamId`] that is answered,
    /// are in one order. Given back by `return_stream`.
    ///
    /// # Errors
    ///
    /// `Unsupported` for the null stream, for a stream of another device and for one that captures, and when all exclusive streams are in use; the
    /// device's loss.
    ///
    /// # Safety
    ///
    /// `stream` is a `hipStream_t` made with `hipStreamNonBlocking` that lives until the server has given back the device. It is
    /// adopted once at a time. The application begins a capture on it only while no other thread can use the device, as within
    /// [`with_server`](graphreel::Device::with_server): a call of ours that comes later is refused as long as it records, and one
    /// that is under way would become a part of it.
    unsafe fn adopt_raw_stream(&mut self, stream: *mut c_void) -> Result<StreamId>;

    /// Our stream behind a [`StreamId`], as a `hipStream_t`. It lives as long as the server, and what the application gives to it is
    /// in order with our work on that id. It is neither destroyed, nor put into a capture by the application.
    ///
    /// # Errors
    ///
    /// The device's loss; what making a stream answers.
    fn raw_stream(&mut self, stream: StreamId) -> Result<*mut c_void>;

    /// Use `bytes` bytes of the application from `address` on as ours. All of them count as written, by what `stream` was given so
    /// far. `owner` is dropped once nothing of ours uses them, with the device's lock held.
    ///
    /// # Errors
    ///
    /// `InvalidSize` for none and for a size that is no multiple of 4; `Unsupported` for a null address, one that is no multiple of 16, and bytes that
    /// are memory of this device already; `GraphState` where the slot of `stream` records; the device's loss.
    ///
    /// # Safety
    ///
    /// The memory can be reached on our device and lives as long as `owner`, whose drop calls nothing of this device. Whoever
    /// else uses it orders that with our work: by [`Interop::raw_buffer`], or by waiting.
    unsafe fn wrap_pointer(
        &mut self,
        stream: StreamId,
        address: u64,
        bytes: u64,
        owner: Box<dyn Any + Send>,
    ) -> Result<Handle>;

    /// Where a range's bytes lie, for work that the application gives to `stream` before the next call of this server: it comes
    /// after our earlier work on them, and our later work comes after it. Bytes that it writes count as written. The address
    /// is good as long as the handle is.
    ///
    /// # Errors
    ///
    /// `ForeignHandle`, `InvalidRange`; why bytes that are to be read cannot be; `GraphState` where the slot of `stream`
    /// records; the device's loss.
    fn raw_buffer(&mut self, stream: StreamId, range: &BufferBinding, access: Access) -> Result<RawBuffer>;
}

impl Interop for HipServer {
    fn raw_device(&self) -> i32 {
        self.driver().context().as_raw()
    }

    unsafe fn adopt_raw_stream(&mut self, stream: *mut c_void) -> Result<StreamId> {
        let refused = |why: &str| Err(ServerError::unsupported("adopting a stream", why.to_owned()));
        // The null stream and the two names of the default streams: each waits for others, and its work runs past captures.
        if (stream as usize) <= 2 {
            return refused("it is a default stream; give one made with hipStreamNonBlocking");
        }
        let raw = RawStream(stream.cast());
        // SAFETY: the caller says that the stream is alive.
        if unsafe { self.driver().context_of(raw) }? != self.driver().context() {
            return refused("it is of another device; give one of the device that the server is over");
        }
        // SAFETY: the caller says what this demands, beyond what was checked.
        unsafe { self.adopt_stream(HipStream::new(raw, false)) }
    }

    fn raw_stream(&mut self, stream: StreamId) -> Result<*mut c_void> {
        Ok(self.driver_stream(stream)?.as_raw())
    }

    unsafe fn wrap_pointer(
        &mut self,
        stream: StreamId,
        address: u64,
        bytes: u64,
        owner: Box<dyn Any + Send>,
    ) -> Result<Handle> {
        let some = NonZeroU64::new(bytes);
        let bytes = some
            .ok_or_else(|| ServerError::InvalidSize { bytes, problem: "wrapped memory has at least 4 bytes".into() })?;
        let address = NonZeroU64::new(address).map(DevicePtr);
        let address = address.ok_or_else(|| ServerError::unsupported("wrapping memory", "the address is null"))?;
        // SAFETY: the caller says what this demands.
        unsafe { self.wrap(stream, DeviceMemory { address, bytes }, owner) }
    }

    fn raw_buffer(&mut self, stream: StreamId, range: &BufferBinding, access: Access) -> Result<RawBuffer> {
        let address = self.expose(stream, range, access)?.0.get();
        Ok(RawBuffer { address, bytes: range.len() })
    }
}
