//! The order of graph calls, once for all servers (C-69 to C-74): the machine moves first, then the server's own
//! work runs, and whatever fails there leaves the slot idle and usable.

use std::time::Duration;

use super::{CaptureEnd, StreamCapture};
use crate::book::Book;
use crate::clock::Tick;
use crate::error::{GraphOp, GraphRule, GraphState, Result, ServerError};
use crate::memory::{Access, BufferBinding};
use crate::op::Bytes;
use crate::recording::{Recorded, RecordingBuilder};
use crate::server::{CaptureOptions, Sealed};
use crate::stream::{SlotIndex, StreamId};
use crate::sync::Arc;
use crate::taint::Coverage;

/// One slot's window: the state machine, and the recording that goes with it.
#[derive(Default)]
pub struct Window {
    /// The machine.
    pub capture: StreamCapture,
    /// What the window has recorded; present while it records.
    pub recording: Option<RecordingBuilder>,
    /// What `graph_prepare` was told.
    pub options: CaptureOptions,
    /// When recording began.
    pub begun: Option<Tick>,
    /// Whether no other stream folds on the slot.
    pub exclusive: bool,
    /// What the recording has wholly written so far.
    pub(crate) written: Coverage,
}

/// What a server supplies around the machine. The functions of this module call it, in the order of C-69 to C-74.
pub trait WindowHost {
    /// A closed driver capture or recorder, not yet a graph.
    type Closed;

    /// The device's book.
    fn book(&mut self) -> &mut Book;

    /// Start priming, and keep every cache entry from now on. Undone by `end_priming` and `window_closed`, also when it
    /// fails half way.
    ///
    /// # Errors
    ///
    /// What the server cannot do; the window is dropped then.
    fn arm(&mut self, slot: SlotIndex) -> Result<()>;

    /// Stop priming. May be called when nothing primes.
    fn end_priming(&mut self, slot: SlotIndex);

    /// The window is closed, however it was: caches may evict again, primed memory that no graph pinned returns.
    fn window_closed(&mut self, slot: SlotIndex);

    /// Hand queued work and dropped memory to the device, before the driver records.
    ///
    /// # Errors
    ///
    /// What the driver answers; the window is dropped then.
    fn flush_before_window(&mut self, slot: SlotIndex) -> Result<()>;

    /// Open the driver's capture, or the recorder.
    ///
    /// # Errors
    ///
    /// What the driver answers; the window is dropped then, and nothing is open.
    fn open_window(&mut self, slot: SlotIndex) -> Result<()>;

    /// Close the driver's capture, or the recorder; called however the window ends, from any thread (C-94).
    ///
    /// # Errors
    ///
    /// What the driver answers; nothing is open then either.
    fn close_window(&mut self, slot: SlotIndex) -> Result<Self::Closed>;

    /// Make a graph, which takes over claims and host bytes.
    ///
    /// # Errors
    ///
    /// Why there is none; the claims are tainted with it by the caller.
    fn seal(&mut self, slot: SlotIndex, closed: Self::Closed, parts: SealParts) -> Result<Sealed>;

    /// Destroy what a window without a graph left.
    fn discard(&mut self, slot: SlotIndex, closed: Self::Closed);

    /// Run what was deferred to the window's end, in order, each waiter getting its own outcome (C-61).
    fn run_deferred(&mut self, slot: SlotIndex);
}

/// What a sealed graph takes over.
#[derive(Clone)]
pub struct SealParts {
    /// The recording, with the live handles of its numbers.
    pub recorded: Recorded,
    /// Every distinct claim once, in order of its key.
    pub claims: Vec<(BufferBinding, Access)>,
    /// Host bytes that recorded copies read at every replay.
    pub host: Vec<Bytes>,
    /// What `graph_prepare` was told.
    pub options: CaptureOptions,
    /// Whether no other stream folds on the slot.
    pub exclusive: bool,
    /// Time from `begin_capture` to `end_capture`.
    pub record_time: Duration,
}

/// What a window held when it closed.
struct Taken {
    failure: Option<ServerError>,
    claims: Vec<(BufferBinding, Access)>,
    host: Vec<Bytes>,
    recording: Option<RecordingBuilder>,
    options: CaptureOptions,
    exclusive: bool,
    record_time: Duration,
}

impl Window {
    /// The window of a slot on which streams fold.
    pub fn shared() -> Self {
        Self::default()
    }

