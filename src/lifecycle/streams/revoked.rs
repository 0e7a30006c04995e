//! What is left of an attempt on its streams as it ends: work to wait for, and windows to abort.

use super::{Draining, Look, Shared};
use crate::error::ServerError;
use crate::stream::StreamId;
use crate::sync::Arc;

/// Streams that their attempt gave up, until their work is done.
pub(crate) struct RevokedStreams {
    pub(super) pool: Arc<Shared>,
    pub(super) draining: Vec<Draining>,
    /// Those of everybody that may run work of the attempt.
    pub(super) shared: Vec<Draining>,
    pub(super) idle: Vec<StreamId>,
    pub(super) failure: Option<ServerError>,
}

/// Aborts the windows of some streams, which stay whoever's they are.
pub(crate) struct WindowAbort {
    pub(super) pool: Arc<Shared>,
    pub(super) streams: Vec<StreamId>,
}

impl WindowAbort {
    /// Abort the windows that are open; the handles stay good.
    pub(crate) fn run(self) {
        for stream in self.streams {
            let aborted = self.pool.device.with_contract(|server| {
                let open = server.capture_status(stream).owner == Some(stream);
                open.then(|| server.graph_abort(stream))
            });
            match aborted {
                None => {}
                Some(Ok(())) => self.pool.state.lock().windows_aborted += 1,
                Some(Err(error)) => tracing::warn!(%error, ?stream, "a window that was left open could not be aborted"),
            }
        }
    }
}

impl RevokedStreams {
    /// Wait for what the streams of everybody have now, too.
    pub(crate) fn with_shared(self) -> Self {
        let shared = self.pool.device.shared_streams().map(Draining::new).collect();
        Self { shared, ..self }
    }

    /// Whether all of their work is done, well or not. Does not block.
    pub(crate) fn is_idle(&mut self) -> bool {
        for draining in std::mem::take(&mut self.shared) {
            match self.pool.look_at(draining) {
                Look::Busy(draining) => self.shared.push(draining),
                // A failure there need not be of this attempt.
                Look::Idle | Look::Poisoned(_) => {}
            }
        }
        for draining in std::mem::take(&mut self.draining) {
            let stream = draining.stream;
            match self.pool.look_at(draining) {
                Look::Idle => self.idle.push(stream),
                Look::Busy(draining) => self.draining.push(draining),
                // The pool takes it out of use when it comes back.
                Look::Poisoned(error) => {
                    self.failure.get_or_insert(error);
                }
            }
        }
        self.draining.is_empty() && self.shared.is_empty()
    }

    /// What could not be waited for, and why.
    pub(crate) fn failure(&self) -> Option<ServerError> {
        self.failure.clone()
    }
}
