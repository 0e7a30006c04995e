//! A token that withdraws the requests it was given to: they hear of it at once, not at their next poll (B-109).

use std::collections::BTreeMap;
use std::fmt;

use crate::lifecycle::admission::grant::GrantHome;
use crate::sync::{Arc, Mutex, Weak};

/// Cancels every request that it was given to, those that wait and those to come. What has its grant keeps it.
#[derive(Clone, Default)]
pub struct CancellationToken(Arc<Mutex<Listeners>>);

#[derive(Default)]
struct Listeners {
    is_cancelled: bool,
    next_key: u64,
    waiting: BTreeMap<u64, Listener>,
}

struct Listener {
    home: Weak<dyn GrantHome>,
    id: u64,
}

impl CancellationToken {
    /// A token that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancel. Doing so again does nothing.
    pub fn cancel(&self) {
        let waiting = {
            let mut listeners = self.0.lock();
            listeners.is_cancelled = true;
            std::mem::take(&mut listeners.waiting)
        };
        for listener in waiting.into_values() {
            if let Some(home) = listener.home.upgrade() {
                home.cancel_request(listener.id);
            }
        }
    }

    /// Whether it is cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.lock().is_cancelled
    }

    #[cfg(test)]
    pub(crate) fn registered(&self) -> usize {
        self.0.lock().waiting.len()
    }

    /// Tell `home` about request `id` when cancelled, as long as the registration lives. `None` when that is the case
    /// already: then the caller tells it.
    pub(crate) fn register(&self, home: Weak<dyn GrantHome>, id: u64) -> Option<Registration> {
        let mut listeners = self.0.lock();
        if listeners.is_cancelled {
            return None;
        }
        let key = listeners.next_key;
        listeners.next_key += 1;
        listeners.waiting.insert(key, Listener { home, id });
        drop(listeners);
        Some(Registration { token: self.clone(), key })
    }
}

impl fmt::Debug for CancellationToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancellationToken").field("is_cancelled", &self.is_cancelled()).finish_non_exhaustive()
    }
}

/// A request's place with a token. Dropped with the request, so that a long-lived token does not collect them.
pub(crate) struct Registration {
    token: CancellationToken,
    key: u64,
}

impl Drop for Registration {
    fn drop(&mut self) {
        let removed = self.token.0.lock().waiting.remove(&self.key);
        drop(removed);
    }
}