    /// The window of a slot that is one stream's alone.
    pub fn exclusive() -> Self {
        Self { exclusive: true, ..Self::default() }
    }

    fn take(&mut self, now: Tick) -> Taken {
        self.written.clear();
        Taken {
            failure: self.capture.take_failure(),
            claims: self.capture.take_recorded(),
            host: self.capture.take_retained_host(),
            recording: self.recording.take(),
            options: std::mem::take(&mut self.options),
            exclusive: self.exclusive,
            record_time: self.begun.take().map_or(Duration::ZERO, |begun| now.0.saturating_sub(begun.0)),
        }
    }
}

/// Open a window for `stream` (C-69). A rejected call does nothing else.
///
/// # Errors
///
/// [`ServerError::GraphState`] when a window is active on the slot; what arming answers, the window being dropped then.
pub fn graph_prepare(host: &mut impl WindowHost, stream: StreamId, options: CaptureOptions) -> Result<()> {
    let slot = host.book().slots().index_of(stream);
    let window = host.book().window(slot);
    window.capture.prepare(stream).map_err(|error| at_slot(error, slot))?;
    window.options = options;
    if let Err(error) = host.arm(slot) {
        host.end_priming(slot);
        host.book().window(slot).capture.abort();
        host.window_closed(slot);
        return Err(error);
    }
    Ok(())
}

/// Start recording in the window that `stream` prepared (C-70). A rejected call does nothing else: a flush could kill a
/// capture that is live on the slot.
///
/// # Errors
///
/// [`ServerError::GraphState`] when the stream has no prepared window (QC-1); what the flush or the driver answers, the
/// window being dropped then.
pub fn begin_capture(host: &mut impl WindowHost, stream: StreamId) -> Result<()> {
    let slot = host.book().slots().index_of(stream);
    let capture = &mut host.book().window(slot).capture;
    if !capture.is_recording() && capture.owner().is_some_and(|owner| owner != stream) {
        return Err(not_owner(GraphOp::Begin, capture, stream, slot));
    }
    capture.begin().map_err(|error| at_slot(error, slot))?;
    host.end_priming(slot);
    let opened = host.flush_before_window(slot).and_then(|()| host.open_window(slot));
    let now = host.book().now();
    let window = host.book().window(slot);
    match opened {
        Ok(()) => {
            window.written.clear();
            window.recording = Some(RecordingBuilder::new(window.options.label.clone()));
            window.begun = Some(now);
        }
        Err(_) => {
            window.capture.abort();
            host.window_closed(slot);
            host.run_deferred(slot);
        }
    }
    opened
}

/// Close the recording window of the slot in all cases, and seal it where the table of C-71 says so.
///
/// # Errors
///
/// As that table says; where there is no graph, what the window would have written is tainted with the error.
pub fn end_capture(host: &mut impl WindowHost, stream: StreamId) -> Result<Sealed> {
    let slot = host.book().slots().index_of(stream);
    let end = host.book().window(slot).capture.end(stream).map_err(|error| at_slot(error, slot))?;
    let taken = take(host, slot);
    let closed = host.close_window(slot);
    // A driver's copy nodes point into these bytes, and a failed seal may destroy its graph late (C-54).
    let kept = taken.host.clone();
    let claims = taken.claims.clone();
    let sealed = decide(host, Ending { slot, caller: stream, end }, taken, closed);
    if let Err(error) = &sealed {
        host.book().taint_claims(&claims, error);
    }
    host.window_closed(slot);
    host.run_deferred(slot);
    drop(kept);
    sealed
}

/// Drop the window of the slot: its owner in any state, anybody while it is only prepared (QC-4). What a recording window
/// would have written is tainted, since none of it ran.
///
/// # Errors
///
/// [`ServerError::GraphState`] when another stream than the owner would drop a recording window.
pub fn graph_abort(host: &mut impl WindowHost, stream: StreamId) -> Result<()> {
    let slot = host.book().slots().index_of(stream);
    let capture = &mut host.book().window(slot).capture;
    if capture.is_recording() && capture.owner() != Some(stream) {
        return Err(not_owner(GraphOp::Abort, capture, stream, slot));
    }
    if !capture.is_active() {
        capture.abort();
        return Ok(());
    }
    let rule =
        GraphRule::Other("the window was aborted, so nothing of what it recorded ran; capture it again".to_owned());
    let cause = GraphState::new(GraphOp::Abort, rule).owner(capture.owner()).slot(slot.0).into();
    drop_window(host, slot, &cause);
    Ok(())
}

