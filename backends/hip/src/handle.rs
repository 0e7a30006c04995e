//! Handles of the runtime, each a type of its own, so that none stands where another is meant.
//!
//! A handle is a number to everybody but the driver, and the driver's calls may come from any thread: so they are sent and
//! shared freely. What must not happen to one at the same time is the waist's contract.

use std::ffi::c_void;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use graphreel_hip_sys::handle::{
    hipDevice_t, hipEvent_t, hipFunction_t, hipGraph_t, hipGraphExec_t, hipGraphNode_t, hipModule_t, hipStream_t,
};

use crate::roots::Roots;

macro_rules! handle {
    ($(#[$doc:meta])* $vis:vis $name:ident($raw:ty) $($derive:ident)*) => {
        $(#[$doc])*
        #[derive(PartialEq, Eq, $($derive),*)]
        #[repr(transparent)]
        $vis struct $name(pub(crate) $raw);

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
    pub HipEvent(hipEvent_t)
);
handle!(
    /// A module.
    pub HipModule(hipModule_t)
);
handle!(
    /// A function of a module.
    pub HipFunction(hipFunction_t) Clone Copy
);
handle!(
    /// A graph as the runtime has it.
    pub(crate) RawGraph(hipGraph_t)
);
handle!(
    /// A node. Arrays of it are arrays of the driver's.
    pub HipNode(hipGraphNode_t) Clone Copy
);
handle!(
    /// An executable graph.
    pub HipExec(hipGraphExec_t)
);
handle!(
    /// A stream's own handle.
    pub RawStream(hipStream_t) Clone Copy
);

/// What a thread has bound: the index of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HipContext(pub(crate) hipDevice_t);

/// A stream: one that was made here, or an application's.
///
/// It captures on a stream of its own that has no other work. AMD's runtime takes events that were recorded on a stream for
/// the capture's as soon as the stream captures: HIP 6.4 breaks the capture when one is asked, 7.2 lets nobody wait for it.
#[derive(Debug)]
pub struct HipStream {
    pub(crate) raw: RawStream,
    /// An application's is not destroyed.
    pub(crate) owned: bool,
    recorder: Mutex<Recorder>,
}

/// Where a stream captures.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    /// Made by the first capture, and again after one that failed: the runtime leaves a stream broken then.
    pub(crate) stream: Option<RawStream>,
    /// Whether a capture is open.
    pub(crate) open: bool,
}

impl HipContext {
    /// The device's index, as `hipSetDevice` takes it.
    pub fn as_raw(self) -> i32 {
        self.0
    }
}

impl HipStream {
    pub(crate) fn new(raw: RawStream, owned: bool) -> Self {
        Self { raw, owned, recorder: Mutex::default() }
    }

    pub(crate) fn recorder(&self) -> MutexGuard<'_, Recorder> {
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where its work goes now.
    pub(crate) fn now(&self) -> hipStream_t {
        let recorder = self.recorder();
        recorder.stream.as_ref().filter(|_| recorder.open).unwrap_or(&self.raw).0
    }

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
        Self::new(RawStream(stream.cast()), false)
    }
}

/// A graph.
#[derive(Debug, PartialEq, Eq)]
pub struct HipGraph {
    pub(crate) raw: RawGraph,
    /// Of the nodes that were added.
    pub(crate) roots: Roots,
}

impl HipGraph {
    /// One to which no node was added; what was captured may be in it.
    pub(crate) fn new(raw: RawGraph) -> Self {
        Self { raw, roots: Roots::default() }
    }
}
