//! One device's exclusive streams: as many as its attempts can have at once, kept for as long as the pool, so that an admitted
//! attempt never waits for one. A stream that is given back is not handed out again before it is idle.

mod revoked;

use std::collections::VecDeque;
use std::fmt;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use crate::device::{Device, Stream};
use crate::error::ServerError;
use crate::lifecycle::error::{QueryError, QueryErrorCode, QueryResult, native_error, operation};
use crate::server::WaitMode;
use crate::stream::StreamId;
use crate::sync::{Arc, Condvar, Mutex, thread};
use crate::ticket::Ticket;

pub(crate) use revoked::{RevokedStreams, WindowAbort};

/// A stream that cannot be waited for this many times in a row is poisoned: one failure alone may be an old fault that was
/// told to whoever asked first.
const STICKY_FAILURES: u32 = 2;

/// How long a checkout looks at streams that have been given back, before there are too few: one whose work was waited for is
/// known to be idle only when the device has passed a mark behind that.
const SETTLE_MAX: Duration = Duration::from_millis(2);

/// Pauses between looks of a close at work that is not done.
const PAUSE_MIN: Duration = Duration::from_micros(50);
const PAUSE_MAX: Duration = Duration::from_millis(2);

/// The streams of one device. Clones share them; the last one's drop gives them back to the device.
#[derive(Clone)]
pub struct ServiceStreamPool(Arc<Shared>);

/// One pool at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamPoolReport {
    /// The device.
    pub device_ordinal: usize,
    /// All streams.
    pub size: usize,
    /// Idle, and nobody's.
    pub free: usize,
    /// With an attempt.
    pub checked_out: usize,
    /// Given back with work that is not known to be done.
    pub draining: usize,
    /// Out of use, since they could not be waited for.
    pub retired: usize,
    /// Times that streams were handed out.
    pub checkouts: u64,
    /// Times that there were too few.
    pub exhausted: u64,
    /// Windows that were open on a stream that was given back.
    pub windows_aborted: u64,
    /// Whether it hands out no more.
    pub closed: bool,
}

struct Shared {
    device: Device,
    device_ordinal: usize,
    size: usize,
    state: Mutex<State>,
    /// Held over a look at what is draining, so that nobody finds fewer streams than there are.
    looking: Mutex<()>,
    /// A stream was given back.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    free: VecDeque<StreamId>,
    draining: Vec<Draining>,
    retired: Vec<(StreamId, ServerError)>,
    checked_out: usize,
    checkouts: u64,
    exhausted: u64,
    windows_aborted: u64,
    closed: bool,
    /// The slots are the device's again.
    given_back: bool,
}

/// A stream that somebody gave back, with what tells of its end.
struct Draining {
    stream: StreamId,
    ticket: Option<Ticket<()>>,
    failures: u32,
}

impl Draining {
    fn new(stream: StreamId) -> Self {
        Self { stream, ticket: None, failures: 0 }
    }
}

/// What a look at a draining stream found.
enum Look {
    Idle,
    Busy(Draining),
    Poisoned(ServerError),
}

impl State {
    /// Every stream is here, and goes to the device: those that could not be waited for are no obstacle where nothing can run
    /// any more.
    fn end(&mut self, device_ordinal: usize, operation: &'static str) -> QueryResult<Vec<StreamId>> {
        if let Some((stream, error)) = self.retired.iter().find(|(_, error)| !is_over(error)) {
            let context = format!("device {device_ordinal}: {stream:?} could not be waited for");
            return Err(native_error(operation, &context, error)
                .with_reason("stream_not_drained")
                .with_fact("device_ordinal", device_ordinal));
        }
        self.given_back = true;
        Ok(self.all())
    }

    /// Those that nobody has.
    fn all(&self) -> Vec<StreamId> {
        let retired = self.retired.iter().map(|(stream, _)| *stream);
        let draining = self.draining.iter().map(|draining| draining.stream);
        self.free.iter().copied().chain(retired).chain(draining).collect()
    }
}

