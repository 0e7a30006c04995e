//! What one attempt is doing, as events in and decisions out: it takes no lock, reads no clock and calls nobody.

use std::time::Duration;

use crate::clock::Tick;
use crate::lifecycle::attempt::activity::QueryActivityLease;
use crate::lifecycle::attempt::binding::AttachRefusal;
use crate::lifecycle::attempt::report::{AttemptOutcome, QueryAttemptReport};
use crate::lifecycle::attempt::resources::AttemptResources;
use crate::lifecycle::error::QueryError;
use crate::lifecycle::gate::ObservationPermit;
use crate::sync::Arc;

pub(super) type Sink = Box<dyn FnOnce(&QueryAttemptReport) + Send>;
pub(super) type Observer = Box<dyn FnOnce(Arc<QueryAttemptReport>) + Send>;
pub(super) type Cancel = Box<dyn FnOnce() + Send>;

/// What admission has to do with the attempt now.
pub(super) enum Admission {
    None,
    /// A request is queued; this takes it out.
    Pending(Cancel),
    Held(Box<dyn AttemptResources>),
}

/// The first terminal, which wins (B-122).
#[derive(Debug)]
pub(super) struct Terminal {
    pub(super) outcome: AttemptOutcome,
    pub(super) error: Option<QueryError>,
    pub(super) backend_closing: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    /// A terminal is committed; resources may still be on their way back.
    Terminal,
    Sealed,
    /// The observation permit is gone too.
    Finished,
}

pub(super) struct AttemptState {
    phase: Phase,
    terminal: Option<Terminal>,
    planned_at: Option<Tick>,
    queue_wait: Duration,
    admission: Admission,
    permit: Option<ObservationPermit>,
    sinks: Vec<Sink>,
    observers: Vec<Observer>,
    activities: Vec<QueryActivityLease>,
}

/// What the seal takes out of an attempt.
pub(super) struct Sealing {
    pub(super) terminal: Terminal,
    pub(super) planned_at: Option<Tick>,
    pub(super) queue_wait: Duration,
    pub(super) permit: Option<ObservationPermit>,
    pub(super) sinks: Vec<Sink>,
    pub(super) observers: Vec<Observer>,
}

impl AttemptState {
    pub(super) fn new(permit: ObservationPermit) -> Self {
        Self {
            phase: Phase::Open,
            terminal: None,
            planned_at: None,
            queue_wait: Duration::ZERO,
            admission: Admission::None,
            permit: Some(permit),
            sinks: Vec::new(),
            observers: Vec::new(),
            activities: Vec::new(),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// Take the first terminal: what admission held is now the caller's to let go. A later one comes back.
    pub(super) fn commit(&mut self, terminal: Terminal) -> Result<Admission, Terminal> {
        if !self.is_open() {
            return Err(terminal);
        }
        self.phase = Phase::Terminal;
        self.terminal = Some(terminal);
        Ok(std::mem::replace(&mut self.admission, Admission::None))
    }

    /// The first planning counts; one after the terminal does not.
    pub(super) fn plan(&mut self, now: Tick) {
        if self.is_open() {
            self.planned_at.get_or_insert(now);
        }
    }

    /// Note a queued request. What comes back did not enter.
    pub(super) fn attach_pending(&mut self, cancel: Cancel) -> Result<(), (AttachRefusal, Cancel)> {
        match self.admission {
            _ if !self.is_open() => Err((AttachRefusal::Terminal, cancel)),
            Admission::None => {
                self.admission = Admission::Pending(cancel);
                Ok(())
            }
            Admission::Pending(_) | Admission::Held(_) => Err((AttachRefusal::Busy, cancel)),
        }
    }

    /// The request was refused: its way out is no longer needed.
    pub(super) fn clear_pending(&mut self) -> Option<Cancel> {
        match std::mem::replace(&mut self.admission, Admission::None) {
            Admission::Pending(cancel) => Some(cancel),
            other => {
                self.admission = other;
                None
            }
        }
    }

    /// Hold what was granted; the way out of the queue comes back. A terminal attempt, or one that holds something, takes
    /// nothing.
    pub(super) fn attach(
        &mut self,
        resources: Box<dyn AttemptResources>,
        queue_wait: Duration,
    ) -> Result<Option<Cancel>, Box<dyn AttemptResources>> {
        if !self.is_open() || matches!(self.admission, Admission::Held(_)) {
            return Err(resources);
        }
        let pending = self.clear_pending();
        self.queue_wait = queue_wait;
        self.admission = Admission::Held(resources);
        Ok(pending)
    }

    /// Keep an activity until the end; one that comes after the end comes back.
    pub(super) fn attach_activity(&mut self, lease: QueryActivityLease) -> Result<(), QueryActivityLease> {
        if self.phase == Phase::Finished {
            return Err(lease);
        }
        self.activities.push(lease);
        Ok(())
    }

    pub(super) fn add_sink(&mut self, sink: Sink) -> Result<(), Sink> {
        if !self.is_open() {
            return Err(sink);
        }
        self.sinks.push(sink);
        Ok(())
    }

    pub(super) fn add_observer(&mut self, observer: Observer) -> Result<(), Observer> {
        if !self.is_open() {
            return Err(observer);
        }
        self.observers.push(observer);
        Ok(())
    }

    /// Freeze the attempt, once.
    pub(super) fn seal(&mut self) -> Option<Sealing> {
        if self.phase != Phase::Terminal {
            return None;
        }
        self.phase = Phase::Sealed;
        Some(Sealing {
            terminal: self.terminal.take().expect("a terminal attempt has one until it seals"),
            planned_at: self.planned_at,
            queue_wait: self.queue_wait,
            permit: self.permit.take(),
            sinks: std::mem::take(&mut self.sinks),
            observers: std::mem::take(&mut self.observers),
        })
    }

    /// The permit is gone: the activities are next, and from now on each goes as it comes.
    pub(super) fn finish(&mut self) -> Vec<QueryActivityLease> {
        self.phase = Phase::Finished;
        std::mem::take(&mut self.activities)
    }
}
