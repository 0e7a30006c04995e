//! Counts the public handles of a backend. It is no count of references, since sessions and the close hold the same parts
//! and must not keep the backend open (B-79, B-80).

use std::fmt;

use crate::lifecycle::error::QueryResult;
use crate::lifecycle::gate::backend_closing;
use crate::process;
use crate::sync::{Arc, Mutex};

/// Counts leases, and runs its action once, when the last of them goes.
#[derive(Clone, Debug)]
pub(crate) struct PublicHandleTracker(Arc<Mutex<Count>>);

/// One public handle. Its clone is another.
#[derive(Debug)]
pub(crate) struct PublicHandleLease(PublicHandleTracker);

struct Count {
    leases: u64,
    /// Gone from the moment that the last lease went.
    on_last: Option<Box<dyn FnOnce() + Send>>,
}

impl PublicHandleTracker {
    /// A tracker without leases. `on_last` runs on the thread that drops the last one, with no lock held.
    pub(crate) fn new(on_last: impl FnOnce() + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(Count { leases: 0, on_last: Some(Box::new(on_last)) })))
    }

    /// One more handle.
    ///
    /// # Errors
    ///
    /// `backend_closing` once the last lease went.
    pub(crate) fn acquire(&self) -> QueryResult<PublicHandleLease> {
        let mut count = self.0.lock();
        if count.on_last.is_none() {
            return Err(backend_closing());
        }
        count.leases += 1;
        Ok(PublicHandleLease(self.clone()))
    }
}

impl Clone for PublicHandleLease {
    fn clone(&self) -> Self {
        self.0.0.lock().leases += 1;
        Self(self.0.clone())
    }
}

impl Drop for PublicHandleLease {
    fn drop(&mut self) {
        // A process that ends closes nothing, and the lock may belong to a thread that is gone.
        if process::is_ending() {
            return;
        }
        let on_last = {
            let mut count = self.0.0.lock();
            count.leases -= 1;
            if count.leases == 0 { count.on_last.take() } else { None }
        };
        if let Some(on_last) = on_last {
            on_last();
        }
    }
}

impl fmt::Debug for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Count").field("leases", &self.leases).field("over", &self.on_last.is_none()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::atomic::{AtomicUsize, Ordering};
    use crate::sync::thread;

    /// B-80: the action runs once, after the last, with no lock held, and nothing is acquired afterwards.
    #[test]
    fn the_last_handle_acts_once() {
        let runs = Arc::new(AtomicUsize::new(0));
        let own: Arc<Mutex<Option<PublicHandleTracker>>> = Arc::default();
        let tracker = PublicHandleTracker::new({
            let (runs, own) = (runs.clone(), Arc::downgrade(&own));
            move || {
                runs.fetch_add(1, Ordering::SeqCst);
                let tracker = own.upgrade().and_then(|own| own.lock().clone()).unwrap();
                assert_eq!(tracker.acquire().unwrap_err().reason(), Some("backend_closing"), "it takes the lock");
            }
        });
        *own.lock() = Some(tracker.clone());
        let first = tracker.acquire().unwrap();
        let second = first.clone();
        drop(first);
        let third = tracker.acquire().unwrap();
        drop(second);
        assert_eq!(runs.load(Ordering::SeqCst), 0);
        drop(third);
        assert_eq!(runs.load(Ordering::SeqCst), 1);
        assert_eq!(tracker.acquire().unwrap_err().reason(), Some("backend_closing"));
        assert_eq!(runs.load(Ordering::SeqCst), 1);
    }

    /// XB-12, B-79.
    #[test]
    fn sixteen_threads_clone_and_drop_and_one_drop_is_the_last() {
        let runs = Arc::new(AtomicUsize::new(0));
        let tracker = PublicHandleTracker::new({
            let runs = runs.clone();
            move || {
                runs.fetch_add(1, Ordering::SeqCst);
            }
        });
        let first = tracker.acquire().unwrap();
        let threads: Vec<_> = (0..16)
            .map(|_| {
                let lease = first.clone();
                thread::spawn(move || (0..200).for_each(|_| drop(lease.clone())))
            })
            .collect();
        let early = runs.load(Ordering::SeqCst);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!((early, runs.load(Ordering::SeqCst)), (0, 0));
        drop(first);
        assert_eq!(runs.load(Ordering::SeqCst), 1);
    }
}
