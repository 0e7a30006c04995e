//! Slices that a warmup used and its recording may need again (priming: C-69, C-96).

use std::collections::{BTreeMap, HashMap};

use super::Slice;
use crate::stream::SlotIndex;

/// A slice that nobody holds, with the fence of its last use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Idle {
    pub(super) slice: Slice,
    pub(super) fence: u64,
}

/// A window that primed a slice. Never used twice, so a slice that outlives its window belongs to none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PrimedBy {
    slot: SlotIndex,
    window: u64,
}

/// The windows between `prime` and `window_closed`, one at most for each slot.
#[derive(Debug, Default)]
pub(super) struct Windows {
    open: HashMap<SlotIndex, Window>,
    count: u64,
    kept_bytes: u64,
}

#[derive(Debug)]
struct Window {
    number: u64,
    priming: bool,
    /// By size, so that a recording that asks for the same sizes finds the same slices.
    kept: BTreeMap<u64, Vec<Idle>>,
}

impl Windows {
    pub(super) fn kept_bytes(&self) -> u64 {
        self.kept_bytes
    }

    pub(super) fn prime(&mut self, slot: SlotIndex) {
        self.count += 1;
        let fresh = Window { number: self.count, priming: true, kept: BTreeMap::new() };
        self.open.entry(slot).or_insert(fresh).priming = true;
    }

    pub(super) fn end_priming(&mut self, slot: SlotIndex) {
        if let Some(window) = self.open.get_mut(&slot) {
            window.priming = false;
        }
    }

    /// The window that a slice reserved on `slot` now is primed by.
    pub(super) fn primes(&self, slot: SlotIndex) -> Option<PrimedBy> {
        let window = self.open.get(&slot).filter(|window| window.priming)?;
        Some(PrimedBy { slot, window: window.number })
    }

    /// Keep a released slice for the window that primed it; false where that window is over.
    pub(super) fn keep(&mut self, by: PrimedBy, idle: Idle) -> bool {
        let Some(window) = self.open.get_mut(&by.slot).filter(|window| window.number == by.window) else {
            return false;
        };
        window.kept.entry(idle.slice.bytes).or_default().push(idle);
        self.kept_bytes += idle.slice.bytes;
        true
    }

    /// A kept slice of just `bytes` whose last use has passed, for the recording on `slot`. None while it primes: a
    /// recording holds all it allocates until it is sealed, so the warmup may not use one slice for two buffers.
    pub(super) fn take(&mut self, slot: SlotIndex, bytes: u64, passed: u64) -> Option<Slice> {
        let window = self.open.get_mut(&slot).filter(|window| !window.priming)?;
        let kept = window.kept.get_mut(&bytes)?;
        let index = kept.iter().position(|idle| idle.fence <= passed)?;
        let idle = kept.remove(index);
        if kept.is_empty() {
            window.kept.remove(&bytes);
        }
        self.kept_bytes -= idle.slice.bytes;
        Some(idle.slice)
    }

    /// Close the window of `slot`; what it still kept.
    pub(super) fn close(&mut self, slot: SlotIndex) -> Vec<Idle> {
        let Some(window) = self.open.remove(&slot) else { return Vec::new() };
        let kept: Vec<Idle> = window.kept.into_values().flatten().collect();
        self.kept_bytes -= kept.iter().map(|idle| idle.slice.bytes).sum::<u64>();
        kept
    }
}
