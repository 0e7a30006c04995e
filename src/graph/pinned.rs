//! Host bytes that a graph's copies read at every replay: pinned once, with the graph's lifetime (C-49, C-50).

use std::num::NonZeroU64;

use super::driver::{Driver, HostPtr, PinnedMemory};
use super::reclaim::Doomed;
use super::shared::Shared;
use crate::error::Result;

/// Pinned copies of host bytes, in order.
#[derive(Debug, Default)]
pub(super) struct PinnedBytes(Vec<PinnedMemory>);

impl PinnedBytes {
    /// Pin a copy of `bytes`, of which there is at least one.
    ///
    /// # Errors
    ///
    /// What the driver answers where it has no more.
    #[expect(unsafe_code, reason = "fills memory that the driver just gave")]
    pub(super) fn push<D: Driver>(&mut self, shared: &Shared<D>, bytes: &[u8]) -> Result<HostPtr> {
        let len = NonZeroU64::new(bytes.len() as u64).unwrap_or(NonZeroU64::MIN);
        let memory = shared.settle(shared.driver().pinned_alloc(len), "pinning host memory")?;
        let address = memory.address;
        // SAFETY: the memory has as many bytes, and nobody else knows it yet.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), address.0.as_ptr(), bytes.len()) };
        self.0.push(memory);
        Ok(address)
    }

    /// The bytes pinned as number `index`.
    pub(super) fn get(&self, index: usize) -> Option<HostPtr> {
        self.0.get(index).map(|memory| memory.address)
    }

    /// How many were pinned.
    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }

    /// For destruction, after the graph that reads them.
    pub(super) fn into_doomed<D: Driver>(self) -> impl Iterator<Item = Doomed<D>> {
        self.0.into_iter().map(Doomed::Pinned)
    }
}
