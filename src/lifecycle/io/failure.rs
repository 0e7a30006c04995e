//! Why a read ended without its bytes: for its caller, and as the cause that its destination keeps.

use std::fmt;
use std::io;
use std::ops::Range;

use crate::error::ServerError;
use crate::lifecycle::error::{QueryError, QueryErrorCode, native_error, operation};

/// One failure in both terms.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    /// For the caller.
    pub(super) error: Box<QueryError>,
    /// For the bytes that were not written.
    pub(super) cause: ServerError,
}

impl Failure {
    fn new(code: QueryErrorCode, reason: &'static str, path: &str, problem: &str) -> Self {
        let error = QueryError::new(code, operation::SOURCE, format!("{path}: {problem}"));
        let cause = ServerError::SourceFailed { path: path.into(), problem: problem.into() };
        Self { error: Box::new(error.with_reason(reason).with_fact("path", path)), cause }
    }

    /// The same with another fact.
    fn with_fact(self, key: &'static str, value: impl fmt::Display) -> Self {
        Self { error: Box::new(self.error.with_fact(key, value)), ..self }
    }

    /// The system does not let the file be read: at its opening, or later.
    pub(super) fn unreadable(path: &str, doing: &str, error: &io::Error) -> Self {
        let code = match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => QueryErrorCode::InvalidConfiguration,
            _ => QueryErrorCode::Internal,
        };
        let problem = format!("{doing} failed: {error}; see that the file is there and can be read");
        Self::new(code, "source_unreadable", path, &problem).with_fact("io_error", error.kind())
    }

    /// It has no bytes at positions.
    pub(super) fn not_a_file(path: &str) -> Self {
        let problem = "it is no regular file, so it cannot be read at a position; copy it to one";
        Self::new(QueryErrorCode::InvalidConfiguration, "source_unreadable", path, problem)
    }

    /// It ends before the range does.
    pub(super) fn too_short(path: &str, range: &Range<u64>, bytes: u64) -> Self {
        let (start, end) = (range.start, range.end);
        let problem = format!("bytes {start}..{end} were asked for, and it has {bytes}; ask for less of it");
        Self::new(QueryErrorCode::InvalidConfiguration, "source_too_short", path, &problem)
            .with_fact("range_end", end)
            .with_fact("file_bytes", bytes)
    }

    /// The caller gave up.
    pub(super) fn cancelled(path: &str) -> Self {
        let problem = "the read was cancelled, or its handle dropped; read it again";
        Self::new(QueryErrorCode::Cancelled, "source_cancelled", path, problem)
    }

    /// The process ends.
    pub(super) fn ending(path: &str) -> Self {
        Self::new(QueryErrorCode::Cancelled, "source_cancelled", path, "the process is ending, and reads nothing more")
    }

    /// A bug of ours, or of the backend.
    pub(super) fn broken(path: &str) -> Self {
        Self::new(
            QueryErrorCode::Internal,
            "source_failed",
            path,
            "reading it panicked; report it with the panic's text",
        )
    }

    /// The device did not take the bytes.
    pub(super) fn native(path: &str, error: &ServerError) -> Self {
        let told = native_error(operation::SOURCE, path, error).with_reason("source_failed").with_fact("path", path);
        Self { error: Box::new(told), cause: error.clone() }
    }

    /// What was asked for does not fit.
    pub(super) fn out_of_range(path: &str, problem: &str) -> Self {
        Self::new(QueryErrorCode::InvalidConfiguration, "out_of_range", path, problem)
    }

    /// No byte was asked for.
    pub(super) fn zero(path: &str, at: u64) -> Self {
        let problem = format!("bytes {at}..{at} are none; ask for at least one");
        Self::new(QueryErrorCode::InvalidConfiguration, "zero", path, &problem)
    }

    /// Too many reads are under way.
    pub(super) fn too_many(path: &str, max: usize) -> Self {
        let problem = format!("{max} reads are under way already; wait for one of them");
        Self::new(QueryErrorCode::ServiceOverloaded, "source_queue_full", path, &problem)
    }

    /// A caller's deadline came first. The read goes on.
    pub(super) fn elapsed(path: &str) -> QueryError {
        let problem = "the read was not done by the deadline; it goes on, wait again";
        *Self::new(QueryErrorCode::ServiceOverloaded, "source_wait_elapsed", path, problem).error
    }
}
