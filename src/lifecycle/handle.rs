//! What the holder of an admitted attempt works with: the handle, and the context on a lane and exclusive streams.

use std::future::Future;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use bytemuck::NoUninit;

use crate::caps::{Caps, DeviceInfo};
use crate::clock::Deadline;
use crate::device::{Buffer, Capture, Done, Graph, Stream};
use crate::error::{Result, ServerError};
use crate::kernel::{Kernel, KernelSource};
use crate::lifecycle::admitted::{Admitted, over};
use crate::lifecycle::cache::CacheEntry;
use crate::lifecycle::error::{QueryError, QueryErrorCode, QueryResult, native_error, operation};
use crate::lifecycle::io::{SourceRead, SourceWork, read_source};
use crate::lifecycle::pool::PoolJob;
use crate::memory::Account;
use crate::server::CaptureOptions;
use crate::sync::Arc;

/// An admitted attempt. Dropping it releases nothing: the grant is the attempt's, and goes when that ends (B-104).
#[derive(Debug)]
pub struct QueryHandle {
    admitted: Arc<Admitted>,
    /// The attempt of an admission for tests, which this handle can end itself.
    #[cfg(any(test, feature = "test-hooks"))]
    own: Option<crate::lifecycle::attempt::owner::AttemptBegin>,
}

impl QueryHandle {
    pub(crate) fn new(admitted: Arc<Admitted>) -> Self {
        Self {
            admitted,
            #[cfg(any(test, feature = "test-hooks"))]
            own: None,
        }
    }

    /// The attempt.
    pub fn attempt_id(&self) -> u64 {
        self.admitted.attempt()
    }

    /// The device that it is placed on.
    pub fn device_ordinal(&self) -> usize {
        self.admitted.ordinal()
    }

    /// The grant: the most bytes of device memory that the attempt may hold at once.
    pub fn granted_bytes(&self) -> u64 {
        self.admitted.bytes()
    }

    /// Whether the attempt has ended.
    pub fn is_over(&self) -> bool {
        self.admitted.is_over()
    }

    /// The attempt's context, on its lane and its streams. One at a time; dropping it schedules its cleanup.
    ///
    /// # Errors
    ///
    /// `backend_closing` once the attempt has ended, `context_in_use` while the context is taken or cleaned up.
    pub fn acquire_context(&self) -> QueryResult<QueryContext> {
        let means = self.admitted.take_context()?;
        let mut streams = means.streams.iter().map(|id| means.device.stream_of(*id));
        let root = streams.next().expect("a set of streams has a root");
        let auxiliary = streams.collect();
        let (account, lane) = (means.account, means.lane);
        Ok(QueryContext { admitted: self.admitted.clone(), root, auxiliary, account, lane })
    }

    #[cfg(any(test, feature = "test-hooks"))]
    pub(crate) fn with_attempt(self, begin: crate::lifecycle::attempt::owner::AttemptBegin) -> Self {
        Self { own: Some(begin), ..self }
    }

    /// The attempt that came with this handle, for tests: `None` for one that was begun on its own.
    #[cfg(any(test, feature = "test-hooks"))]
    pub fn take_attempt(&mut self) -> Option<crate::lifecycle::attempt::owner::AttemptBegin> {
        self.own.take()
    }
}

/// An attempt's place on its device. Work of the attempt goes to its own streams; memory is paid by its grant.
///
/// Buffers, streams and graphs that outlive the attempt are refused with `Closed`: its memory is given back when it ends.
#[derive(Debug)]
pub struct QueryContext {
    admitted: Arc<Admitted>,
    root: Stream,
    auxiliary: Vec<Stream>,
    account: Account,
    lane: usize,
}

impl QueryContext {
    fn check(&self) -> Result<()> {
        if self.admitted.is_over() {
            let what = format!("attempt {}", self.admitted.attempt());
            return Err(ServerError::closed(what, crate::device::ATTEMPT_ENDED));
        }
        Ok(())
    }

    /// The device's number within the backend.
    pub fn device_ordinal(&self) -> usize {
        self.admitted.ordinal()
    }

    /// The lane that the attempt executes in.
    pub fn lane(&self) -> usize {
        self.lane
    }

    /// Who the device is.
    pub fn info(&self) -> &DeviceInfo {
        self.root.device().info()
    }

    /// What the device can do.
    pub fn caps(&self) -> &Caps {
        self.root.device().caps()
    }

    /// The attempt's root stream: launches, copies, host writes and reads go through it.
    pub fn stream(&self) -> &Stream {
        &self.root
    }

    /// The attempt's auxiliary streams, one for each of its source works.
    pub fn auxiliary_streams(&self) -> &[Stream] {
        &self.auxiliary
    }

    /// Bytes of the grant that are in use.
    pub fn used_bytes(&self) -> u64 {
        self.account.used()
    }

    /// The most bytes of the grant that were in use at once.
    pub fn peak_bytes(&self) -> u64 {
        self.account.peak()
    }

    /// The account of the grant. Not for callers, whose own charges would hold up the end of the attempt.
    fn account(&self) -> &Account {
        &self.account
    }

    /// Compile a kernel for the device.
    ///
    /// # Errors
    ///
    /// As [`crate::Device::kernel`].
    pub fn kernel(&self, source: impl Into<KernelSource>) -> Result<Kernel> {
        self.root.device().kernel(source)
    }

