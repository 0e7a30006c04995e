//! The gate of a backend: the close bit and the counts of the two kinds of permits, in one word, so that every look at them
//! is coherent and takes no lock (B-88). The first that sets the bit closes; from then on no permit is given.

use std::fmt;
use std::time::Instant;

use crate::lifecycle::error::{QueryError, QueryErrorCode, QueryResult, operation};
use crate::lifecycle::watched::WatchedWord;
use crate::process;
use crate::sync::Arc;

const CLOSING: u64 = 1 << 63;
/// Bits 32 to 62 count observation permits. Each belongs to an attempt or a request of some hundred bytes, so that memory
/// ends long before the 2^31 that would reach the close bit.
const OBSERVATION: u64 = 1 << 32;
/// Set before the first look of whoever waits for a count to be zero. Without it a last permit wakes nobody: all that then
/// waits is the close, for its own bit, and each attempt that is alone on its backend would wake it.
const IDLE_WATCHED: u64 = 1 << 31;
/// Bits 0 to 30 count GPU permits; each is held beside an observation permit, so there are no more of them.
const GPU: u64 = 1;

/// The gate. A clone is the same gate.
#[derive(Clone)]
pub(crate) struct BackendLifecycle(Arc<WatchedWord>);

/// The gate at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LifecycleSnapshot {
    pub(crate) closing: bool,
    pub(crate) active_gpu_permits: u64,
    pub(crate) active_observation_permits: u64,
}

impl LifecycleSnapshot {
    fn of(word: u64) -> Self {
        Self {
            closing: word & CLOSING != 0,
            active_gpu_permits: word & (IDLE_WATCHED - 1),
            active_observation_permits: (word & !CLOSING) / OBSERVATION,
        }
    }
}

/// Holds the observation scope open.
pub(crate) struct ObservationPermit {
    _counted: Counted,
}

/// Holds the GPU scope open.
pub(crate) struct GpuPermit {
    _counted: Counted,
}

/// One unit of a count, given back by its drop.
struct Counted {
    gate: BackendLifecycle,
    unit: u64,
}

impl BackendLifecycle {
    /// An open gate.
    pub(crate) fn new() -> Self {
        Self(Arc::new(WatchedWord::new(0)))
    }

    /// Hold the observation scope open, unless the backend is closing.
    ///
    /// # Errors
    ///
    /// `backend_closing`; then nothing was counted.
    pub(crate) fn try_begin_observation(&self) -> QueryResult<ObservationPermit> {
        // What comes next takes locks that may belong to threads that are gone.
        if process::is_ending() {
            return Err(backend_closing());
        }
        Ok(ObservationPermit { _counted: self.try_begin(OBSERVATION)? })
    }

    /// Hold the GPU scope open, unless the backend is closing.
    ///
    /// # Errors
    ///
    /// `backend_closing`; then nothing was counted.
    pub(crate) fn try_begin_gpu_resource(&self) -> QueryResult<GpuPermit> {
        Ok(GpuPermit { _counted: self.try_begin(GPU)? })
    }

    fn try_begin(&self, unit: u64) -> QueryResult<Counted> {
        if process::is_ending() {
            return Err(backend_closing());
        }
        let begun = self.0.update(|word| (word & CLOSING == 0).then(|| word + unit));
        begun.map(|_| Counted { gate: self.clone(), unit }).map_err(|_| backend_closing())
    }

    /// Set the close bit, and wake whoever waits for it. True for the one call that set it (B-145).
    pub(crate) fn close(&self) -> bool {
        let first = self.0.set(CLOSING) & CLOSING == 0;
        // In a process that ends, the lock may belong to a thread that is gone, and those that wait do so with a bound.
        if first && !process::is_ending() {
            self.0.notify();
        }
        first
    }

    /// Whether the close bit is set.
    pub(crate) fn is_closing(&self) -> bool {
        self.snapshot().closing
    }

    /// The bit and both counts, of one moment.
    pub(crate) fn snapshot(&self) -> LifecycleSnapshot {
        LifecycleSnapshot::of(self.0.get())
    }

    /// Wait until the close bit is set.
    pub(crate) fn wait_closing(&self, deadline: Option<Instant>) -> bool {
        self.wait(deadline, |now| now.closing)
    }

    /// Wait until no GPU permit is held. On a closed gate that lasts.
    pub(crate) fn wait_gpu_idle(&self, deadline: Option<Instant>) -> bool {
        self.wait_idle(deadline, |now| now.active_gpu_permits == 0)
    }

    /// Wait until no observation permit is held. On a closed gate that lasts.
    pub(crate) fn wait_observation_idle(&self, deadline: Option<Instant>) -> bool {
        self.wait_idle(deadline, |now| now.active_observation_permits == 0)
    }

    /// A permit that goes before the bit is set is seen by the look that follows; one that goes later sees the bit.
    fn wait_idle(&self, deadline: Option<Instant>, settled: impl Fn(LifecycleSnapshot) -> bool) -> bool {
        self.0.set(IDLE_WATCHED);
        self.wait(deadline, settled)
    }

    fn wait(&self, deadline: Option<Instant>, settled: impl Fn(LifecycleSnapshot) -> bool) -> bool {
        self.0.wait(deadline, |word| settled(LifecycleSnapshot::of(word))).is_ok()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let word = self.gate.0.subtract(self.unit) - self.unit;
        let now = LifecycleSnapshot::of(word);
        let left = if self.unit == GPU { now.active_gpu_permits } else { now.active_observation_permits };
        // Nobody waits for a count but for its zero; for an ending process see `close`.
        if left == 0 && word & IDLE_WATCHED != 0 && !process::is_ending() {
            self.gate.0.notify();
        }
    }
}

