//! What the construction of a backend has created so far, in that order. It keeps every installed resource alive until the
//! close has drained it, also where no service was ever published (B-161).

use std::fmt::Debug;
use std::time::Instant;

use crate::lifecycle::error::{QueryError, QueryErrorCode, QueryResult, operation};
use crate::lifecycle::gate::backend_closing;
use crate::lifecycle::records::GpuBackendDeviceStartupRecord;
use crate::sync::{Arc, PoisonMutex, Weak};

/// A resource that a journal keeps, shared with the service.
pub(crate) trait JournaledResource: Send + Sync + Debug {
    /// Accept nothing more, and wait until what runs has ended. What has no such step answers `Ok` at once. It is called
    /// again after its deadline has passed, and after it succeeded (B-164).
    ///
    /// # Errors
    ///
    /// [`QueryError::cleanup_deadline`] when `deadline` comes first; any other error is permanent.
    fn close_and_drain_until(&self, deadline: Instant) -> QueryResult;
}

/// The journal. A clone is the same journal.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConstructionResourceJournal(Arc<PoisonMutex<Entries>>);

/// A view of a journal that keeps nothing alive.
#[derive(Clone, Debug)]
pub(crate) struct WeakConstructionResourceJournal(Weak<PoisonMutex<Entries>>);

#[derive(Debug, Default)]
struct Entries {
    entries: Vec<Entry>,
    released: bool,
}

#[derive(Clone, Debug)]
struct Entry {
    label: &'static str,
    kept: Kept,
}

#[derive(Clone, Debug)]
enum Kept {
    Resource(Arc<dyn JournaledResource>),
    Records(#[expect(dead_code, reason = "it is kept, not read")] Arc<[GpuBackendDeviceStartupRecord]>),
}

impl ConstructionResourceJournal {
    /// # Errors
    ///
    /// `construction_journal_poisoned`, as with every kind.
    pub(crate) fn record_memory_manager(&self, resource: Arc<dyn JournaledResource>) -> QueryResult {
        self.record("memory_manager", Kept::Resource(resource))
    }

    pub(crate) fn record_stream_pool(&self, resource: Arc<dyn JournaledResource>) -> QueryResult {
        self.record("stream_pool", Kept::Resource(resource))
    }

    pub(crate) fn record_device_context(&self, resource: Arc<dyn JournaledResource>) -> QueryResult {
        self.record("device_context", Kept::Resource(resource))
    }

    pub(crate) fn record_execution_pool(&self, resource: Arc<dyn JournaledResource>) -> QueryResult {
        self.record("execution_pool", Kept::Resource(resource))
    }

    pub(crate) fn record_startup_records(&self, records: Arc<[GpuBackendDeviceStartupRecord]>) -> QueryResult {
        self.record("startup_records", Kept::Records(records))
    }

    fn record(&self, label: &'static str, kept: Kept) -> QueryResult {
        let mut entries = self.0.lock().map_err(|_| poisoned())?;
        if entries.released {
            return Err(backend_closing());
        }
        entries.entries.push(Entry { label, kept });
        Ok(())
    }

    /// The kinds of the entries, in the order of their creation.
    pub(crate) fn labels(&self) -> Vec<&'static str> {
        self.0.lock_recovered().entries.iter().map(|entry| entry.label).collect()
    }

    /// Drain all entries under one deadline, the last created first. A failure does not stop the walk (B-162, B-163).
    ///
    /// # Errors
    ///
    /// The first permanent error, else the first deadline error: a slow drain cannot hide a broken one.
    pub(crate) fn close_and_drain_until(&self, deadline: Instant) -> QueryResult {
        // An append is all or nothing, so also a poisoned journal's entries are whole, and still need their drain. They
        // are walked outside of the lock, since draining runs other code.
        let entries = self.0.lock_recovered().entries.clone();
        let (mut permanent, mut late) = (Ok(()), Ok(()));
        for entry in entries.iter().rev() {
            let Kept::Resource(resource) = &entry.kept else { continue };
            match resource.close_and_drain_until(deadline) {
                Err(error) if error.is_cleanup_deadline_elapsed() => late = late.and(Err(error)),
                drained => permanent = permanent.and(drained),
            }
        }
        permanent.and(late)
    }

    /// Let go of all entries, the last created first, each outside of the lock. Nothing is recorded afterwards. When a
    /// destructor panics, the earlier entries stay, so that a caller can keep them for good.
    pub(crate) fn release(&self) {
        loop {
            let entry = {
                let mut entries = self.0.lock_recovered();
                entries.released = true;
                entries.entries.pop()
            };
            match entry {
                Some(entry) => drop(entry),
                None => return,
            }
        }
    }

    /// A view for a probe.
    pub(crate) fn downgrade(&self) -> WeakConstructionResourceJournal {
        WeakConstructionResourceJournal(Arc::downgrade(&self.0))
    }
}

impl WeakConstructionResourceJournal {
    /// The journal, while someone keeps it.
    pub(crate) fn upgrade(&self) -> Option<ConstructionResourceJournal> {
        self.0.upgrade().map(ConstructionResourceJournal)
    }
}

fn poisoned() -> QueryError {
    let message = "an earlier step of the construction panicked while it recorded a resource; build again";
    let error = QueryError::new(QueryErrorCode::Internal, operation::BUILD, message);
    error.with_reason("construction_journal_poisoned")
}
