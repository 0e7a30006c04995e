//! Device memory that outlives attempts, model weights say: got or loaded by key, paid by an account of its own, and given up
//! least recently used first, but never while anybody holds it.

use std::collections::HashMap;
use std::fmt;
use std::time::{Duration, Instant};

use crate::device::{Buffer, Device};
use crate::error::{MemoryLimit, OutOfMemory, Result, ServerError};
use crate::lifecycle::bytes::bytes_with_gib;
use crate::lifecycle::error::{QueryError, QueryErrorCode, QueryResult, native_error, operation};
use crate::memory::Account;
use crate::process;
use crate::sync::thread::{self, ThreadId};
use crate::sync::{Arc, Condvar, Mutex, Weak};

/// The longest that a call waits for another one that loads the same key.
pub const LOAD_WAIT_MAX: Duration = Duration::from_secs(600);

/// The resident cache of one device. Clones share it.
#[derive(Clone)]
pub struct ResidentCache(Arc<Shared>);

/// One cache at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResidentCacheReport {
    /// The most bytes that it holds.
    pub cap_bytes: u64,
    /// Bytes that its account pays for, those being loaded among them.
    pub charged_bytes: u64,
    /// The most bytes that were ever charged at once.
    pub peak_bytes: u64,
    /// What is loaded.
    pub entries: usize,
    /// What somebody holds.
    pub entries_in_use: usize,
    /// Calls that found what they asked for.
    pub hits: u64,
    /// Calls that loaded it.
    pub loads: u64,
    /// Loads that failed.
    pub failures: u64,
    /// Entries that left to make room.
    pub evictions: u64,
}

struct Shared {
    device: Device,
    account: Account,
    state: Mutex<State>,
    /// A load is over.
    loaded: Condvar,
    /// Held while room is made and taken, so that what one call gives up is not another's.
    allocating: Mutex<()>,
}

#[derive(Default)]
struct State {
    slots: HashMap<Arc<str>, Slot>,
    /// Counts uses: the entry with the lowest number was used longest ago.
    uses: u64,
    hits: u64,
    loads: u64,
    failures: u64,
    evictions: u64,
}

enum Slot {
    /// By whom: a load that asks for its own key would wait for itself.
    Loading(ThreadId),
    Ready {
        buffer: Buffer,
        /// What was asked for.
        bytes: u64,
        /// What the account pays for it: the device's pools round up.
        charged: u64,
        used: u64,
    },
}

/// Something cached, held: it does not leave before this and every buffer of it is dropped.
pub struct CacheEntry {
    buffer: Buffer,
    key: Arc<str>,
    cache: Weak<Shared>,
}

impl ResidentCache {
    /// An empty cache on `device` that holds at most `cap_bytes`.
    pub fn new(device: &Device, cap_bytes: u64) -> Self {
        let account = Account::granted("resident-cache", Some(cap_bytes));
        let (state, loaded, allocating) = (Mutex::new(State::default()), Condvar::new(), Mutex::new(()));
        Self(Arc::new(Shared { device: device.clone(), account, state, loaded, allocating }))
    }

    /// The entry of that key, else a new one of `bytes` that `load` fills: once, however many ask for it meanwhile. No lock
    /// is held while it loads.
    ///
    /// # Errors
    ///
    /// `grant_exceeds_device_capacity` above the cap; `resident_cache_full` when what is in use leaves no room, with nothing
    /// given up; `resident_cache_entry_differs` for a key that has other bytes; `resident_cache_load_waits` when another
    /// call's load takes [`LOAD_WAIT_MAX`], or is this thread's own. What allocating or loading answered; nothing of it stays.
    pub fn get_or_load(
        &self,
        key: &str,
        bytes: u64,
        load: impl FnOnce(&Buffer) -> Result<()>,
    ) -> QueryResult<CacheEntry> {
        let shared = &self.0;
        let turn = match shared.find(key, bytes)? {
            Found::Entry(entry) => return Ok(entry),
            Found::Load(turn) => turn,
        };
        let (buffer, charged) = shared.allocate(key, bytes)?;
        // Dropped first when the load fails: whoever takes the turn then finds the room.
        let filling = Filling { buffer, _settle: Settle(shared) };
        load(&filling.buffer).map_err(|error| failed(key, "its load failed", &error))?;
        Ok(turn.publish(&filling.buffer, bytes, charged))
    }

