//! What the construction of a backend has created so far, in that order. It keeps every installed resource alive until the
//! close has drained it, also where no service was ever published (B-161).

use std::fmt::Debug;
use std::time::Instant;

use crate::lifecycle::error::{QueryError, QueryErrorCode, QueryResult, operation};
use crate::lifecycle::gate::backend_closing;
use crate::lifecycle::records::GpuBackendDeviceStartupRecord;
#[cfg(any(test, feature = "test-hooks"))]
use crate::sync::Weak;
use crate::sync::{Arc, PoisonMutex};

/// A resource that a journal keeps, shared with the service.
pub(crate) trait JournaledResource: Send + Sync + Debug {
    /// Accept nothing more, and wait until what runs has ended. What has no such step answers `Ok` at once. It is called
    /// again after its deadline has passed, and after it succeeded (B-164).
    ///
    /// # Errors
    ///
    /// [`QueryError::cleanup_deadline`] when `deadline` comes first; any other error is permanent.
    fn close_and_drain_until(&self, deadline: Instant) -> QueryResult;

    /// Everything is drained: give back what must be gone before the claim is, whoever else still holds a clone.
    fn release(&self) {}
}

/// The journal. A clone is the same journal.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConstructionResourceJournal(Arc<PoisonMutex<Entries>>);

/// A view of a journal that keeps nothing alive.
#[cfg(any(test, feature = "test-hooks"))]
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
    #[cfg(any(test, feature = "test-hooks"))]
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
                Some(entry) => {
                    tracing::debug!(resource = entry.label, "an installed resource is let go");
                    if let Kept::Resource(resource) = &entry.kept {
                        resource.release();
                    }
                    drop(entry);
                }
                None => return,
            }
        }
    }

    /// A view for a probe.
    #[cfg(any(test, feature = "test-hooks"))]
    pub(crate) fn downgrade(&self) -> WeakConstructionResourceJournal {
        WeakConstructionResourceJournal(Arc::downgrade(&self.0))
    }
}

#[cfg(any(test, feature = "test-hooks"))]
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::{Mutex, thread};
    use std::time::Duration;

    type Log = Arc<Mutex<Vec<(&'static str, Option<Instant>)>>>;

    /// Writes down each drain, with its deadline, and its drop.
    #[derive(Debug)]
    struct Noted {
        name: &'static str,
        log: Log,
        answers: Mutex<Vec<QueryResult>>,
    }

    impl Noted {
        fn shared(log: &Log, name: &'static str, answers: Vec<QueryResult>) -> Arc<dyn JournaledResource> {
            Arc::new(Self { name, log: log.clone(), answers: Mutex::new(answers) })
        }
    }

    impl JournaledResource for Noted {
        fn close_and_drain_until(&self, deadline: Instant) -> QueryResult {
            self.log.lock().push((self.name, Some(deadline)));
            self.answers.lock().pop().unwrap_or(Ok(()))
        }
    }

    impl Drop for Noted {
        fn drop(&mut self) {
            self.log.lock().push((self.name, None));
        }
    }

    fn late() -> QueryResult {
        Err(QueryError::cleanup_deadline(operation::CLOSE))
    }

    fn broken(message: &str) -> QueryResult {
        Err(QueryError::new(QueryErrorCode::Internal, operation::CLOSE, message))
    }

    fn poison(journal: &ConstructionResourceJournal) {
        let holder = journal.clone();
        let panicked = thread::spawn(move || {
            let _entries = holder.0.lock();
            panic!("a step's mistake");
        });
        assert!(panicked.join().is_err());
    }

    /// B-161, B-162, B-65: entries stay in the order of their creation, and are drained in the reverse under one deadline.
    #[test]
    fn entries_are_drained_from_the_last_to_the_first() {
        let (journal, log) = (ConstructionResourceJournal::default(), Log::default());
        journal.record_memory_manager(Noted::shared(&log, "memory", vec![])).unwrap();
        journal.record_stream_pool(Noted::shared(&log, "streams", vec![late()])).unwrap();
        journal.record_device_context(Noted::shared(&log, "context", vec![])).unwrap();
        journal.record_execution_pool(Noted::shared(&log, "workers", vec![])).unwrap();
        journal.record_startup_records(Arc::from([])).unwrap();
        let labels = ["memory_manager", "stream_pool", "device_context", "execution_pool", "startup_records"];
        assert_eq!(journal.labels(), labels);
        let deadline = Instant::now() + Duration::from_secs(1);
        assert!(journal.close_and_drain_until(deadline).unwrap_err().is_cleanup_deadline_elapsed());
        let walk = ["workers", "context", "streams", "memory"].map(|name| (name, Some(deadline)));
        assert_eq!(*log.lock(), walk);
        journal.close_and_drain_until(deadline).expect("B-164: it is asked again");
        assert_eq!((log.lock().len(), journal.labels().len()), (8, 5), "nothing is removed");
    }

    /// XB-10, B-163.
    #[test]
    fn a_slow_drain_cannot_hide_a_broken_one() {
        for answers in [[late(), broken("first"), Ok(()), broken("second")], [broken("first"), late(), late(), Ok(())]]
        {
            let (journal, log) = (ConstructionResourceJournal::default(), Log::default());
            for answer in answers.into_iter().rev() {
                journal.record_stream_pool(Noted::shared(&log, "streams", vec![answer])).unwrap();
            }
            let error = journal.close_and_drain_until(Instant::now()).unwrap_err();
            assert_eq!((error.message(), error.is_cleanup_deadline_elapsed()), ("first", false));
            assert_eq!(log.lock().len(), 4, "all were visited");
        }
    }

    /// B-165.
    #[test]
    fn a_poisoned_journal_records_nothing_more_and_is_drained_all_the_same() {
        let (journal, log) = (ConstructionResourceJournal::default(), Log::default());
        journal.record_execution_pool(Noted::shared(&log, "workers", vec![])).unwrap();
        poison(&journal);
        let error = journal.record_stream_pool(Noted::shared(&log, "streams", vec![])).unwrap_err();
        assert_eq!((error.code(), error.reason()), (QueryErrorCode::Internal, Some("construction_journal_poisoned")));
        log.lock().clear();
        journal.close_and_drain_until(Instant::now()).unwrap();
        assert_eq!((log.lock().len(), journal.labels()), (1, vec!["execution_pool"]));
    }

    /// B-161: the release goes from the last to the first too, once, and a view keeps nothing alive.
    #[test]
    fn a_release_lets_go_of_all_entries_and_a_view_of_none() {
        let (journal, log) = (ConstructionResourceJournal::default(), Log::default());
        journal.record_memory_manager(Noted::shared(&log, "memory", vec![])).unwrap();
        journal.record_execution_pool(Noted::shared(&log, "workers", vec![])).unwrap();
        let (shared, view) = (journal.clone(), journal.downgrade());
        assert_eq!(view.upgrade().unwrap().labels().len(), 2);
        journal.release();
        assert_eq!(*log.lock(), [("workers", None), ("memory", None)]);
        let refused = shared.record_memory_manager(Noted::shared(&log, "memory", vec![])).unwrap_err();
        assert_eq!(refused.reason(), Some("backend_closing"), "what comes later would be drained by nobody");
        drop((journal, shared));
        assert!(view.upgrade().is_none());
    }
}
