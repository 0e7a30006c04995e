//! What passes through the driver waist by value: addresses, allocations, shapes, copies and states.

use std::ffi::c_void;
use std::num::NonZeroU64;
use std::ptr::NonNull;

/// An address in device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DevicePtr(pub NonZeroU64);

impl DevicePtr {
    /// The address `bytes` further on; `None` where it leaves the address space.
    pub fn offset(self, bytes: u64) -> Option<Self> {
        self.0.checked_add(bytes).map(Self)
    }
}

/// An address in host memory. Holding one grants no access: whoever reads or writes through it upholds its own contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPtr(pub NonNull<u8>);

#[expect(unsafe_code, reason = "an address is a number; it is only read through in unsafe calls")]
// SAFETY: the value is never dereferenced by safe code, so moving it to another thread touches no memory.
unsafe impl Send for HostPtr {}

#[expect(unsafe_code, reason = "an address is a number; it is only read through in unsafe calls")]
// SAFETY: as for `Send`: a shared reference to an address gives no access to what it points at.
unsafe impl Sync for HostPtr {}

/// Device memory that the driver gave. Not `Clone`: it is freed once, by giving it back.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "memory that is dropped is never freed"]
pub struct DeviceMemory {
    /// Its first byte. At least 256-byte aligned on both vendors.
    pub address: DevicePtr,
    /// Its size in bytes.
    pub bytes: NonZeroU64,
}

/// Page-locked host memory that the driver gave. Freed once, by giving it back.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "memory that is dropped is never freed"]
pub struct PinnedMemory {
    /// Its first byte. Page-aligned.
    pub address: HostPtr,
    /// Its size in bytes.
    pub bytes: NonZeroU64,
}

/// Whether an event records the time at which it is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventTiming {
    /// For ordering only: the cheap kind.
    Off,
    /// For `event_elapsed` too.
    On,
}

/// How many threads a launch runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchShape {
    /// Workgroups (grid) in x, y and z: 1 to 65,535 each.
    pub groups: [u32; 3],
    /// Threads of a workgroup (block) in x, y and z.
    pub threads: [u32; 3],
    /// Dynamic workgroup memory in bytes.
    pub shared_bytes: u32,
}

/// A kernel's parameters: one pointer for each, to a value of its size and alignment. Both vendors take this array as it
/// is and copy the values during the call.
pub type KernelParams<'a> = &'a [*const c_void];

/// One end of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyEnd {
    /// Device memory.
    Device(DevicePtr),
    /// Host memory. In a graph it is read or written at every launch.
    Host(HostPtr),
}

/// A one-dimensional copy, as a graph node. Both ends in host memory is no copy of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeCopy {
    /// Where from.
    pub src: CopyEnd,
    /// Where to.
    pub dst: CopyEnd,
    /// How many bytes.
    pub bytes: NonZeroU64,
}

/// A fill with 4-byte words, as a graph node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeFill {
    /// Where: 4-byte aligned.
    pub dst: DevicePtr,
    /// The word.
    pub word: u32,
    /// How many words.
    pub words: NonZeroU64,
}

/// What a stream does with work that is given to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureState {
    /// It runs it.
    None,
    /// It records it.
    Active,
    /// Its recording was broken; only ending the capture frees it.
    Invalidated,
}

/// How a thread's calls meet captures that are going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureMode {
    /// Calls that could break any thread's global capture are refused. What a thread starts with.
    Global,
    /// Calls that could break this thread's captures are refused.
    ThreadLocal,
    /// Only calls that contradict a capture are refused.
    Relaxed,
}

/// A property of a compiled kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionAttribute {
    /// The most threads of a workgroup that it can be launched with.
    ThreadsMax,
    /// Static workgroup memory in bytes.
    SharedBytes,
    /// Dynamic workgroup memory in bytes that a launch may ask for.
    DynamicBytesMax,
    /// Memory of each thread in bytes: spills.
    LocalBytes,
    /// Registers of each thread.
    Registers,
}

/// Device memory as the driver counts it, other processes' use included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceBytes {
    /// Bytes that are free.
    pub free: u64,
    /// Bytes that there are.
    pub total: u64,
}