    /// Give up the entry of that key. False when there is none, or somebody holds it.
    pub fn forget(&self, key: &str) -> bool {
        let shared = &self.0;
        let gone = {
            let mut state = shared.state.lock();
            let idle = state.slots.get(key).is_some_and(Slot::is_idle);
            if idle { state.slots.remove(key) } else { None }
        };
        let found = gone.is_some();
        shared.give_up(gone);
        found
    }

    /// Give up all that nobody holds; how many entries.
    pub fn clear(&self) -> usize {
        let shared = &self.0;
        let gone: Vec<Slot> = {
            let mut state = shared.state.lock();
            let idle: Vec<_> =
                state.slots.iter().filter(|(_, slot)| slot.is_idle()).map(|(key, _)| key.clone()).collect();
            idle.iter().filter_map(|key| state.slots.remove(key)).collect()
        };
        let count = gone.len();
        shared.give_up(gone);
        count
    }

    /// Take back all of it, whoever holds it: their handles are refused with `why`, and nothing more is loaded.
    pub fn revoke(&self, why: &str) {
        self.0.account.revoke(why);
        self.clear();
    }

    /// The cache now.
    pub fn report(&self) -> ResidentCacheReport {
        let shared = &self.0;
        let state = shared.state.lock();
        let ready = || state.slots.values().filter(|slot| matches!(slot, Slot::Ready { .. }));
        ResidentCacheReport {
            cap_bytes: shared.cap(),
            charged_bytes: shared.account.used(),
            peak_bytes: shared.account.peak(),
            entries: ready().count(),
            entries_in_use: ready().filter(|slot| !slot.is_idle()).count(),
            hits: state.hits,
            loads: state.loads,
            failures: state.failures,
            evictions: state.evictions,
        }
    }
}

impl fmt::Debug for ResidentCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ResidentCache").field(&self.report()).finish()
    }
}

impl Slot {
    /// Whether it is loaded and nobody but the cache holds it. Who holds it is known by its memory's count, which also has
    /// buffers and graphs that a holder of the entry made of it; from one upwards only the cache itself can raise it.
    fn is_idle(&self) -> bool {
        match self {
            Self::Loading(_) => false,
            Self::Ready { buffer, .. } => {
                // One for the cache, one for the binding that is asked.
                buffer.binding().memory.holders() <= 2
            }
        }
    }
}

impl State {
    fn next_use(&mut self) -> u64 {
        self.uses += 1;
        self.uses
    }

    /// The idle entries, the one that was used longest ago first: its use, its key, what is paid for it.
    fn idle(&self) -> Vec<(u64, Arc<str>, u64)> {
        let idle = self.slots.iter().filter_map(|(key, slot)| match slot {
            Slot::Ready { charged, used, .. } if slot.is_idle() => Some((*used, key.clone(), *charged)),
            _ => None,
        });
        let mut idle: Vec<_> = idle.collect();
        idle.sort_unstable();
        idle
    }

    /// Take out idle entries until `bytes` are gained; nothing when all of them would not do.
    fn evict(&mut self, bytes: u64) -> Option<Vec<Slot>> {
        let idle = self.idle();
        if idle.iter().map(|(.., charged)| charged).sum::<u64>() < bytes {
            return None;
        }
        let (mut gained, mut gone) = (0, Vec::new());
        for (_, key, charged) in idle {
            if gained >= bytes {
                break;
            }
            gained += charged;
            gone.extend(self.slots.remove(&key));
        }
        self.evictions += gone.len() as u64;
        Some(gone)
    }
}

