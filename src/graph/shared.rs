//! What outlives a call: the driver, its events, and whether it still answers. Shared by the server, its fences and its
//! kernels; the last holder closes the driver.

use std::mem::ManuallyDrop;
use std::num::NonZeroU64;

use super::driver::{CaptureMode, Driver, DriverResult, EventTiming, PinnedMemory};
use super::spare::{SparePinned, size_class};
use crate::clock::Signal;
use crate::device::Monitor;
use crate::error::{DriverError, DriverErrorKind, FaultClass, Result, ServerError};
use crate::process;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Arc, Mutex};

/// Free events that are kept.
const EVENTS_MAX: usize = 256;

/// How often a thread is tried to be bound.
const BIND_ATTEMPTS: u32 = 3;

/// The driver and what belongs to no single call.
pub(super) struct Shared<D: Driver> {
    driver: ManuallyDrop<D>,
    monitor: Arc<Monitor>,
    events: Mutex<Vec<D::Event>>,
    timed_events: Mutex<Vec<D::Event>>,
    orphans: Mutex<Vec<Orphan<D>>>,
    spare: Mutex<SparePinned>,
    /// The server is gone.
    closed: AtomicBool,
    gates: Mutex<Vec<Signal>>,
    faults: AtomicU64,
}

/// What was dropped outside the device's lock and is destroyed under it, once the work before is done.
pub(super) enum Orphan<D: Driver> {
    /// Code of a kernel that nobody holds any more.
    Module(D::Module),
    /// Pinned memory that a read's answer held last.
    Pinned(PinnedMemory),
}

impl<D: Driver> Shared<D> {
    pub(super) fn new(driver: D, monitor: Arc<Monitor>) -> Arc<Self> {
        Arc::new(Self {
            driver: ManuallyDrop::new(driver),
            monitor,
            events: Mutex::default(),
            timed_events: Mutex::default(),
            orphans: Mutex::default(),
            spare: Mutex::default(),
            closed: AtomicBool::new(false),
            gates: Mutex::default(),
            faults: AtomicU64::new(0),
        })
    }

    pub(super) fn driver(&self) -> &D {
        &self.driver
    }

    pub(super) fn monitor(&self) -> &Arc<Monitor> {
        &self.monitor
    }

    /// Failures that made the device unusable or came from the device itself: the first one ends it.
    pub(super) fn faults(&self) -> u64 {
        self.faults.load(Ordering::Relaxed)
    }

    /// Bind the calling thread to the device until the guard is dropped; what it had bound comes back then.
    ///
    /// # Errors
    ///
    /// The device's loss: one to which no thread can be bound is lost. The thread is as it was then.
    pub(super) fn bind(self: &Arc<Self>) -> Result<Bound<D>> {
        let driver = self.driver();
        let ours = driver.context();
        let before = insist(|| driver.context_current()).map_err(|error| self.unbound(error))?;
        let changed = before != Some(ours);
        if changed {
            insist(|| driver.context_set(Some(ours))).map_err(|error| self.unbound(error))?;
        }
        let mut bound = Bound { shared: self.clone(), context: changed.then_some(before), mode: None };
        match insist(|| driver.capture_mode_exchange(CaptureMode::Relaxed)) {
            Ok(mode) => bound.mode = Some(mode).filter(|mode| *mode != CaptureMode::Relaxed),
            // Of a device that is known to be lost everything is given back all the same.
            Err(_) if self.monitor.lost().is_some() => {}
            Err(error) => return Err(self.unbound(error)),
        }
        Ok(bound)
    }

    fn unbound(&self, error: DriverError) -> ServerError {
        self.failed(DriverError { class: error.class.max(FaultClass::ContextFatal), ..error }, "binding a thread")
    }

    /// A driver's answer as ours. What reaches beyond the call loses the device: it is told once, here, and every later call
    /// is refused without the driver.
    pub(super) fn settle<T>(&self, answer: DriverResult<T>, origin: &str) -> Result<T> {
        answer.map_err(|error| self.failed(error, origin))
    }

    fn failed(&self, error: DriverError, origin: &str) -> ServerError {
        if error.class == FaultClass::CallLocal && error.kind != DriverErrorKind::Lost {
            return ServerError::Driver(Arc::new(error));
        }
        // Several may meet the same loss at once, each by a call of its own.
        if self.lose(&format!("{origin}: {error}")) {
            self.faults.fetch_add(1, Ordering::Relaxed);
        }
        self.monitor.lost().unwrap_or_else(|| ServerError::Driver(Arc::new(error)))
    }

    /// Count the device as lost; whether it was not before. Waits that a window holds back end too, and find out.
    pub(super) fn lose(&self, reason: &str) -> bool {
        let first = self.monitor.lose(reason);
        self.gates.lock().drain(..).for_each(|gate| gate.set());
        first
    }