    /// Reserve `bytes` of device memory, paid by the grant.
    ///
    /// # Errors
    ///
    /// `OutOfMemory` with need, have and limit beyond the grant; `InvalidSize`; `Closed` once the attempt has ended.
    pub fn alloc(&self, bytes: u64) -> Result<Buffer> {
        self.check()?;
        self.root.device().alloc_on(self.root.id(), bytes, self.account())
    }

    /// A new buffer with a copy of `data`, paid by the grant.
    ///
    /// # Errors
    ///
    /// As [`QueryContext::alloc`] and [`Stream::write`].
    pub fn upload<T: NoUninit>(&self, data: &[T]) -> Result<Buffer> {
        let buffer = self.alloc(size_of_val(data) as u64)?;
        self.root.write(&buffer, data)?;
        Ok(buffer)
    }

    /// Record what `closure` asks for, once, as a graph of this attempt: in a window of its root stream, with what the
    /// closure allocates paid by the grant. The graph is destroyed when the attempt ends (B-206).
    ///
    /// # Errors
    ///
    /// As [`crate::Device::capture`]; `Closed` once the attempt has ended.
    pub fn capture<R>(&self, closure: impl FnOnce(&mut Capture) -> Result<R>) -> Result<(Graph, R)> {
        self.capture_with(CaptureOptions::default(), closure)
    }

    /// As [`QueryContext::capture`], with a policy and a label.
    ///
    /// # Errors
    ///
    /// As [`QueryContext::capture`]; `TierRefused`.
    pub fn capture_with<R>(
        &self,
        options: CaptureOptions,
        closure: impl FnOnce(&mut Capture) -> Result<R>,
    ) -> Result<(Graph, R)> {
        self.check()?;
        self.root.device().capture_on(self.root.id(), self.account(), options, closure)
    }

    /// Run a graph on the attempt's root stream.
    ///
    /// # Errors
    ///
    /// As [`Graph::replay`]; `backend_closing` for a graph whose attempt, or for a context whose own, has ended.
    pub fn replay(&self, graph: &Graph) -> QueryResult<Done> {
        if self.admitted.is_over() {
            return Err(over(self.admitted.attempt()));
        }
        graph.replay_on_stream(&self.root).map_err(|error| work_error("a replay", &error))
    }

    /// Block until all work of the attempt's root stream is done, for at most `timeout`.
    ///
    /// # Errors
    ///
    /// As [`Stream::sync_for`].
    pub fn sync_for(&self, timeout: Duration) -> Result<()> {
        self.root.sync_for(timeout)
    }

    /// Run `job` to its end on a worker of the device's execution pool.
    ///
    /// # Errors
    ///
    /// `execution_pool_closed`.
    pub fn spawn(&self, job: impl Future<Output = ()> + Send + 'static) -> QueryResult {
        self.admitted.device()?.pool.spawn(PoolJob::Query, job)
    }

    /// Read `range` of a file into `destination` at `offset`, through pinned staging, on auxiliary stream `source`.
    ///
    /// # Errors
    ///
    /// `source_out_of_range` where the attempt has no such stream; what is known at once of the file and the ranges.
    pub fn read_source(
        &self,
        source: usize,
        path: impl AsRef<Path>,
        range: Range<u64>,
        destination: &Buffer,
        offset: u64,
    ) -> QueryResult<SourceWork> {
        let stream = self.auxiliary.get(source).ok_or_else(|| {
            let have = self.auxiliary.len();
            let message = format!("the attempt has {have} source works, and {source} is none of them; count from 0");
            QueryError::new(QueryErrorCode::InvalidConfiguration, operation::ATTEMPT, message)
                .with_reason("source_out_of_range")
                .with_fact("source_work_per_attempt", have)
        })?;
        let read = SourceRead::new(path.as_ref(), range);
        let policy = self.admitted.device()?.source_policy;
        read_source(self.root.device(), stream.id(), read, destination, offset, policy)
    }

    /// A buffer of `bytes` of the device's resident cache, which outlives attempts: filled by `load` unless it is there. The
    /// entry stays while a handle on it lives.
    ///
    /// # Errors
    ///
    /// As the cache answers: `resident_cache_full` when entries in use leave no room, and what `load` answers.
    pub fn cached(&self, key: &str, bytes: u64, load: impl FnOnce(&Buffer) -> Result<()>) -> QueryResult<CacheEntry> {
        self.admitted.device()?.cache.get_or_load(key, bytes, load)
    }

    /// The moment `timeout` from now on the device's clock.
    pub fn deadline_in(&self, timeout: Duration) -> Deadline {
        self.root.device().clock().deadline_in(timeout)
    }
}

impl Drop for QueryContext {
    fn drop(&mut self) {
        // In a process that ends, a lock may belong to a thread that is gone.
        if !crate::process::is_ending() {
            self.admitted.return_context();
        }
    }
}

/// A failure of an attempt's work in the facade's terms: what was closed under it is the end of the attempt.
pub(crate) fn work_error(context: &str, error: &ServerError) -> QueryError {
    let native = native_error(operation::ATTEMPT, context, error);
    if error.is_closed() {
        return native.with_code(QueryErrorCode::Cancelled).with_reason("backend_closing");
    }
    let reason = if error.is_device_lost() { "device_lost" } else { "native_failure" };
    native.with_reason(reason)
}

impl From<ServerError> for QueryError {
    /// A failure of an attempt's work, for its report.
    fn from(error: ServerError) -> Self {
        work_error("the work of an attempt", &error)
    }
}