/// What a look at a key gave.
enum Found<'a> {
    Entry(CacheEntry),
    Load(LoadTurn<'a>),
}

impl Shared {
    fn cap(&self) -> u64 {
        self.account.limit().unwrap_or(u64::MAX)
    }

    /// The entry, or the turn to load it, after waiting for whoever loads it now.
    fn find(self: &Arc<Self>, key: &str, bytes: u64) -> QueryResult<Found<'_>> {
        let (me, deadline) = (thread::current().id(), Instant::now() + LOAD_WAIT_MAX);
        let mut state = self.state.lock();
        loop {
            match state.slots.get(key) {
                None => {
                    let key: Arc<str> = key.into();
                    state.slots.insert(key.clone(), Slot::Loading(me));
                    return Ok(Found::Load(LoadTurn { shared: self, key, done: false }));
                }
                Some(Slot::Ready { buffer, bytes: have, .. }) => {
                    if *have != bytes {
                        return Err(differs(key, bytes, *have));
                    }
                    // Its use is counted as it ends: until then it does not leave.
                    let entry = CacheEntry { buffer: buffer.clone(), key: key.into(), cache: Arc::downgrade(self) };
                    state.hits += 1;
                    return Ok(Found::Entry(entry));
                }
                Some(Slot::Loading(loader)) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if *loader == me || left.is_zero() {
                        return Err(waits(key, *loader == me));
                    }
                    state = self.loaded.wait_timeout(state, left);
                }
            }
        }
    }

    /// Memory for an entry, and what the account pays for it. What the pools round up to is known once they refuse it.
    fn allocate(&self, key: &str, bytes: u64) -> QueryResult<(Buffer, u64)> {
        let cap = self.cap();
        if bytes > cap {
            return Err(exceeds(key, bytes, cap));
        }
        let _alone = self.allocating.lock();
        let mut need = bytes;
        loop {
            let room = cap.saturating_sub(self.account.used());
            if need > room {
                let gone = self.state.lock().evict(need - room);
                let Some(gone) = gone else { return Err(full(key, need, room, cap)) };
                self.give_up(gone);
            }
            let before = self.account.used();
            match self.device.alloc_charged(bytes, &self.account) {
                Ok(buffer) => return Ok((buffer, self.account.used().saturating_sub(before).max(bytes))),
                Err(ServerError::OutOfMemory(refusal)) if self.refused(&refusal) => {
                    if refusal.need > cap {
                        return Err(exceeds(key, refusal.need, cap));
                    }
                    if refusal.need <= need {
                        // Room that was there is gone: somebody holds a buffer of a load that failed.
                        return Err(full(key, need, refusal.have.unwrap_or(0), cap));
                    }
                    need = refusal.need;
                }
                Err(error) => return Err(failed(key, "its memory could not be had", &error)),
            }
        }
    }

    /// Whether it was the cache's own cap.
    fn refused(&self, refusal: &OutOfMemory) -> bool {
        matches!(&refusal.refused_by, MemoryLimit::Account(name) if **name == *self.account.name())
    }

    /// Drop what left the cache, and have its device take the memory back, so that the account is right at once.
    fn give_up(&self, gone: impl IntoIterator<Item = Slot>) {
        if gone.into_iter().map(drop).count() > 0 {
            self.settle();
        }
    }

    /// A device takes back what was dropped at its next call; this is one.
    fn settle(&self) {
        let _ = self.device.memory_usage();
    }
}

/// A buffer that is being filled. When that fails, or panics, nothing of it stays: it is dropped, then the account set right.
struct Filling<'a> {
    buffer: Buffer,
    _settle: Settle<'a>,
}

struct Settle<'a>(&'a Shared);