    /// A signal for the end of a window; the loss of the device sets it too.
    pub(super) fn gate(&self) -> Signal {
        let gate = Signal::new();
        self.gates.lock().push(gate.clone());
        if self.monitor.lost().is_some() {
            gate.set();
        }
        gate
    }

    /// The window is closed: let its waits go on.
    pub(super) fn open_gate(&self, gate: &Signal) {
        gate.set();
        self.gates.lock().retain(|known| !known.is_set());
    }

    /// An event that stands for nothing yet.
    pub(super) fn event(self: &Arc<Self>, timing: EventTiming) -> Result<EventCell<D>> {
        let free = self.pool(timing).lock().pop();
        let event = match free {
            Some(event) => event,
            None => self.settle(self.driver().event_create(timing), "making an event")?,
        };
        Ok(EventCell { shared: self.clone(), event: Some(event), timing, passed: AtomicBool::new(false) })
    }

    /// Destroy the events that are kept for later: nobody records any more. The thread is bound.
    fn destroy_spare_events(&self) {
        for timing in [EventTiming::Off, EventTiming::On] {
            let spare = std::mem::take(&mut *self.pool(timing).lock());
            spare.into_iter().for_each(|event| self.destroyed(self.driver.event_destroy(event), "destroying an event"));
        }
    }

    fn pool(&self, timing: EventTiming) -> &Mutex<Vec<D::Event>> {
        match timing {
            EventTiming::Off => &self.events,
            EventTiming::On => &self.timed_events,
        }
    }

    /// Pinned memory of at least `bytes` bytes, whatever they hold.
    ///
    /// # Errors
    ///
    /// What the driver answers where it has no more.
    pub(super) fn pin(&self, bytes: NonZeroU64) -> Result<PinnedMemory> {
        let spare = |any| self.spare.lock().take(bytes, any);
        if let Some(memory) = spare(false) {
            return Ok(memory);
        }
        let answer = self.driver().pinned_alloc(size_class(bytes));
        if answer.as_ref().is_err_and(|error| error.kind == DriverErrorKind::OutOfMemory)
            && let Some(memory) = spare(true)
        {
            return Ok(memory);
        }
        self.settle(answer, "pinning host memory")
    }

    /// Pinned memory that nothing uses, and that cannot be given back yet.
    pub(super) fn spare(&self) -> &Mutex<SparePinned> {
        &self.spare
    }

    /// Give back what is spare: the device is idle, or closing. The thread is bound.
    pub(super) fn free_spare(&self) {
        let spare = self.spare.lock().drain();
        spare.into_iter().for_each(|memory| self.destroy_orphan(Orphan::Pinned(memory)));
    }

    /// Leave something for the server to destroy.
    pub(super) fn orphan(self: &Arc<Self>, orphan: Orphan<D>) {
        {
            let mut orphans = self.orphans.lock();
            if !self.closed.load(Ordering::Acquire) {
                return orphans.push(orphan);
            }
        }
        // The server is gone, and with it all work: nobody would come for it.
        match self.bind() {
            Ok(_bound) => self.destroy_orphan(orphan),
            Err(_) => self.orphans.lock().push(orphan),
        }
    }

    /// The server has destroyed all that is its own: what handles still hold is destroyed as they go. The thread is bound.
    pub(super) fn close(&self) {
        let orphans = {
            let mut orphans = self.orphans.lock();
            self.closed.store(true, Ordering::Release);
            std::mem::take(&mut *orphans)
        };
        orphans.into_iter().for_each(|orphan| self.destroy_orphan(orphan));
        self.free_spare();
        self.destroy_spare_events();
    }

    /// What was left since the last call.
    pub(super) fn take_orphans(&self) -> Vec<Orphan<D>> {
        let mut orphans = self.orphans.lock();
        if orphans.is_empty() { Vec::new() } else { std::mem::take(&mut *orphans) }
    }

    /// Destroy something of which all work is done. The handle is gone whatever the driver answers.
    #[expect(unsafe_code, reason = "the caller says that the work is done")]
    pub(super) fn destroy_orphan(&self, orphan: Orphan<D>) {
        let answer = match orphan {
            // SAFETY: the caller says that no work in flight and no graph uses it.
            Orphan::Module(module) => unsafe { self.driver.module_unload(module) },
            // SAFETY: the caller says that no work in flight uses it, and its last holder gave it away.
            Orphan::Pinned(memory) => unsafe { self.driver.pinned_free(memory) },
        };
        self.destroyed(answer, "destroying what was dropped");
    }

    /// Note how a destruction went: nobody waits for its answer, but a loss counts.
    pub(super) fn destroyed(&self, answer: DriverResult, what: &str) {
        if self.monitor.lost().is_some() {
            return;
        }
        if let Err(error) = self.settle(answer, what) {
            tracing::warn!(%error, what, "the driver refused a destruction; the handle is given up");
        }
    }
}

