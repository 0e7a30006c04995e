//! The one outcome of a request that had to wait, on its way to whoever waits for it. It is delivered or comes back, never
//! both and never neither (B-109).

use std::task::Waker;
use std::time::Duration;

use crate::lifecycle::admission::grant::Grant;
use crate::lifecycle::error::QueryResult;
use crate::sync::{Condvar, Mutex};

/// A grant with what the request left in trust, or why there is none.
pub(crate) type Settled<P> = QueryResult<(Grant, P)>;

/// Room for one outcome, between the one who decides and the one who waits.
pub(crate) struct Outcome<P> {
    stage: Mutex<Stage<P>>,
    settled: Condvar,
}

enum Stage<P> {
    Open(Option<Waker>),
    Settled(Settled<P>),
    /// Taken, or nobody waits any more.
    Over,
}

/// What the one who gave up finds.
pub(crate) enum Abandoned<P> {
    /// It was still to come; it goes back when it does.
    Open,
    Settled(Settled<P>),
    Over,
}

impl<P> Outcome<P> {
    pub(crate) fn new() -> Self {
        Self { stage: Mutex::new(Stage::Open(None)), settled: Condvar::new() }
    }

    /// Deliver. Gives the outcome back when nobody waits for it, else the waker to call outside of all locks.
    pub(crate) fn settle(&self, settled: Settled<P>) -> Result<Option<Waker>, Box<Settled<P>>> {
        let mut stage = self.stage.lock();
        match &mut *stage {
            Stage::Open(waker) => {
                let waker = waker.take();
                *stage = Stage::Settled(settled);
                drop(stage);
                self.settled.notify_all();
                Ok(waker)
            }
            Stage::Settled(_) | Stage::Over => {
                drop(stage);
                Err(Box::new(settled))
            }
        }
    }

    pub(crate) fn is_settled(&self) -> bool {
        !matches!(*self.stage.lock(), Stage::Open(_))
    }

    /// The outcome if it is there; else `waker` is called once it is.
    pub(crate) fn poll(&self, waker: &Waker) -> Option<Settled<P>> {
        let stage = self.stage.lock();
        if matches!(&*stage, Stage::Open(Some(known)) if known.will_wake(waker)) {
            return None;
        }
        drop(stage);
        // A waker's clone and its destructor are the caller's code.
        let fresh = waker.clone();
        let mut stage = self.stage.lock();
        let replaced = match &mut *stage {
            Stage::Open(known) => known.replace(fresh),
            Stage::Settled(_) | Stage::Over => return take(&mut stage),
        };
        drop(stage);
        drop(replaced);
        None
    }

    /// Wait for the outcome for at most `slice`. May return early without it.
    pub(crate) fn wait(&self, slice: Duration) -> Option<Settled<P>> {
        let mut stage = self.stage.lock();
        if matches!(*stage, Stage::Open(_)) {
            stage = self.settled.wait_timeout(stage, slice);
        }
        take(&mut stage)
    }

    /// Nobody waits any more.
    pub(crate) fn abandon(&self) -> Abandoned<P> {
        let mut stage = self.stage.lock();
        let left = std::mem::replace(&mut *stage, Stage::Over);
        // What is left may hold a waker, whose destructor is the caller's code.
        drop(stage);
        match left {
            Stage::Open(_) => Abandoned::Open,
            Stage::Settled(settled) => Abandoned::Settled(settled),
            Stage::Over => Abandoned::Over,
        }
    }
}

fn take<P>(stage: &mut Stage<P>) -> Option<Settled<P>> {
    match std::mem::replace(stage, Stage::Over) {
        Stage::Settled(settled) => Some(settled),
        open => {
            *stage = open;
            None
        }
    }
}