impl Drop for Settle<'_> {
    fn drop(&mut self) {
        self.0.settle();
    }
}

/// The turn to load a key. Dropped without an entry, the key is free for whoever waits.
struct LoadTurn<'a> {
    shared: &'a Arc<Shared>,
    key: Arc<str>,
    done: bool,
}

impl LoadTurn<'_> {
    fn publish(mut self, buffer: &Buffer, bytes: u64, charged: u64) -> CacheEntry {
        self.done = true;
        let (shared, key) = (self.shared, self.key.clone());
        let entry = CacheEntry { buffer: buffer.clone(), key: key.clone(), cache: Arc::downgrade(shared) };
        {
            let mut state = shared.state.lock();
            let used = state.next_use();
            state.loads += 1;
            state.slots.insert(key, Slot::Ready { buffer: buffer.clone(), bytes, charged, used });
        }
        shared.loaded.notify_all();
        entry
    }
}

impl Drop for LoadTurn<'_> {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        {
            let mut state = self.shared.state.lock();
            state.slots.remove(&self.key);
            state.failures += 1;
        }
        self.shared.loaded.notify_all();
    }
}

impl CacheEntry {
    /// What is cached. Clones and slices of it hold the entry too.
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }
}

impl fmt::Debug for CacheEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CacheEntry").field("key", &self.key).field("buffer", &self.buffer).finish_non_exhaustive()
    }
}

impl Drop for CacheEntry {
    fn drop(&mut self) {
        // In a process that ends, the lock may belong to a thread that is gone.
        let Some(cache) = self.cache.upgrade().filter(|_| !process::is_ending()) else { return };
        let mut state = cache.state.lock();
        let now = state.next_use();
        // What was held longest is not what was used longest ago.
        if let Some(Slot::Ready { buffer, used, .. }) = state.slots.get_mut(&self.key)
            && buffer.memory_id() == self.buffer.memory_id()
        {
            *used = now;
        }
    }
}

fn error(code: QueryErrorCode, reason: &'static str, key: &str, tail: &str) -> QueryError {
    QueryError::new(code, operation::RESOURCE, format!("cache entry `{key}` {tail}")).with_reason(reason)
}

fn exceeds(key: &str, bytes: u64, cap: u64) -> QueryError {
    let (code, reason) = (QueryErrorCode::GrantExceedsDeviceCapacity, "grant_exceeds_device_capacity");
    let tail =
        format!("takes {}, above the cap of {}; raise cache_cap_bytes", bytes_with_gib(bytes), bytes_with_gib(cap));
    error(code, reason, key, &tail).with_fact("bytes", bytes).with_fact("cache_cap_bytes", cap)
}

fn full(key: &str, bytes: u64, room: u64, cap: u64) -> QueryError {
    let tail = format!(
        "takes {} and entries in use leave {}; end an attempt that holds one, or raise cache_cap_bytes",
        bytes_with_gib(bytes),
        bytes_with_gib(room)
    );
    error(QueryErrorCode::ServiceOverloaded, "resident_cache_full", key, &tail)
        .with_fact("bytes", bytes)
        .with_fact("cache_cap_bytes", cap)
}

fn differs(key: &str, bytes: u64, have: u64) -> QueryError {
    let tail = format!("has {have} bytes and {bytes} are asked for; give other content another key");
    error(QueryErrorCode::InvalidConfiguration, "resident_cache_entry_differs", key, &tail)
}

fn waits(key: &str, own: bool) -> QueryError {
    let tail = if own {
        "is asked for by its own load, which would wait for itself; load it first"
    } else {
        "is still being loaded by another call; try again when that is over"
    };
    error(QueryErrorCode::ServiceOverloaded, "resident_cache_load_waits", key, tail)
}

fn failed(key: &str, what: &str, error: &ServerError) -> QueryError {
    native_error(operation::RESOURCE, &format!("cache entry `{key}`: {what}"), error)
}
