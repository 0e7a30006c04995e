//! Handles of the driver, each a type of its own, so that none stands where another is meant.
//!
//! A handle is a number to everybody but the driver, and the driver's calls may come from any thread: so they are sent and
//! shared freely. What must not happen to one at the same time is the waist's contract.

use std::ffi::c_void;
use std::fmt;

use cudarc::driver::sys;

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident($raw:ty) $($derive:ident)*) => {
        $(#[$doc])*
        #[derive(PartialEq, Eq, $($derive),*)]
        #[repr(transparent)]
        pub struct $name(pub(crate) $raw);

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:?})"), self.0)
            }
        }

        #[expect(unsafe_code, reason = "a handle is a number that only the driver looks behind")]
        // SAFETY: the driver's calls may come from any thread, and nothing else reads through the pointer.
        unsafe impl Send for $name {}

        #[expect(unsafe_code, reason = "a handle is a number that only the driver looks behind")]
        // SAFETY: as for `Send`; a shared handle gives no access but through the driver's calls.
        unsafe impl Sync for $name {}
    };
}

handle!(
    /// A context, which stays alive as long as the driver that answered it.
    CudaContext(sys::CUcontext) Clone Copy
);
handle!(
    /// An event.
    CudaEvent(sys::CUevent)
);
handle!(
    /// A module.
    CudaModule(sys::CUmodule)
);
handle!(
    /// A function of a module.
    CudaFunction(sys::CUfunction) Clone Copy
);
handle!(
    /// A graph.
    CudaGraph(sys::CUgraph)
);
handle!(
    /// A node. Arrays of it are arrays of the driver's.
    CudaNode(sys::CUgraphNode) Clone Copy
);
handle!(
    /// An executable graph.
    CudaExec(sys::CUgraphExec)
);
handle!(
    /// A stream's own handle.
    RawStream(sys::CUstream) Clone Copy
);

/// A stream: one that was made here, or an application's.
#[derive(Debug, PartialEq, Eq)]
pub struct CudaStream {
    pub(crate) raw: RawStream,
    /// An application's is not destroyed.
    pub(crate) owned: bool,
}

impl CudaContext {
    /// The `CUcontext`.
    pub fn as_raw(self) -> *mut c_void {
        self.0.cast()
    }
}

impl CudaStream {
    /// The `CUstream`.
    pub fn as_raw(&self) -> *mut c_void {
        self.raw.0.cast()
    }

    /// A stream of the application, which is not destroyed here.
    ///
    /// # Safety
    ///
    /// It is a live `CUstream` of the driver's context, for as long as this is used.
    #[expect(unsafe_code, reason = "a handle is taken from outside")]
    pub unsafe fn from_raw(stream: *mut c_void) -> Self {
        Self { raw: RawStream(stream.cast()), owned: false }
    }
}
