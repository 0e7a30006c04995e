//! What waits to be destroyed until the work that uses it is done.

use std::any::Any;
use std::collections::VecDeque;
use std::num::NonZeroU64;

use super::driver::{DeviceMemory, Driver, DriverCaps, PinnedMemory};
use super::lanes::Lanes;
use super::order::Points;
use super::shared::{EventCell, Orphan, Shared};
use super::staging::Block;
use crate::error::Result;
use crate::sync::Arc;
use crate::sync::atomic::{AtomicUsize, Ordering};

/// Code that may wait for an idle device before callers should wait for one.
const MODULES_HELD_MAX: usize = 256;

/// Something to destroy.
pub(super) enum Doomed<D: Driver> {
    Exec(D::Exec),
    Graph(D::Graph),
    Memory(DeviceMemory),
    Pinned(PinnedMemory),
    Orphan(Orphan<D>),
    /// Pinned memory that an answer may hold yet.
    Block(Arc<Block<D>>),
    /// Handles that keep what the ones before it used.
    Holds(Box<dyn Any + Send>),
}

/// An entry of the queue. Never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EntryNumber(u64);

/// Things to destroy together, in order, once some work is done.
struct Entry<D: Driver> {
    number: EntryNumber,
    /// An entry that goes first: it uses what this one holds.
    after: Option<EntryNumber>,
    needs: Points,
    doomed: Vec<Doomed<D>>,
}

impl<D: Driver> Doomed<D> {
    /// Whether giving it back waits for the whole device.
    fn waits(&self, caps: &DriverCaps) -> bool {
        match self {
            Self::Memory(_) => caps.free_waits_for_device,
            Self::Pinned(_) | Self::Orphan(_) | Self::Block(_) => caps.unload_waits_for_device,
            Self::Exec(_) | Self::Graph(_) | Self::Holds(_) => false,
        }
    }
}

impl<D: Driver> Entry<D> {
    /// Whether something of it waits for the whole device.
    fn waits(&self, caps: &DriverCaps) -> bool {
        self.doomed.iter().any(|doomed| doomed.waits(caps))
    }
}

/// The queue. Nothing in it is destroyed while a window records (C-58): a free may wait for the device, and a driver may break
/// a capture over it.
pub(super) struct Reclaim<D: Driver> {
    shared: Arc<Shared<D>>,
    entries: VecDeque<Entry<D>>,
    windows: usize,
    pushed: u64,
    /// Code that waits to be given back, as the last look left it.
    modules_held: usize,
    /// How much of it is too much, next: whoever goes beyond that waits once, briefly.
    modules_max: AtomicUsize,
}

