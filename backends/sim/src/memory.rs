//! Device memory of the simulator: bytes that many workgroups may touch at once.

use graphreel::sync::atomic::AtomicU32;
use graphreel::sync::{Mutex, MutexGuard};

/// Locks for atomic operations on 64 bits: enough that workgroups on different words seldom meet.
const WIDE_LOCKS: usize = 16;

/// One allocation. Words are atomic, so that kernels which race, as some do on purpose, race in a defined way.
///
/// An atomic operation on 64 bits is two words under a lock, since no safe code sees two `AtomicU32` as one `AtomicU64`. It
/// is whole to every other atomic operation on the same 64 bits, which is all that WGSL's types let a kernel do with them.
#[derive(Debug)]
pub struct Memory {
    words: Box<[AtomicU32]>,
    wide: [Mutex<()>; WIDE_LOCKS],
}

impl Memory {
    /// `bytes` bytes, each holding a pattern of `fill` (whatever memory held before).
    ///
    /// # Panics
    ///
    /// Where the machine has not so much; [`Memory::try_new`] answers instead.
    pub fn new(bytes: u64, fill: u32) -> Self {
        Self::try_new(bytes, fill).expect("memory of a size that the caller bounded")
    }

    /// As [`Memory::new`]; `None` where the machine has not so much.
    pub fn try_new(bytes: u64, fill: u32) -> Option<Self> {
        let count = usize::try_from(bytes.div_ceil(4)).ok()?;
        let mut words = Vec::new();
        words.try_reserve_exact(count).ok()?;
        words.extend((0..count).map(|_| AtomicU32::new(fill)));
        Some(Self { words: words.into_boxed_slice(), wide: [const { Mutex::new(()) }; WIDE_LOCKS] })
    }

    /// The words, little-endian, in order of address.
    pub fn words(&self) -> &[AtomicU32] {
        &self.words
    }

    /// Hold this while the 64 bits at an address change as one.
    pub(crate) fn wide_lock(&self, byte: u64) -> MutexGuard<'_, ()> {
        self.wide[(byte >> 3) as usize % WIDE_LOCKS].lock()
    }
}
