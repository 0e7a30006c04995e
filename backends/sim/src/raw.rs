//! The one place that touches memory by address: pinned blocks, host ranges that a caller vouches for, and the values behind
//! a kernel's parameters.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::num::NonZeroU64;
use std::ptr::{NonNull, copy_nonoverlapping, write_bytes};

use graphreel::graph::driver::{HostPtr, KernelParams};
use graphreel::kernel::AbiParam;

/// Alignment of a pinned block: a page.
const PAGE: usize = 4096;

/// Page-aligned host memory.
#[derive(Debug)]
pub(crate) struct Block {
    start: NonNull<u8>,
    layout: Layout,
}

#[expect(unsafe_code, reason = "a block is owned memory behind an address")]
// SAFETY: the block owns its memory, and gives access to it only through `HostRange`, whose maker vouches for the order.
unsafe impl Send for Block {}

#[expect(unsafe_code, reason = "a block is owned memory behind an address")]
// SAFETY: as for `Send`; a shared reference gives the address and no access.
unsafe impl Sync for Block {}

impl Block {
    /// `None` where the system has no such memory.
    #[expect(unsafe_code, reason = "allocates at an alignment that no collection has")]
    pub(crate) fn new(bytes: NonZeroU64, garbage: u8) -> Option<Self> {
        let layout = Layout::from_size_align(usize::try_from(bytes.get()).ok()?, PAGE).ok()?;
        // SAFETY: the layout has a size, since `bytes` is not zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        // SAFETY: the block is that long, and nobody else knows of it yet.
        unsafe { write_bytes(start.as_ptr(), garbage, layout.size()) };
        Some(Self { start, layout })
    }

    pub(crate) fn start(&self) -> HostPtr {
        HostPtr(self.start)
    }

    /// Overwrite every byte.
    ///
    /// # Safety
    ///
    /// No reference into the block is live, and nobody else reads or writes it meanwhile.
    #[expect(unsafe_code, reason = "the caller vouches for the block")]
    pub(crate) unsafe fn scribble(&self, garbage: u8) {
        // SAFETY: the block is that long and initialised; the caller vouches that nobody else uses it.
        unsafe { write_bytes(self.start.as_ptr(), garbage, self.layout.size()) };
    }
}

impl Drop for Block {
    #[expect(unsafe_code, reason = "gives back what `new` allocated")]
    fn drop(&mut self) {
        // SAFETY: `new` allocated it with this layout, and nothing frees it before.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

/// Host memory that a caller vouches for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostRange {
    start: HostPtr,
    bytes: usize,
}

impl HostRange {
    /// # Safety
    ///
    /// The range is live, initialised and not used by others in a conflicting way whenever the work that holds this runs.
    #[expect(unsafe_code, reason = "the driver's caller vouches for the range")]
    pub(crate) unsafe fn new(start: HostPtr, bytes: NonZeroU64) -> Self {
        // A range that is longer than memory is cut: its maker could not have vouched for it.
        Self { start, bytes: usize::try_from(bytes.get()).unwrap_or(usize::MAX) }
    }

    pub(crate) fn start(&self) -> HostPtr {
        self.start
    }

    #[expect(unsafe_code, reason = "reads host memory by address")]
    pub(crate) fn read(&self, offset: usize, into: &mut [u8]) {
        self.check(offset, into.len());
        // SAFETY: the offset is inside the range that the maker vouched for.
        let from = unsafe { self.start.0.as_ptr().add(offset) };
        // SAFETY: the range is live, by the contract of `new`, and `into` is exclusive, so they do not overlap.
        unsafe { copy_nonoverlapping(from, into.as_mut_ptr(), into.len()) };
    }

    #[expect(unsafe_code, reason = "writes host memory by address")]
    pub(crate) fn write(&self, offset: usize, from: &[u8]) {
        self.check(offset, from.len());
        // SAFETY: the offset is inside the range that the maker vouched for.
        let into = unsafe { self.start.0.as_ptr().add(offset) };
        // SAFETY: the range is live and unused by others, by the contract of `new`; `from` is a borrow of other memory.
        unsafe { copy_nonoverlapping(from.as_ptr(), into, from.len()) };
    }

    fn check(&self, offset: usize, bytes: usize) {
        let inside = offset.checked_add(bytes).is_some_and(|end| end <= self.bytes);
        assert!(inside, "{bytes} bytes at {offset} of a host range of {}", self.bytes);
    }
}

/// The values of a kernel's parameters.
#[derive(Debug, Default)]
pub(crate) struct ParamValues {
    pub(crate) scalars: Vec<u8>,
    /// Address and element count of each binding.
    pub(crate) bindings: Vec<(u64, Option<u32>)>,
    pub(crate) counts: Option<u64>,
}

/// Read the values behind `params`, which has one pointer for each of `abi`; `None` where one is null.
///
/// # Safety
///
/// Each pointer that is not null leads to a live value of its parameter's size.
#[expect(unsafe_code, reason = "parameters are pointers, as both vendors take them")]
pub(crate) unsafe fn read_params(params: KernelParams<'_>, abi: &[AbiParam]) -> Option<ParamValues> {
    let mut values = ParamValues::default();
    for (pointer, param) in params.iter().zip(abi) {
        if pointer.is_null() {
            return None;
        }
        match param {
            AbiParam::Scalars(bytes) => {
                let mut scalars = vec![0; *bytes as usize];
                // SAFETY: the caller vouches for that many bytes; the vector is new, so they do not overlap.
                unsafe { copy_nonoverlapping(pointer.cast::<u8>(), scalars.as_mut_ptr(), scalars.len()) };
                values.scalars = scalars;
            }
            AbiParam::Address(_) => {
                // SAFETY: the caller vouches for a live `u64`.
                values.bindings.push((unsafe { pointer.cast::<u64>().read_unaligned() }, None));
            }
            AbiParam::Elements(_) => {
                // SAFETY: the caller vouches for a live `u32`.
                let elements = unsafe { pointer.cast::<u32>().read_unaligned() };
                if let Some(last) = values.bindings.last_mut() {
                    last.1 = Some(elements);
                }
            }
            AbiParam::Counts => {
                // SAFETY: the caller vouches for a live `u64`.
                values.counts = Some(unsafe { pointer.cast::<u64>().read_unaligned() });
            }
        }
    }
    Some(values)
}