impl<D: Driver> Reclaim<D> {
    pub(super) fn new(shared: Arc<Shared<D>>) -> Self {
        Self {
            shared,
            entries: VecDeque::new(),
            windows: 0,
            pushed: 0,
            modules_held: 0,
            modules_max: AtomicUsize::new(MODULES_HELD_MAX),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.shared.spare().lock().is_empty()
    }

    /// Device memory of exactly `bytes` bytes that waits to be given back, and what uses it yet. Where giving it back waits for the
    /// device, it may be here for long. `idle` asks for memory that nothing uses: whatever takes other memory runs after its users.
    pub(super) fn take_memory(
        &mut self,
        lanes: &Lanes<D>,
        bytes: NonZeroU64,
        idle: bool,
    ) -> Option<(DeviceMemory, Points)> {
        if !self.shared.driver().caps().free_waits_for_device {
            return None;
        }
        let fits = |doomed: &Doomed<D>| matches!(doomed, Doomed::Memory(memory) if memory.bytes == bytes);
        let serves = |entry: &&mut Entry<D>| {
            entry.doomed.iter().any(fits) && (!idle || entry.needs.iter().all(|point| lanes.is_known_passed(point)))
        };
        let entry = self.entries.iter_mut().find(serves)?;
        let index = entry.doomed.iter().position(fits)?;
        match entry.doomed.remove(index) {
            Doomed::Memory(memory) => Some((memory, entry.needs.clone())),
            other => {
                entry.doomed.insert(index, other);
                None
            }
        }
    }

    /// Bytes of device memory that wait to be given back.
    pub(super) fn held_bytes(&self) -> u64 {
        let bytes = |doomed: &Doomed<D>| if let Doomed::Memory(memory) = doomed { memory.bytes.get() } else { 0 };
        self.entries.iter().flat_map(|entry| &entry.doomed).map(bytes).sum()
    }

    /// Events to wait for, after which the device may be idle, where too much waits for that. Told once for so much: where some work
    /// never ends, the same callers would wait for it again and again.
    pub(super) fn pressure(&self, lanes: &Lanes<D>) -> Option<Vec<Arc<EventCell<D>>>> {
        if self.windows > 0 || self.modules_held <= self.modules_max.load(Ordering::Relaxed) {
            return None;
        }
        self.modules_max.store(self.modules_held + MODULES_HELD_MAX, Ordering::Relaxed);
        Some(lanes.known_marks(&lanes.ends())).filter(|events| !events.is_empty())
    }

    /// Destroy `doomed`, in order, once `needs` are passed.
    pub(super) fn push(&mut self, lanes: &mut Lanes<D>, needs: Points, doomed: Vec<Doomed<D>>) {
        if !doomed.is_empty() {
            self.push_after(lanes, needs, doomed, None);
        }
    }

    /// As [`Reclaim::push`], but not before another entry is destroyed.
    pub(super) fn push_after(
        &mut self,
        lanes: &mut Lanes<D>,
        needs: Points,
        doomed: Vec<Doomed<D>>,
        after: Option<EntryNumber>,
    ) -> EntryNumber {
        // An event now is what later tells that the work is done; where none can be had, the closing waits for all of it.
        if self.shared.monitor().lost().is_none()
            && let Err(error) = lanes.marks(&needs)
        {
            tracing::debug!(%error, "something dropped waits for the device to close");
        }
        self.pushed += 1;
        let number = EntryNumber(self.pushed);
        self.entries.push_back(Entry { number, after, needs, doomed });
        number
    }

    /// Take in what kernels and answers left. It may have been used by anything that was given to the device so far.
    pub(super) fn adopt_orphans(&mut self, lanes: &mut Lanes<D>) {
        let orphans = self.shared.take_orphans();
        if !orphans.is_empty() {
            let needs = lanes.ends();
            self.push(lanes, needs, orphans.into_iter().map(Doomed::Orphan).collect());
        }
    }

    /// A window opens: nothing is destroyed before as many have closed.
    pub(super) const fn hold(&mut self) {
        self.windows += 1;
    }

    /// A window is closed.
    pub(super) const fn let_go(&mut self) {
        self.windows = self.windows.saturating_sub(1);
    }

    /// Destroy what can be by now; nothing while a window records. Each lane is asked once, however much waits.
    ///
    /// # Errors
    ///
    /// The device's loss, found by asking.
    pub(super) fn collect(&mut self, lanes: &mut Lanes<D>) -> Result<()> {
        if self.windows > 0 || self.is_empty() {
            return Ok(());
        }
        self.shared.monitor().check()?;
        // What waits for the whole device would do so under the device's lock, and for ever behind a kernel that never ends: it
        // comes when there is nothing to wait for.
        let shared = self.shared.clone();
        let caps = shared.driver().caps();
        let spare = caps.unload_waits_for_device && !shared.spare().lock().is_empty();
        let held = (spare || self.entries.iter().any(|entry| entry.waits(caps))) && !lanes.is_idle()?;
        let mut asked = Vec::new();
        for _ in 0..self.entries.len() {
            let Some(mut entry) = self.entries.pop_front() else { break };
            let passed = lanes.are_passed_but_for(&entry.needs, &mut asked);
            let passed = match passed {
                Ok(passed) => passed,
                Err(error) => {
                    self.entries.push_back(entry);
                    return Err(error);
                }
            };
            let first = |after| self.entries.iter().any(|other| other.number == after);
            if !passed || entry.after.is_some_and(first) {
                self.entries.push_back(entry);
                continue;
            }
            // The others of the entry do not need what is kept longer.
            let (later, now): (Vec<_>, _) = entry.doomed.into_iter().partition(|doomed| held && doomed.waits(caps));
            self.destroy(now);
            entry.doomed = later.into_iter().filter_map(|doomed| self.put_off(doomed)).collect();
            if !entry.doomed.is_empty() {
                self.entries.push_back(entry);
            }
        }
        if !held || !caps.unload_waits_for_device {
            shared.free_spare();
        }
        if !held {
            self.modules_max.store(MODULES_HELD_MAX, Ordering::Relaxed);
        }
        let is_module = |doomed: &&Doomed<D>| matches!(doomed, Doomed::Orphan(Orphan::Module(_)));
        self.modules_held = self.entries.iter().flat_map(|entry| &entry.doomed).filter(is_module).count();
        Ok(())
    }

    /// Keep something that nothing uses until the device is idle: pinned memory for the next who needs some, anything else here.
    fn put_off(&self, doomed: Doomed<D>) -> Option<Doomed<D>> {
        match doomed {
            Doomed::Pinned(memory) | Doomed::Orphan(Orphan::Pinned(memory)) => self.shared.spare().lock().keep(memory),
            Doomed::Block(block) => Block::spare(block),
            other => return Some(other),
        }
        None
    }

    /// Destroy everything. All work is done, or the device is lost.
    pub(super) fn destroy_all(&mut self) {
        // In the order in which they came, so that none goes before one that uses what it holds.
        self.entries.make_contiguous().sort_by_key(|entry| entry.number.0);
        while let Some(entry) = self.entries.pop_front() {
            self.destroy(entry.doomed);
        }
    }

    #[expect(unsafe_code, reason = "the work of every entry is done")]
    fn destroy(&self, doomed: Vec<Doomed<D>>) {
        let driver = self.shared.driver();
        for doomed in doomed {
            let (answer, what) = match doomed {
                // SAFETY: the points that its launches ended at are passed.
                Doomed::Exec(exec) => (unsafe { driver.exec_destroy(exec) }, "destroying an executable graph"),
                Doomed::Graph(graph) => (driver.graph_destroy(graph), "destroying a graph"),
                // SAFETY: the points of its last uses are passed, and no graph pins it any more.
                Doomed::Memory(memory) => (unsafe { driver.mem_free(memory) }, "freeing memory"),
                // SAFETY: as for device memory; nobody else holds it.
                Doomed::Pinned(memory) => (unsafe { driver.pinned_free(memory) }, "freeing pinned memory"),
                Doomed::Orphan(orphan) => {
                    self.shared.destroy_orphan(orphan);
                    continue;
                }
                Doomed::Block(block) => match Block::into_memory(block) {
                    // SAFETY: as for device memory; nobody else holds it.
                    Some(memory) => (unsafe { driver.pinned_free(memory) }, "freeing pinned memory"),
                    None => continue,
                },
                Doomed::Holds(handles) => {
                    drop(handles);
                    continue;
                }
            };
            self.shared.destroyed(answer, what);
        }
    }
}
