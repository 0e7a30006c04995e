//! The one pool of the process. It stays when a backend closes, and another configuration changes its threads only, so that
//! reads under way are never stranded (B-196).

use std::io;
use std::num::NonZeroUsize;

use super::config::{IoPoolMode, IoPoolProcessConfig};
use super::file::READS_AT;
use super::pool::{TurnPool, Work, start};
use crate::lifecycle::error::{QueryError, QueryErrorCode, QueryResult, operation};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Mutex, OnceLock, thread};

/// Reads under way at most; each waits for a turn with as many places as it may run ahead.
pub(super) const READS_MAX: usize = 4096;

/// The pool, with what is in effect.
#[derive(Default)]
pub(super) struct Process {
    pub(super) pool: TurnPool,
    effective: Mutex<Option<IoPoolProcessConfig>>,
    reads: AtomicUsize,
}

/// One of the reads under way.
#[derive(Debug)]
pub(super) struct ReadPermit(&'static AtomicUsize);

impl Drop for ReadPermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The process's own.
pub(super) fn process() -> &'static Process {
    static PROCESS: OnceLock<Process> = OnceLock::new();
    PROCESS.get_or_init(Process::default)
}

/// Set the process-wide pool up, once for each build, before anything reads (B-193, B-195). Reads that are under way keep
/// the size of their pieces and go on with the new number of threads.
///
/// `first_ordinal` is the lowest device of the build, for errors. The answer is what is in effect, the environment having
/// the last word; `None` where this mode does not exist here, which fails nothing.
///
/// # Errors
///
/// `out_of_range` for a setting; `io_pool_unavailable` where the system starts no more threads: the pool is as it was then.
pub fn configure_io_pool_process(
    first_ordinal: usize,
    config: &IoPoolProcessConfig,
) -> QueryResult<Option<IoPoolProcessConfig>> {
    process().configure(config, &start).map_err(|error| error.with_fact("device_ordinal", first_ordinal))
}

/// What is in effect on this machine, in this environment.
fn resolve(config: &IoPoolProcessConfig) -> QueryResult<IoPoolProcessConfig> {
    let parallel = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    config.resolve(|name| std::env::var(name).ok(), parallel)
}

impl Process {
    /// See [`configure_io_pool_process`].
    fn configure(
        &self,
        config: &IoPoolProcessConfig,
        start: &dyn Fn(Work) -> io::Result<()>,
    ) -> QueryResult<Option<IoPoolProcessConfig>> {
        if config.mode == IoPoolMode::Native || !READS_AT {
            return Ok(None);
        }
        let wanted = resolve(config)?;
        // Held over the start of threads: the pool is set up by one caller at a time.
        self.set_up(&mut self.effective.lock(), wanted, start).map(Some)
    }

    fn set_up(
        &self,
        effective: &mut Option<IoPoolProcessConfig>,
        wanted: IoPoolProcessConfig,
        start: &dyn Fn(Work) -> io::Result<()>,
    ) -> QueryResult<IoPoolProcessConfig> {
        let threads = wanted.thread_count.and_then(NonZeroUsize::new).unwrap_or(NonZeroUsize::MIN);
        self.pool.resize(threads, start).map_err(|error| {
            let message =
                format!("{threads} threads for reading could not be had: {error}; lower io_pool.thread_count");
            QueryError::new(QueryErrorCode::Internal, operation::BUILD, message)
                .with_reason("io_pool_unavailable")
                .with_fact("native_message", error)
        })?;
        *effective = Some(wanted);
        Ok(wanted)
    }

    /// What is in effect. A process that has built no backend reads by the default.
    ///
    /// # Errors
    ///
    /// As [`configure_io_pool_process`]; `io_pool_unavailable` where files cannot be read at positions.
    pub(super) fn effective(&self) -> QueryResult<IoPoolProcessConfig> {
        let mut effective = self.effective.lock();
        if let Some(known) = *effective {
            return Ok(known);
        }
        if !READS_AT {
            let message = "files cannot be read at a position on this system; read them whole and write the buffer";
            return Err(QueryError::new(QueryErrorCode::UnsupportedOperation, operation::SOURCE, message)
                .with_reason("io_pool_unavailable"));
        }
        self.set_up(&mut effective, resolve(&IoPoolProcessConfig::DEFAULT)?, &start)
    }

    /// Count one more read; `None` when there are [`READS_MAX`].
    pub(super) fn permit(&'static self) -> Option<ReadPermit> {
        let more = |reads| (reads < READS_MAX).then_some(reads + 1);
        self.reads.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).ok()?;
        Some(ReadPermit(&self.reads))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(threads: usize) -> IoPoolProcessConfig {
        IoPoolProcessConfig { thread_count: Some(threads), ..IoPoolProcessConfig::DEFAULT }
    }

    /// XB-22, B-195: supported.
    #[test]
    fn what_is_in_effect_is_answered() {
        let process = Process::default();
        for threads in [3, 1, 2] {
            assert_eq!(process.configure(&config(threads), &start).unwrap(), Some(config(threads)));
            assert_eq!(process.effective().unwrap(), config(threads));
        }
    }

    /// XB-22, B-195: what does not exist is no failure, and leaves what is in effect.
    #[test]
    fn a_mode_that_does_not_exist_is_no_failure() {
        let native = IoPoolProcessConfig { mode: IoPoolMode::Native, ..IoPoolProcessConfig::DEFAULT };
        assert_eq!(configure_io_pool_process(3, &native).unwrap(), None);
        let process = Process::default();
        assert_eq!(process.configure(&native, &|_| panic!("no thread is wanted")).unwrap(), None);
        assert_eq!(*process.effective.lock(), None);
    }

    /// XB-22, B-195: a failure names the device and what the system said, and leaves what is in effect.
    #[test]
    fn a_failure_names_the_device_and_changes_nothing() {
        let process = Process::default();
        let error = process.configure(&config(2), &|_| Err(io::Error::other("no more threads"))).unwrap_err();
        assert_eq!((error.code(), error.reason()), (QueryErrorCode::Internal, Some("io_pool_unavailable")));
        assert_eq!(error.fact_value("native_message"), Some("no more threads"));
        assert_eq!(*process.effective.lock(), None);
        let error = configure_io_pool_process(7, &config(0)).unwrap_err();
        assert_eq!((error.reason(), error.fact_value("device_ordinal")), (Some("out_of_range"), Some("7")));
    }

    #[test]
    fn reads_under_way_are_bounded() {
        let process: &'static Process = Box::leak(Box::default());
        let mut permits: Vec<_> = (0..READS_MAX).map(|_| process.permit().expect("there is room")).collect();
        assert!(process.permit().is_none());
        permits.pop();
        assert!(process.permit().is_some());
    }
}
