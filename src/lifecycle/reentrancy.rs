//! Which threads run an observation callback now: a blocking close from one of them would wait for itself.

use std::cell::Cell;
use std::marker::PhantomData;

use crate::lifecycle::error::{QueryError, QueryErrorCode, QueryResult, operation};

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// While it lives, this thread runs an observation callback. It stays on its thread.
#[derive(Debug)]
pub(crate) struct ObservationGuard(PhantomData<*const ()>);

/// Mark this thread as running an observation callback. Guards nest.
pub(crate) fn enter_observation() -> ObservationGuard {
    DEPTH.with(|depth| depth.set(depth.get() + 1));
    ObservationGuard(PhantomData)
}

/// Refuse a blocking close inside an observation callback, of whichever backend.
pub(crate) fn refuse_reentrant_close() -> QueryResult {
    if DEPTH.with(Cell::get) == 0 {
        return Ok(());
    }
    let message = "a blocking close inside an observation callback would wait for itself; signal close and return";
    Err(QueryError::new(QueryErrorCode::Internal, operation::CLOSE, message).with_reason("reentrant_observation_close"))
}

impl Drop for ObservationGuard {
    fn drop(&mut self) {
        DEPTH.with(|depth| depth.set(depth.get() - 1));
    }
}
