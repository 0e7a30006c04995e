//! What one run of hand-written work took.

use std::time::Duration;

/// Times of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// Until the work is done.
    pub(crate) total: Duration,
    /// CPU time of the calling thread until then.
    pub(crate) cpu: Option<Duration>,
}
