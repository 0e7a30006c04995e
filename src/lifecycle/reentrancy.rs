//! Whether this thread runs an observation callback: such a callback is a part of what a close waits for, so it may not
//! itself wait for one, of any backend (B-139, B-140).

use std::cell::Cell;
use std::marker::PhantomData;

use crate::lifecycle::error::{QueryError, QueryErrorCode, QueryResult, operation};

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// While it lives, its thread is inside an observation callback. It stays on that thread.
#[derive(Debug)]
pub(crate) struct ObservationGuard(PhantomData<*const ()>);

/// Mark this thread as one that runs an observation callback. Marks nest.
pub(crate) fn enter_observation() -> ObservationGuard {
    DEPTH.with(|depth| depth.set(depth.get() + 1));
    ObservationGuard(PhantomData)
}

impl Drop for ObservationGuard {
    fn drop(&mut self) {
        // A thread that ends has no callback any more, and nothing that asks.
        let _ = DEPTH.try_with(|depth| depth.set(depth.get() - 1));
    }
}

/// Refuse a close that blocks, inside an observation callback.
///
/// # Errors
///
/// `reentrant_observation_close`.
pub(crate) fn refuse_reentrant_close() -> QueryResult {
    if DEPTH.try_with(Cell::get).unwrap_or(0) == 0 {
        return Ok(());
    }
    let message =
        "an observation callback cannot wait for a close, which waits for it; call `close` here, wait elsewhere";
    Err(QueryError::new(QueryErrorCode::Internal, operation::CLOSE, message).with_reason("reentrant_observation_close"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::thread;

    /// B-139, B-140.
    #[test]
    fn a_thread_is_refused_exactly_while_it_is_inside() {
        assert!(refuse_reentrant_close().is_ok());
        let outer = enter_observation();
        drop(enter_observation());
        let error = refuse_reentrant_close().unwrap_err();
        assert_eq!((error.code(), error.reason()), (QueryErrorCode::Internal, Some("reentrant_observation_close")));
        assert!(thread::spawn(refuse_reentrant_close).join().unwrap().is_ok(), "the guard is its thread's own");
        drop(outer);
        assert!(refuse_reentrant_close().is_ok());
    }

    /// B-139: a callback that panics leaves nothing behind.
    #[test]
    fn a_panic_leaves_no_mark() {
        let panicked = std::panic::catch_unwind(|| {
            let _inside = enter_observation();
            panic!("a callback's mistake");
        });
        assert!(panicked.is_err() && refuse_reentrant_close().is_ok());
    }
}
