//! An observation of one query without a backend: bounded events, sealed once, and then shown to its observers.

#[cfg(test)]
mod tests;

use std::fmt;

use crate::lifecycle::attempt::report::AttemptOutcome;
use crate::lifecycle::observation::isolation::isolate;
use crate::lifecycle::reentrancy::enter_observation;
use crate::process;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Arc, Mutex};

/// How much one observation keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObservationBounds {
    /// The most events.
    pub max_events: usize,
    /// The most bytes of all their texts.
    pub max_bytes: usize,
}

impl Default for ObservationBounds {
    /// 256 events, 64 KiB.
    fn default() -> Self {
        Self { max_events: 256, max_bytes: 64 << 10 }
    }
}

/// A sealed observation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObservationSnapshot {
    /// Unique in the process.
    pub observation_id: u64,
    /// The observation that this one is a part of.
    pub parent_id: Option<u64>,
    /// Its name.
    pub name: String,
    /// How the query ended, where that is known.
    pub outcome: Option<AttemptOutcome>,
    /// The events that were kept, oldest first.
    pub events: Vec<String>,
    /// Events beyond the bounds, or after the seal.
    pub dropped_events: u64,
}

type Observer = Box<dyn FnOnce(Arc<ObservationSnapshot>) + Send>;

/// Observes one query; dropped without a finish, it seals as dropped (B-144).
pub struct ObservationOwner {
    id: u64,
    bounds: ObservationBounds,
    state: Mutex<OwnerState>,
}

enum OwnerState {
    Open { snapshot: ObservationSnapshot, bytes: usize, observers: Vec<Observer> },
    Sealed(Arc<ObservationSnapshot>),
}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl ObservationOwner {
    /// An empty observation, perhaps a part of `parent`.
    pub fn new(name: impl Into<String>, parent: Option<&Self>, bounds: ObservationBounds) -> Self {
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let snapshot = ObservationSnapshot {
            observation_id: id,
            parent_id: parent.map(|parent| parent.id),
            name: name.into(),
            outcome: None,
            events: Vec::new(),
            dropped_events: 0,
        };
        Self { id, bounds, state: Mutex::new(OwnerState::Open { snapshot, bytes: 0, observers: Vec::new() }) }
    }

    /// Unique in the process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Note an event; false when it does not fit, or comes after the seal.
    pub fn record(&self, event: impl Into<String>) -> bool {
        let event = event.into();
        let mut state = self.state.lock();
        let OwnerState::Open { snapshot, bytes, .. } = &mut *state else { return false };
        let sum = bytes.saturating_add(event.len());
        let fits = snapshot.events.len() < self.bounds.max_events && sum <= self.bounds.max_bytes;
        if fits {
            *bytes = sum;
            snapshot.events.push(event);
        } else {
            snapshot.dropped_events = snapshot.dropped_events.saturating_add(1);
        }
        fits
    }

    /// Have `observer` run on the thread that seals; false when that has happened. It is an observation callback: it cannot
    /// block in a close (B-138).
    pub fn register_seal_observer(&self, observer: impl FnOnce(Arc<ObservationSnapshot>) + Send + 'static) -> bool {
        let mut state = self.state.lock();
        let OwnerState::Open { observers, .. } = &mut *state else { return false };
        observers.push(Box::new(observer));
        true
    }

    /// Seal with the outcome, where it is known, and run the observers; false when that has happened.
    pub fn finish_query(&self, outcome: Option<AttemptOutcome>) -> bool {
        let mut state = self.state.lock();
        let OwnerState::Open { snapshot, observers, .. } = &mut *state else { return false };
        snapshot.outcome = outcome;
        let (sealed, observers) = (Arc::new(snapshot.clone()), std::mem::take(observers));
        *state = OwnerState::Sealed(sealed.clone());
        drop(state);
        let _guard = enter_observation();
        for observer in observers {
            isolate("seal observer", || observer(sealed.clone()));
        }
        true
    }

    /// The sealed observation, once it is.
    pub fn sealed(&self) -> Option<Arc<ObservationSnapshot>> {
        match &*self.state.lock() {
            OwnerState::Open { .. } => None,
            OwnerState::Sealed(snapshot) => Some(snapshot.clone()),
        }
    }
}

impl Drop for ObservationOwner {
    fn drop(&mut self) {
        if !process::is_ending() {
            self.finish_query(Some(AttemptOutcome::Dropped));
        }
    }
}

impl fmt::Debug for ObservationOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObservationOwner").field("id", &self.id).finish_non_exhaustive()
    }
}