impl ServiceStreamPool {
    /// Lease `size` exclusive streams of the device for as long as the pool lives (B-173, B-204).
    ///
    /// # Errors
    ///
    /// `stream_pool_slots_missing` when the device does not give as many; none is kept then.
    pub fn install(device: &Device, device_ordinal: usize, size: usize) -> QueryResult<Self> {
        let leased = device.with_contract(|server| {
            let streams: Vec<StreamId> = std::iter::from_fn(|| server.lease_stream()).take(size).collect();
            if streams.len() < size {
                streams.iter().for_each(|stream| server.return_stream(*stream));
                return Err(streams.len());
            }
            Ok(streams)
        });
        let streams = leased.map_err(|found| {
            let message = format!(
                "device {device_ordinal} gave {found} of the {size} exclusive streams of its pool; raise \
                 Config::max_exclusive_streams"
            );
            QueryError::new(QueryErrorCode::Internal, operation::BUILD, message)
                .with_reason("stream_pool_slots_missing")
                .with_fact("device_ordinal", device_ordinal)
        })?;
        let free = streams.into_iter().map(|stream| device.next_turn(stream)).collect();
        let state = Mutex::new(State { free, ..State::default() });
        let (device, looking, changed) = (device.clone(), Mutex::new(()), Condvar::new());
        Ok(Self(Arc::new(Shared { device, device_ordinal, size, state, looking, changed })))
    }

    /// Hand out `count` idle streams. Admission sees to it that there are as many, so nothing is waited for: what was given back
    /// is looked at for two milliseconds, no longer.
    ///
    /// # Errors
    ///
    /// `backend_closing` once the pool is closed; `stream_pool_exhausted` when fewer are idle.
    pub fn checkout(&self, count: NonZeroUsize) -> QueryResult<StreamSet> {
        let shared = &self.0;
        let settled = Instant::now() + SETTLE_MAX;
        loop {
            if let Some(set) = shared.take(count)? {
                return Ok(set);
            }
            let hopeless = shared.is_hopeless(count);
            if hopeless || Instant::now() >= settled {
                break;
            }
            shared.look();
            thread::yield_now();
        }
        let (free, draining, retired) = {
            let mut state = shared.state.lock();
            state.exhausted += 1;
            (state.free.len(), state.draining.len(), state.retired.len())
        };
        let message = format!(
            "device {}: {count} streams are needed and {free} are idle; try again when an attempt's work has ended",
            shared.device_ordinal
        );
        Err(QueryError::new(QueryErrorCode::ServiceOverloaded, operation::RESOURCE, message)
            .with_reason("stream_pool_exhausted")
            .with_fact("device_ordinal", shared.device_ordinal)
            .with_fact("draining", draining)
            .with_fact("retired", retired))
    }

    /// Hand out no more, and wait until every stream was given back and is idle; then the device has them again (B-173). May
    /// be called again and again.
    ///
    /// # Errors
    ///
    /// A cleanup deadline when `deadline` comes first. `stream_not_drained` for a stream that the device, which is there,
    /// does not let be waited for: what runs on it is unknown.
    pub fn close_and_wait_until(&self, deadline: Instant, operation: &'static str) -> QueryResult {
        let shared = &self.0;
        shared.begin_close();
        let mut pause = PAUSE_MIN;
        loop {
            shared.look();
            let mut state = shared.state.lock();
            if state.given_back {
                return Ok(());
            }
            if state.free.len() + state.retired.len() == shared.size {
                let streams = state.end(shared.device_ordinal, operation)?;
                drop(state);
                shared.return_slots(&streams);
                return Ok(());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(QueryError::cleanup_deadline(operation)
                    .with_fact("device_ordinal", shared.device_ordinal)
                    .with_fact("checked_out", state.checked_out)
                    .with_fact("draining", state.draining.len()));
            }
            drop(shared.changed.wait_timeout(state, pause.min(left)));
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// The pool now.
    pub fn report(&self) -> StreamPoolReport {
        let shared = &self.0;
        let state = shared.state.lock();
        StreamPoolReport {
            device_ordinal: shared.device_ordinal,
            size: shared.size,
            free: state.free.len(),
            checked_out: state.checked_out,
            draining: state.draining.len(),
            retired: state.retired.len(),
            checkouts: state.checkouts,
            exhausted: state.exhausted,
            windows_aborted: state.windows_aborted,
            closed: state.closed,
        }
    }
}

impl fmt::Debug for ServiceStreamPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServiceStreamPool").field(&self.report()).finish()
    }
}

