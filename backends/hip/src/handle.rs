//! Handles of the runtime, each a type of its own, so that none stands where another is meant.
//!
//! A handle is a number to everybody but the driver, and the driver's calls may come from any thread: so they are sent and
//! shared freely. What must not happen to one at the same time is the waist's contract.

use std::ffi::c_void;
use std::fmt;

use graphreel_hip_sys::handle::{
    hipDevice_t, hipEvent_t, hipFunction_t, hipGraph_t, hipGraphExec_t, hipGraphNode_t, hipModule_t, hipStream_t,
};

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
    /// An event.
    HipEvent(hipEvent_t)
);
handle!(
    /// A module.
    HipModule(hipModule_t)
);
handle!(
    /// A function of a module.
    HipFunction(hipFunction_t) Clone Copy
);
handle!(
    /// A graph.
    HipGraph(hipGraph_t)
);
handle!(
    /// A node. Arrays of it are arrays of the driver's.
    HipNode(hipGraphNode_t) Clone Copy
);
handle!(
    /// An executable graph.
    HipExec(hipGraphExec_t)
);
handle!(
    /// A stream's own handle.
    RawStream(hipStream_t) Clone Copy
);

/// What a thread has bound: the index of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HipContext(pub(crate) hipDevice_t);

/// A stream: one that was made here, or an application's.
#[derive(Debug, PartialEq, Eq)]
pub struct HipStream {
    pub(crate) raw: RawStream,
    /// An application's is not destroyed.
    pub(crate) owned: bool,
}

impl HipContext {
    /// The device's index, as `hipSetDevice` takes it.
    pub fn as_raw(self) -> i32 {
        self.0
    }
}

impl HipStream {
    /// The `hipStream_t`.
    pub fn as_raw(&self) -> *mut c_void {
        self.raw.0.cast()
    }

    /// A stream of the application, which is not destroyed here.
    ///
    /// # Safety
    ///
    /// It is a live `hipStream_t` of the driver's device, for as long as this is used.
    #[expect(unsafe_code, reason = "a handle is taken from outside")]
    pub unsafe fn from_raw(stream: *mut c_void) -> Self {
        Self { raw: RawStream(stream.cast()), owned: false }
    }
}