impl<D: Driver> Drop for Shared<D> {
    /// The last holder closes the driver. Everything else was destroyed by the server; what came later is destroyed here.
    #[expect(unsafe_code, reason = "takes the driver out for its closing")]
    fn drop(&mut self) {
        // The driver may be gone already, or be another process's: it leaks on purpose.
        if process::is_ending() {
            return;
        }
        // SAFETY: this is the drop, so the field is taken once and not used afterwards.
        let driver = unsafe { ManuallyDrop::take(&mut self.driver) };
        let ours = driver.context();
        let before = insist(|| driver.context_current()).ok().flatten();
        let changed = before != Some(ours) && insist(|| driver.context_set(Some(ours))).is_ok();
        let spare = self.spare.lock().drain().into_iter().map(Orphan::Pinned);
        for orphan in std::mem::take(&mut *self.orphans.lock()).into_iter().chain(spare) {
            let answer = match orphan {
                // SAFETY: the server is gone, and with it all work.
                Orphan::Module(module) => unsafe { driver.module_unload(module) },
                // SAFETY: as above; its last holder gave it away.
                Orphan::Pinned(memory) => unsafe { driver.pinned_free(memory) },
            };
            drop(answer);
        }
        let events = std::mem::take(&mut *self.events.lock());
        let timed = std::mem::take(&mut *self.timed_events.lock());
        for event in events.into_iter().chain(timed) {
            drop(driver.event_destroy(event));
        }
        if changed {
            drop(insist(|| driver.context_set(before)));
        }
        if let Err(error) = driver.close()
            && self.monitor.lost().is_none()
        {
            tracing::warn!(%error, "closing the driver failed");
        }
    }
}

/// Ask again where a call about the thread alone failed: everything else depends on it.
fn insist<T>(call: impl Fn() -> DriverResult<T>) -> DriverResult<T> {
    let mut answer = call();
    for _ in 1..BIND_ATTEMPTS {
        match answer {
            Err(DriverError { class: FaultClass::CallLocal, .. }) => answer = call(),
            _ => break,
        }
    }
    answer
}

/// A thread bound to the device.
#[must_use = "the thread is bound only while the guard lives"]
pub(super) struct Bound<D: Driver> {
    shared: Arc<Shared<D>>,
    context: Option<Option<D::Context>>,
    mode: Option<CaptureMode>,
}

impl<D: Driver> Drop for Bound<D> {
    fn drop(&mut self) {
        let driver = self.shared.driver();
        // A lost device has been told of, and answers nothing else.
        let known = || self.shared.monitor().lost().is_some();
        if let Some(mode) = self.mode
            && let Err(error) = insist(|| driver.capture_mode_exchange(mode))
            && !known()
        {
            tracing::warn!(%error, "a thread's capture mode could not be restored");
        }
        if let Some(before) = self.context
            && let Err(error) = insist(|| driver.context_set(before))
            && !known()
        {
            tracing::warn!(%error, "what a thread had bound could not be restored");
        }
    }
}

/// One recorded event; it goes back to the pool when nobody asks for it any more.
pub(super) struct EventCell<D: Driver> {
    shared: Arc<Shared<D>>,
    event: Option<D::Event>,
    timing: EventTiming,
    passed: AtomicBool,
}

impl<D: Driver> EventCell<D> {
    pub(super) fn event(&self) -> &D::Event {
        self.event.as_ref().expect("it is taken only by the drop")
    }

    pub(super) const fn shared(&self) -> &Arc<Shared<D>> {
        &self.shared
    }

    /// Whether it is known to be passed, without asking.
    pub(super) fn is_known_passed(&self) -> bool {
        self.passed.load(Ordering::Acquire)
    }

    /// Whether it is passed now. The thread is bound.
    pub(super) fn query(&self) -> Result<bool> {
        if self.is_known_passed() {
            return Ok(true);
        }
        let passed = self.shared.settle(self.shared.driver.event_query(self.event()), "waiting for the device")?;
        if passed {
            self.passed.store(true, Ordering::Release);
        }
        Ok(passed)
    }
}

impl<D: Driver> Drop for EventCell<D> {
    fn drop(&mut self) {
        let Some(event) = self.event.take() else { return };
        if process::is_ending() {
            return std::mem::forget(event);
        }
        let mut pool = self.shared.pool(self.timing).lock();
        if pool.len() < EVENTS_MAX && !self.shared.closed.load(Ordering::Acquire) {
            pool.push(event);
            return;
        }
        drop(pool);
        let destroyed = match self.shared.bind() {
            Ok(_bound) => self.shared.driver.event_destroy(event),
            Err(_) => return self.shared.pool(self.timing).lock().push(event),
        };
        self.shared.destroyed(destroyed, "destroying an event");
    }
}