impl Shared {
    /// `count` of the free ones, if there are as many.
    fn take(self: &Arc<Self>, count: NonZeroUsize) -> QueryResult<Option<StreamSet>> {
        let taken: Vec<StreamId> = {
            let mut state = self.state.lock();
            if state.closed {
                let message = format!("device {}: its streams are closed; build a new backend", self.device_ordinal);
                return Err(QueryError::new(QueryErrorCode::Cancelled, operation::RESOURCE, message)
                    .with_reason("backend_closing")
                    .with_fact("device_ordinal", self.device_ordinal));
            }
            if state.free.len() < count.get() {
                return Ok(None);
            }
            state.checked_out += count.get();
            state.checkouts += 1;
            state.free.drain(..count.get()).collect()
        };
        let mut streams = taken.into_iter().map(|stream| self.device.stream_of(stream));
        let root = streams.next().expect("the count is not zero");
        Ok(Some(StreamSet { root, auxiliary: streams.collect(), pool: self.clone(), idle: Vec::new() }))
    }

    /// Whether there are too few even if all that was given back were idle.
    fn is_hopeless(&self, count: NonZeroUsize) -> bool {
        let _alone = self.looking.lock();
        let state = self.state.lock();
        state.free.len() + state.draining.len() < count.get()
    }

    /// Put what has become idle among the free, and what is poisoned out of use.
    fn look(&self) {
        let _alone = self.looking.lock();
        let draining = std::mem::take(&mut self.state.lock().draining);
        for stream in draining {
            self.place(stream);
        }
    }

    /// Where a stream belongs that nobody has.
    fn place(&self, draining: Draining) {
        let stream = draining.stream;
        let look = self.look_at(draining);
        let mut state = self.state.lock();
        match look {
            Look::Idle => state.free.push_back(stream),
            Look::Busy(draining) => state.draining.push(draining),
            Look::Poisoned(error) => {
                tracing::warn!(%error, ?stream, device = self.device_ordinal, "a stream is out of use");
                state.retired.push((stream, error));
            }
        }
    }

    fn look_at(&self, draining: Draining) -> Look {
        let Draining { stream, mut ticket, mut failures } = draining;
        loop {
            let looked = match ticket.take() {
                None => self.device.with_contract(|server| server.sync(stream, WaitMode::Future)).map(Some),
                Some(pending) => match self.device.is_passed(&*pending.fence) {
                    Ok(false) => return Look::Busy(Draining { stream, ticket: Some(pending), failures }),
                    Ok(true) => self.device.with_contract(|server| (pending.finish)(server)).map(|()| None),
                    Err(error) => Err(error),
                },
            };
            match looked {
                Ok(Some(started)) => ticket = Some(started),
                Ok(None) => return Look::Idle,
                Err(error) => {
                    failures += 1;
                    if failures >= STICKY_FAILURES || is_over(&error) {
                        return Look::Poisoned(error);
                    }
                }
            }
        }
    }

    /// An attempt is done with a stream: its window is aborted and its handles are refused from here on (B-205).
    fn give_back(&self, stream: StreamId) {
        let next = self.abort_and_renew(stream);
        {
            let mut state = self.state.lock();
            state.checked_out -= 1;
        }
        // The mark behind its work is set now, so that it is passed when the next attempt comes.
        self.place(Draining::new(next));
        self.changed.notify_all();
    }