/// Give a leased exclusive stream back; its window, if it has one, is dropped. Anything else is ignored.
pub fn return_stream(host: &mut impl WindowHost, stream: StreamId) {
    if stream.exclusive_index().is_none() {
        return;
    }
    let status = host.book().status(stream);
    // Only its own: a number that is not leased folds, and the window there may be another stream's.
    if status.active
        && status.owner == Some(stream)
        && let Err(error) = graph_abort(host, stream)
    {
        tracing::warn!(%error, "the window of a returned stream could not be dropped");
    }
    host.book().slots_mut().return_exclusive(stream);
}

/// Drop every active window, since the device is closed or lost (C-74).
pub fn teardown(host: &mut impl WindowHost, cause: &ServerError) {
    let slots = host.book().slots().iter();
    let active: Vec<_> = slots.filter(|(_, window)| window.capture.is_active()).map(|(slot, _)| slot).collect();
    for slot in active {
        drop_window(host, slot, cause);
    }
}

/// Drop an active window without a report: what doomed it, else `cause`, taints its claims.
fn drop_window(host: &mut impl WindowHost, slot: SlotIndex, cause: &ServerError) {
    let recording = host.book().window(slot).capture.is_recording();
    // Taken first: abort drops the host bytes, and the driver's graph has to go before them (C-54).
    let mut taken = take(host, slot);
    host.book().window(slot).capture.abort();
    let failed = taken.failure.take();
    if recording {
        match host.close_window(slot) {
            Ok(closed) => host.discard(slot, closed),
            Err(error) => tracing::warn!(slot = slot.0, %error, "closing a dropped window failed"),
        }
    } else {
        host.end_priming(slot);
    }
    host.book().taint_claims(&taken.claims, failed.as_ref().unwrap_or(cause));
    host.window_closed(slot);
    host.run_deferred(slot);
}

/// Which window ended, and by whom.
struct Ending {
    slot: SlotIndex,
    caller: StreamId,
    end: CaptureEnd,
}

/// The table of C-71: seal, or discard and say why.
fn decide<H: WindowHost>(host: &mut H, ending: Ending, taken: Taken, closed: Result<H::Closed>) -> Result<Sealed> {
    let Ending { slot, caller, end } = ending;
    let (closed, close_error) = match closed {
        Ok(closed) => (Some(closed), None),
        Err(error) => (None, Some(error)),
    };
    // The doom failure came first, so it is told first (C-72).
    let failure = match (taken.failure, close_error) {
        (Some(doomed), Some(error)) => Some(ServerError::several(vec![doomed, error])),
        (doomed, error) => doomed.or(error),
    };
    let failure = if end.is_abandoned() { Some(end.abandoned_error(caller, failure)) } else { failure };
    let recording = taken.recording.filter(|recording| !recording.is_empty());
    match (closed, failure, recording) {
        (Some(closed), None, Some(recording)) => {
            let parts = SealParts {
                recorded: recording.finish(),
                claims: taken.claims,
                host: taken.host,
                options: taken.options,
                exclusive: taken.exclusive,
                record_time: taken.record_time,
            };
            host.seal(slot, closed, parts)
        }
        (closed, failure, _) => {
            if let Some(closed) = closed {
                host.discard(slot, closed);
            }
            Err(failure.unwrap_or_else(|| {
                let empty = GraphState::new(GraphOp::End, GraphRule::EmptyCapture);
                empty.owner(Some(end.owner())).slot(slot.0).into()
            }))
        }
    }
}

fn take(host: &mut impl WindowHost, slot: SlotIndex) -> Taken {
    let book = host.book();
    let now = book.now();
    book.window(slot).take(now)
}

fn not_owner(call: GraphOp, capture: &StreamCapture, caller: StreamId, slot: SlotIndex) -> ServerError {
    GraphState::new(call, GraphRule::NotOwner).owner(capture.owner()).caller(caller).slot(slot.0).into()
}

/// Name the slot in a rejection of the machine, which knows no slots.
fn at_slot(error: ServerError, slot: SlotIndex) -> ServerError {
    match error {
        ServerError::GraphState(state) => match Arc::try_unwrap(state) {
            Ok(state) => state.slot(slot.0).into(),
            Err(shared) => ServerError::GraphState(shared),
        },
        other => other,
    }
}

#[cfg(test)]
mod tests;