/// The refusal of everything that begins after a close (B-95).
pub(crate) fn backend_closing() -> QueryError {
    let message = "the backend is closing; build another once it is closed";
    QueryError::new(QueryErrorCode::Cancelled, operation::RESOURCE, message).with_reason("backend_closing")
}

impl fmt::Debug for BackendLifecycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.snapshot().fmt(f)
    }
}

impl fmt::Debug for ObservationPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ObservationPermit")
    }
}

impl fmt::Debug for GpuPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GpuPermit")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::atomic::{AtomicUsize, Ordering};
    use crate::sync::thread;
    use std::time::Duration;

    fn counts(gate: &BackendLifecycle) -> (bool, u64, u64) {
        let now = gate.snapshot();
        (now.closing, now.active_gpu_permits, now.active_observation_permits)
    }

    /// B-88, B-145.
    #[test]
    fn permits_are_counted_until_the_first_close_and_given_back_after_it() {
        let gate = BackendLifecycle::new();
        let observations = [gate.try_begin_observation().unwrap(), gate.try_begin_observation().unwrap()];
        let gpu = gate.try_begin_gpu_resource().unwrap();
        drop(gate.try_begin_gpu_resource().unwrap());
        assert_eq!(counts(&gate), (false, 1, 2));
        assert!(gate.clone().close() && !gate.close() && gate.is_closing());
        for refused in [gate.try_begin_observation().err(), gate.try_begin_gpu_resource().err()] {
            let error = refused.unwrap();
            assert_eq!((error.code(), error.reason()), (QueryErrorCode::Cancelled, Some("backend_closing")));
            assert_eq!(error.operation(), operation::RESOURCE, "B-95");
        }
        assert_eq!(counts(&gate), (true, 1, 2), "a refusal counts nothing");
        drop(gpu);
        assert_eq!(counts(&gate), (true, 0, 2));
        drop(observations);
        assert_eq!(counts(&gate), (true, 0, 0));
    }

    /// B-88: each scope is idle when its own count is zero, and closing is not needed for it.
    #[test]
    fn a_scope_is_idle_when_it_is_empty() {
        let past = Some(Instant::now());
        let gate = BackendLifecycle::new();
        assert!(!gate.wait_closing(past) && gate.wait_gpu_idle(past) && gate.wait_observation_idle(past));
        let (gpu, observation) = (gate.try_begin_gpu_resource().unwrap(), gate.try_begin_observation().unwrap());
        assert!(!gate.wait_gpu_idle(past) && !gate.wait_observation_idle(past));
        drop(gpu);
        assert!(gate.wait_gpu_idle(past) && !gate.wait_observation_idle(past));
        gate.close();
        assert!(gate.wait_closing(past) && !gate.wait_observation_idle(past));
        drop(observation);
        assert!(gate.wait_observation_idle(past));
    }

    /// B-88: what a waiter waits for wakes it.
    #[test]
    fn a_close_and_a_last_permit_wake_waiters() {
        let gate = BackendLifecycle::new();
        let observation = gate.try_begin_observation().unwrap();
        let early = thread::spawn({
            let gate = gate.clone();
            move || gate.wait_observation_idle(None)
        });
        thread::sleep(Duration::from_millis(20));
        drop(observation);
        assert!(early.join().unwrap(), "also before the close");
        let permit = gate.try_begin_gpu_resource().unwrap();
        let waiter = thread::spawn({
            let gate = gate.clone();
            move || gate.wait_closing(None) && gate.wait_gpu_idle(None)
        });
        thread::sleep(Duration::from_millis(20));
        gate.close();
        thread::sleep(Duration::from_millis(20));
        assert!(!waiter.is_finished());
        drop(permit);
        assert!(waiter.join().unwrap());
    }

    /// B-88: who waits for the close is not woken by permits that come and go.
    #[test]
    fn permits_of_an_open_gate_wake_nobody_who_waits_for_its_close() {
        const PERMITS: usize = 50;
        let (gate, looks) = (BackendLifecycle::new(), Arc::new(AtomicUsize::new(0)));
        let waiter = thread::spawn({
            let (gate, looks) = (gate.clone(), looks.clone());
            move || {
                gate.wait(None, |now| {
                    looks.fetch_add(1, Ordering::Relaxed);
                    now.closing
                })
            }
        });
        for _ in 0..PERMITS {
            drop((gate.try_begin_gpu_resource().unwrap(), gate.try_begin_observation().unwrap()));
            // Long enough for one who was woken to look.
            thread::sleep(Duration::from_millis(2));
        }
        let looked = looks.load(Ordering::Relaxed);
        gate.close();
        assert!(waiter.join().unwrap());
        // A wait may wake without cause, though not each time.
        assert!(looked < PERMITS / 2, "{looked} looks for {PERMITS} times two permits");
    }

    /// B-88: the bit of those who wait is no permit.
    #[test]
    fn a_gate_that_was_waited_for_counts_as_before() {
        let gate = BackendLifecycle::new();
        assert!(gate.wait_gpu_idle(None) && gate.wait_observation_idle(None));
        assert_eq!(counts(&gate), (false, 0, 0));
        let permits = (gate.try_begin_gpu_resource().unwrap(), gate.try_begin_observation().unwrap());
        assert_eq!(counts(&gate), (false, 1, 1));
        drop(permits);
        assert_eq!(counts(&gate), (false, 0, 0));
    }
}