    /// As [`Shared::give_back`], in a turn that nobody had, and known to be idle.
    fn give_back_idle(&self, stream: StreamId) {
        {
            let mut state = self.state.lock();
            state.checked_out -= 1;
            state.free.push_back(stream);
        }
        self.changed.notify_all();
    }

    /// The stream in its next turn, with the window aborted that was open on it.
    fn abort_and_renew(&self, stream: StreamId) -> StreamId {
        let open = self.device.with_contract(|server| server.capture_status(stream).active);
        self.state.lock().windows_aborted += u64::from(open);
        self.device.next_turn(stream)
    }

    /// What was poisoned is asked once more: a close has to know that nothing runs.
    fn begin_close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        if !state.given_back {
            let again = std::mem::take(&mut state.retired);
            let again = again.into_iter().map(|(stream, _)| Draining::new(stream));
            state.draining.extend(again);
        }
    }

    fn return_slots(&self, streams: &[StreamId]) {
        self.device.with_contract(|server| streams.iter().for_each(|stream| server.return_stream(*stream)));
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Nobody has a set any more, since a set holds the pool.
        let state = self.state.get_mut();
        if !state.given_back {
            let streams = state.all();
            self.return_slots(&streams);
        }
    }
}

/// Whether the failure says that nothing runs any more: the device is lost, or was closed.
fn is_over(error: &ServerError) -> bool {
    error.is_device_lost() || error.is_closed()
}

/// Streams of one attempt. Its drop gives them back without waiting for their work.
pub struct StreamSet {
    root: Stream,
    auxiliary: Vec<Stream>,
    pool: Arc<Shared>,
    /// Its streams in turns that nobody has a handle of, where they are known to be idle: no new mark has to be passed.
    idle: Vec<StreamId>,
}

impl StreamSet {
    /// The stream of the attempt's own work.
    pub fn root(&self) -> &Stream {
        &self.root
    }

    /// The stream of one source's work.
    pub fn auxiliary(&self, index: usize) -> Option<&Stream> {
        self.auxiliary.get(index)
    }

    /// All of them, the root first.
    pub fn ids(&self) -> impl Iterator<Item = StreamId> {
        std::iter::once(&self.root).chain(&self.auxiliary).map(Stream::id)
    }
}

impl StreamSet {
    /// Refuse the handles that are left, and abort the windows that are open (B-205). The streams stay this set's.
    pub(crate) fn revoke(&self) -> RevokedStreams {
        let next = |stream| self.pool.abort_and_renew(stream);
        let draining = self.ids().map(|stream| Draining::new(next(stream))).collect();
        RevokedStreams { draining, pool: self.pool.clone(), shared: Vec::new(), idle: Vec::new(), failure: None }
    }

    /// What aborts the windows that are open on its streams. It does not keep the streams from being given back.
    pub(crate) fn window_abort(&self) -> WindowAbort {
        WindowAbort { pool: self.pool.clone(), streams: self.ids().collect() }
    }

    /// Give the streams back of an attempt that had no handle of them: they are as they were handed out.
    pub(crate) fn give_back_unused(mut self) {
        self.idle = self.ids().collect();
    }

    /// Give the streams back that `revoked` has seen the end of.
    pub(crate) fn give_back_revoked(mut self, revoked: RevokedStreams) {
        self.idle = revoked.idle;
    }
}

impl fmt::Debug for StreamSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.ids()).finish()
    }
}

impl Drop for StreamSet {
    fn drop(&mut self) {
        for stream in self.ids() {
            match self.idle.iter().find(|idle| idle.exclusive_index() == stream.exclusive_index()) {
                Some(idle) => self.pool.give_back_idle(*idle),
                None => self.pool.give_back(stream),
            }
        }
    }
}
