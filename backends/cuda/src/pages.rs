//! Pages from a stream-ordered pool of our own, where that is asked for: a free through it does not wait for the device, as one of
//! plain memory does.
//!
//! The pool's calls have a stream of their own, on which nothing else runs and which never records: so memory is there once the
//! stream is idle, for whatever stream uses it next, and no graph gets a memory node.

#![expect(unsafe_code, reason = "the driver is called")]

use std::ffi::{c_int, c_uint, c_ushort, c_void};
use std::num::NonZeroU64;
use std::ptr;
use std::thread;
use std::time::{Duration, Instant};

use cudarc::driver::sys::{CUdevice, CUmemoryPool, CUstream_flags};
use graphreel::error::{DriverError, DriverErrorKind};
use graphreel::graph::DriverResult;

use crate::calls::Calls;
use crate::fault;
use crate::handle::RawStream;

/// `CU_MEMPOOL_ATTR_RELEASE_THRESHOLD`.
const RELEASE_THRESHOLD: c_uint = 4;
/// `CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT`.
const RESERVED_MEM_CURRENT: c_uint = 5;
/// `CU_MEMPOOL_ATTR_USED_MEM_CURRENT`.
const USED_MEM_CURRENT: c_uint = 7;

/// How long an allocation may take to be passed on a stream that has nothing else: it is no work of the device.
const PASSED_WITHIN: Duration = Duration::from_millis(20);

/// Where pages of device memory come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pages {
    /// `cuMemAlloc` and `cuMemFree`, which waits for the device: pages go back while it is idle.
    #[default]
    Plain,
    /// A stream-ordered pool, to which pages go back at any time. It keeps them for its device's next pages until that is closed,
    /// so other processes see them as used.
    StreamOrdered,
}

/// `CUmemPoolProps`, which has grown within its reserved bytes.
#[repr(C)]
struct Props {
    /// 1 is pinned memory, which devices have.
    allocation: c_int,
    /// 0 shares with no other process.
    handles: c_int,
    /// 1 is a device, by number.
    location: [c_int; 2],
    security: *mut c_void,
    bytes_max: usize,
    usage: c_ushort,
    reserved: [u8; 54],
}

/// A pool of a device, with the stream of its calls.
#[derive(Debug)]
pub(crate) struct PagePool {
    pool: Pool,
    stream: RawStream,
}

/// The handle is a number that only the driver looks behind.
#[derive(Clone, Copy, Debug)]
struct Pool(CUmemoryPool);

// SAFETY: the driver's calls may come from any thread, and nothing else reads through the pointer.
unsafe impl Send for Pool {}

// SAFETY: as for `Send`; a shared handle gives no access but through the driver's calls.
unsafe impl Sync for Pool {}

impl PagePool {
    /// A pool on a device that has them, whose context is bound.
    pub(crate) fn new(calls: &Calls, device: CUdevice) -> DriverResult<Self> {
        let props = Props {
            allocation: 1,
            handles: 0,
            location: [1, device],
            security: ptr::null_mut(),
            bytes_max: 0,
            usage: 0,
            reserved: [0; 54],
        };
        let mut pool = ptr::null_mut();
        // SAFETY: the call reads one structure and writes one handle.
        unsafe { calls.cuMemPoolCreate(&raw mut pool, (&raw const props).cast()) }?;
        let mut stream = ptr::null_mut();
        let flags = CUstream_flags::CU_STREAM_NON_BLOCKING as c_uint;
        // SAFETY: the call writes one handle.
        let made = unsafe { calls.cuStreamCreate(&raw mut stream, flags) };
        // What is free stays in the pool, and no call of another stream looks for what it could give back.
        let mut threshold = u64::MAX;
        let set = made.and_then(|()| {
            // SAFETY: the handle is live; the call reads one number.
            unsafe { calls.cuMemPoolSetAttribute(pool, RELEASE_THRESHOLD, (&raw mut threshold).cast()) }
        });
        let made = Self { pool: Pool(pool), stream: RawStream(stream) };
        match set {
            Ok(()) => Ok(made),
            Err(error) => {
                made.destroy(calls);
                Err(error)
            }
        }
    }

    /// Memory that any stream may use at once.
    pub(crate) fn alloc(&self, calls: &Calls, bytes: NonZeroU64) -> DriverResult<u64> {
        let mut address = 0;
        let bytes = bytes.get() as usize;
        // SAFETY: both handles are live; the call writes one address.
        unsafe { calls.cuMemAllocFromPoolAsync(&raw mut address, bytes, self.pool.0, self.stream.0) }?;
        let passed = self.passed(calls);
        if passed.is_err() {
            drop(self.free(calls, address));
        }
        passed.map(|()| address)
    }

    /// Until the stream is idle, which it is but for calls of the pool.
    fn passed(&self, calls: &Calls) -> DriverResult {
        let started = Instant::now();
        loop {
            // SAFETY: the handle is live.
            match unsafe { calls.cuStreamQuery(self.stream.0) } {
                Err(error) if error.code != fault::NOT_READY => return Err(error),
                Err(error) if started.elapsed() > PASSED_WITHIN => {
                    let name =
                        format!("{}: other work holds up the pool, open the device with plain pages", error.name);
                    return Err(DriverError { name, kind: DriverErrorKind::Refused, ..error });
                }
                Err(_) => thread::yield_now(),
                Ok(()) => return Ok(()),
            }
        }
    }

    /// Give memory back, which nothing uses any more.
    pub(crate) fn free(&self, calls: &Calls, address: u64) -> DriverResult {
        // SAFETY: the handle is live; the memory is given up, and its last use is done.
        unsafe { calls.cuMemFreeAsync(address, self.stream.0) }
    }

    /// Bytes that the pool holds and nobody uses: free for the device's next pages.
    pub(crate) fn held(&self, calls: &Calls) -> DriverResult<u64> {
        let ask = |attribute| {
            let mut bytes = 0u64;
            // SAFETY: the handle is live; the call writes one number.
            unsafe { calls.cuMemPoolGetAttribute(self.pool.0, attribute, (&raw mut bytes).cast()) }.map(|()| bytes)
        };
        Ok(ask(RESERVED_MEM_CURRENT)?.saturating_sub(ask(USED_MEM_CURRENT)?))
    }

    /// Give it back with all that it holds. The context is bound, and no page is left.
    pub(crate) fn destroy(self, calls: &Calls) {
        if !self.stream.0.is_null() {
            // SAFETY: the handle is live and given up.
            report(unsafe { calls.cuStreamDestroy_v2(self.stream.0) });
        }
        // SAFETY: the handle is live and given up.
        report(unsafe { calls.cuMemPoolDestroy(self.pool.0) });
    }
}

fn report(answer: DriverResult) {
    if let Err(error) = answer {
        tracing::debug!(%error, "a pool of pages was not given back");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The size that NVIDIA's headers of CUDA 12 and 13 give it on 64 bits.
    #[test]
    fn the_structure_has_the_drivers_size() {
        assert_eq!(size_of::<Props>(), 88);
    }
}
