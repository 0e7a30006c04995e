//! What one device may grant and what it has granted. A commit takes bytes, an active slot and source slots together, and
//! a release gives the same back (B-110).

use crate::lifecycle::admission::devices::DeviceSet;
use crate::lifecycle::config::DeviceCapabilities;

/// What admission may use of a device. It does not change while the backend lives.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeviceEnvelope {
    pub(crate) ordinal: usize,
    /// The query share, in bytes.
    pub(crate) capacity_bytes: u64,
    /// The grant of a request that names none, in bytes.
    pub(crate) default_bytes: u64,
    /// The most attempts at once.
    pub(crate) max_active: usize,
    /// Auxiliary source work of all attempts together.
    pub(crate) source_slots: usize,
    pub(crate) source_slots_per_attempt: usize,
    pub(crate) capabilities: DeviceCapabilities,
}

/// Why a device admits nothing any more.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceClosure {
    /// Somebody took it out of service.
    Quarantined {
        /// What they said.
        reason: String,
    },
    /// A fault of its context or of the device itself closed it.
    Faulted {
        /// The native error.
        reason: String,
    },
}

/// One grant's part of a ledger. It is neither cloned nor made elsewhere, so that it can be given back only once.
#[derive(Debug)]
pub(crate) struct Placement {
    /// The device's index in the table.
    pub(crate) index: usize,
    pub(crate) ordinal: usize,
    pub(crate) bytes: u64,
}

/// One device's account.
#[derive(Debug)]
pub(crate) struct DeviceLedger {
    pub(crate) envelope: DeviceEnvelope,
    pub(crate) committed_bytes: u64,
    pub(crate) active: usize,
    pub(crate) source_slots_in_use: usize,
    pub(crate) closure: Option<DeviceClosure>,
}

impl DeviceLedger {
    pub(crate) fn new(envelope: DeviceEnvelope) -> Self {
        Self { envelope, committed_bytes: 0, active: 0, source_slots_in_use: 0, closure: None }
    }

    /// What a request for `bytes` takes here.
    pub(crate) fn need(&self, bytes: Option<u64>) -> u64 {
        bytes.unwrap_or(self.envelope.default_bytes)
    }

    pub(crate) fn free_bytes(&self) -> u64 {
        self.envelope.capacity_bytes - self.committed_bytes
    }

    pub(crate) fn is_open(&self) -> bool {
        self.closure.is_none()
    }

    /// Whether one more attempt could run here, whatever its bytes.
    pub(crate) fn has_slot(&self) -> bool {
        let sources_left = self.envelope.source_slots - self.source_slots_in_use;
        self.is_open()
            && self.active < self.envelope.max_active
            && sources_left >= self.envelope.source_slots_per_attempt
    }

    fn fits(&self, bytes: Option<u64>) -> bool {
        self.has_slot() && self.need(bytes) <= self.free_bytes()
    }

    /// Take what [`best_fit`] found room for.
    pub(crate) fn commit(&mut self, index: usize, bytes: Option<u64>) -> Placement {
        assert!(self.fits(bytes), "no room on device {} for {bytes:?}", self.envelope.ordinal);
        let bytes = self.need(bytes);
        self.committed_bytes += bytes;
        self.active += 1;
        self.source_slots_in_use += self.envelope.source_slots_per_attempt;
        Placement { index, ordinal: self.envelope.ordinal, bytes }
    }

    /// Give a placement back; a closed device counts it too.
    pub(crate) fn release(&mut self, placement: Placement) {
        let left = |in_use: usize, by: usize| in_use.checked_sub(by).expect("what is given back was taken");
        self.committed_bytes = self.committed_bytes.checked_sub(placement.bytes).expect("the bytes were committed");
        self.active = left(self.active, 1);
        self.source_slots_in_use = left(self.source_slots_in_use, self.envelope.source_slots_per_attempt);
    }

    /// Admit nothing from now on; true if it was closed before. A fault replaces a quarantine, never the other way.
    pub(crate) fn close(&mut self, closure: DeviceClosure) -> bool {
        let was_closed = self.closure.is_some();
        let is_worse = matches!(
            (&self.closure, &closure),
            (None, _) | (Some(DeviceClosure::Quarantined { .. }), DeviceClosure::Faulted { .. })
        );
        if is_worse {
            self.closure = Some(closure);
        }
        was_closed
    }
}

/// The device of `devices` that has room: the one with the most free bytes, then the lowest ordinal (B-111). The table is
/// in the order of ordinals.
pub(crate) fn best_fit(ledgers: &[DeviceLedger], devices: DeviceSet, bytes: Option<u64>) -> Option<usize> {
    let mut best: Option<(usize, u64)> = None;
    for index in devices.iter() {
        let ledger = &ledgers[index];
        let is_better = best.is_none_or(|(_, free)| ledger.free_bytes() > free);
        if is_better && ledger.fits(bytes) {
            best = Some((index, ledger.free_bytes()));
        }
    }
    best.map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(ordinal: usize, capacity_bytes: u64) -> DeviceLedger {
        DeviceLedger::new(DeviceEnvelope {
            ordinal,
            capacity_bytes,
            default_bytes: 30,
            max_active: 2,
            source_slots: 6,
            source_slots_per_attempt: 3,
            ..DeviceEnvelope::default()
        })
    }

    /// B-110.
    #[test]
    fn a_commit_takes_all_or_nothing_and_a_release_gives_it_back() {
        let mut ledger = ledger(4, 100);
        assert!(ledger.fits(Some(100)) && !ledger.fits(Some(101)));
        let one = ledger.commit(0, Some(60));
        assert_eq!((one.ordinal, one.bytes), (4, 60));
        assert!(ledger.fits(Some(40)) && !ledger.fits(Some(41)));
        let two = ledger.commit(0, None);
        assert_eq!((two.bytes, ledger.committed_bytes, ledger.active, ledger.source_slots_in_use), (30, 90, 2, 6));
        assert!(!ledger.fits(Some(0)), "both slots are taken");
        ledger.release(one);
        ledger.release(two);
        assert_eq!((ledger.committed_bytes, ledger.active, ledger.source_slots_in_use), (0, 0, 0));
    }

    #[test]
    fn source_slots_bound_the_attempts_too() {
        let mut ledger = ledger(0, 100);
        ledger.envelope.source_slots = 5;
        let _held = ledger.commit(0, Some(1));
        assert!(!ledger.has_slot());
    }

    /// B-111.
    #[test]
    fn the_device_with_the_most_free_bytes_is_taken_then_the_lowest() {
        let mut ledgers = [ledger(0, 90), ledger(1, 100), ledger(2, 100)];
        let all: DeviceSet = (0..3).collect();
        assert_eq!(best_fit(&ledgers, all, Some(10)), Some(1));
        let _held = ledgers[1].commit(1, Some(10));
        assert_eq!(best_fit(&ledgers, all, Some(10)), Some(2));
        let _more = ledgers[2].commit(2, Some(20));
        assert_eq!(best_fit(&ledgers, all, Some(10)), Some(0), "the lowest of 90 and 90");
        assert_eq!(best_fit(&ledgers, all, Some(91)), None);
        ledgers[0].close(DeviceClosure::Quarantined { reason: "test".to_owned() });
        assert_eq!(best_fit(&ledgers, all, Some(10)), Some(1));
    }

    #[test]
    fn a_fault_outranks_a_quarantine() {
        let mut ledger = ledger(0, 100);
        let (quarantined, faulted) = (
            DeviceClosure::Quarantined { reason: "asked".to_owned() },
            DeviceClosure::Faulted { reason: "lost".to_owned() },
        );
        assert!(!ledger.close(quarantined.clone()));
        assert!(ledger.close(faulted.clone()));
        assert!(ledger.close(quarantined));
        assert_eq!(ledger.closure, Some(faulted));
    }
}
