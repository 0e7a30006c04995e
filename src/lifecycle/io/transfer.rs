//! One read: its pieces are begun in order, filled by any thread, and written in order. Each outcome, also a caller's giving
//! up, is decided under the device's lock, so that nothing is written after it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::task::Waker;
use std::time::Duration;

use super::failure::Failure;
use super::file::SourceFile;
use super::pool::{Turn, TurnPool, Turns};
use super::process::ReadPermit;
use crate::clock::Signal;
use crate::device::{Buffer, Device};
use crate::error::{Result, ServerError};
use crate::lifecycle::error::QueryResult;
use crate::staging::Staging;
use crate::stream::StreamId;
use crate::sync::{Arc, Mutex, Weak};

/// How long a turn waits for a device that has too much to do, while others wait for the thread.
const ROOM_WAIT: Duration = Duration::from_millis(20);

/// What a read is, and does not change.
pub(super) struct Plan {
    pub(super) device: Device,
    pub(super) stream: StreamId,
    /// As many bytes as `range`.
    pub(super) dst: Buffer,
    pub(super) file: SourceFile,
    pub(super) range: Range<u64>,
    /// Bytes of a piece.
    pub(super) task_bytes: u64,
    /// Pieces that are begun and not written at most.
    pub(super) window: u64,
    pub(super) pool: TurnPool,
}

/// One read.
pub(super) struct Transfer {
    plan: Plan,
    /// Itself, to wait for more turns.
    me: Weak<Self>,
    state: Mutex<State>,
    settled: Signal,
}

struct State {
    /// Pieces begun and written, each counted from the first.
    begun: u64,
    written: u64,
    written_bytes: u64,
    /// Filled before their turn to be written.
    filled: BTreeMap<u64, Box<dyn Staging>>,
    is_writing: bool,
    /// Turns given up because nothing could be begun before something is written.
    idle: usize,
    /// The caller gives up, and waits for the device's lock to say so.
    is_unwanted: bool,
    outcome: Option<QueryResult>,
    permit: Option<ReadPermit>,
}

/// What became of a piece that was to be written.
enum Written {
    /// It is written, and others are to come.
    Next,
    /// It is written, and was the last.
    Last(Option<ReadPermit>),
    /// The read was over before.
    Over,
}

impl State {
    /// Whether no more pieces are wanted.
    const fn is_over(&self) -> bool {
        self.outcome.is_some() || self.is_unwanted
    }
}

impl Plan {
    fn total(&self) -> u64 {
        self.range.end - self.range.start
    }

    fn pieces(&self) -> u64 {
        self.total().div_ceil(self.task_bytes)
    }

    /// The bytes of a piece, counted from the range's first.
    fn piece(&self, index: u64) -> Range<u64> {
        let start = index * self.task_bytes;
        start..self.total().min(start + self.task_bytes)
    }
}

impl Transfer {
    /// Begin, with at most `threads` turns at once.
    pub(super) fn begin(plan: Plan, permit: ReadPermit, threads: usize) -> Arc<Self> {
        let turns = plan.window.min(plan.pieces()).min(threads as u64);
        let state = State {
            begun: 0,
            written: 0,
            written_bytes: 0,
            filled: BTreeMap::new(),
            is_writing: false,
            idle: 0,
            is_unwanted: false,
            outcome: None,
            permit: Some(permit),
        };
        let transfer =
            Arc::new_cyclic(|me| Self { plan, me: me.clone(), state: Mutex::new(state), settled: Signal::new() });
        for _ in 0..turns {
            transfer.plan.pool.queue(transfer.clone());
        }
        transfer
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Set once the outcome is there.
    pub(super) const fn settled(&self) -> &Signal {
        &self.settled
    }

    /// How it ended, if it has.
    pub(super) fn outcome(&self) -> Option<QueryResult> {
        self.state.lock().outcome.clone()
    }

    /// As [`Transfer::outcome`]; while there is none, `waker` is woken by it.
    pub(super) fn poll(&self, waker: &Waker) -> Option<QueryResult> {
        if self.settled.poll(waker) { self.outcome() } else { None }
    }

    /// Bytes written, and of how many.
    pub(super) fn progress(&self) -> (u64, u64) {
        (self.state.lock().written_bytes, self.plan.total())
    }

    /// End it because nobody wants it any more. Pieces stop at once: they must not keep the device's lock from the caller.
    pub(super) fn give_up(&self) {
        self.state.lock().is_unwanted = true;
        self.fail(Failure::cancelled(self.plan.file.name()));
    }

    /// End it, unless it has ended: all of its destination holds no result then, and nothing is written any more.
    pub(super) fn fail(&self, failure: Failure) {
        let plan = &self.plan;
        let dropped = plan.device.with_contract(|server| {
            let dropped = {
                let mut state = self.state.lock();
                if state.outcome.is_some() {
                    return None;
                }
                state.outcome = Some(Err(*failure.error));
                (std::mem::take(&mut state.filled), state.permit.take())
            };
            if let Err(error) = server.fail_write(plan.stream, plan.dst.binding(), &failure.cause) {
                tracing::debug!(%error, "the destination of a failed read could not be marked");
            }
            Some(dropped)
        });
        if dropped.is_some() {
            self.settled.set();
        }
    }

    /// The next piece to fill; `None` when there is none now.
    fn next(&self) -> Option<u64> {
        let mut state = self.state.lock();
        if state.is_over() || state.begun == self.plan.pieces() {
            return None;
        }
        if state.begun - state.written >= self.plan.window {
            state.idle += 1;
            return None;
        }
        state.begun += 1;
        Some(state.begun - 1)
    }

    /// Read a piece into staging memory, without the device's lock.
    fn fill(&self, index: u64) -> Result<Box<dyn Staging>, Failure> {
        let Plan { device, file, range, .. } = &self.plan;
        let piece = self.plan.piece(index);
        let native = |error: ServerError| Failure::native(file.name(), &error);
        let staged = device.with_contract(|server| server.stage(piece.end - piece.start));
        let mut staged = staged.map_err(native)?;
        file.read(staged.bytes_mut(), range.start + piece.start, range)?;
        Ok(staged)
    }

    /// Keep a filled piece, and write all that are next. One thread at a time does.
    fn write(&self, index: u64, staged: Box<dyn Staging>) {
        {
            let mut state = self.state.lock();
            if state.is_over() {
                return;
            }
            state.filled.insert(index, staged);
            if std::mem::replace(&mut state.is_writing, true) {
                return;
            }
        }
        loop {
            let (index, staged) = {
                let mut state = self.state.lock();
                let index = state.written;
                match state.filled.remove(&index) {
                    Some(staged) => (index, staged),
                    None => {
                        state.is_writing = false;
                        return;
                    }
                }
            };
            match self.write_next(index, staged) {
                Ok(Written::Next) => self.wake_idle(),
                Ok(Written::Last(permit)) => {
                    drop(permit);
                    return self.settled.set();
                }
                Ok(Written::Over) => return,
                Err(error) => return self.fail(Failure::native(self.plan.file.name(), &error)),
            }
        }
    }

    fn write_next(&self, index: u64, staged: Box<dyn Staging>) -> Result<Written> {
        let plan = &self.plan;
        let piece = plan.piece(index);
        let bytes = piece.end - piece.start;
        let dst = plan.dst.slice(piece)?.binding();
        plan.device.with_contract_on(plan.stream, |server| {
            if self.state.lock().is_over() {
                return Ok(Written::Over);
            }
            server.write_staged(plan.stream, dst, staged)?;
            let mut state = self.state.lock();
            state.written += 1;
            state.written_bytes += bytes;
            if state.written < plan.pieces() {
                return Ok(Written::Next);
            }
            state.outcome = Some(Ok(()));
            Ok(Written::Last(state.permit.take()))
        })?
    }

    /// A piece was written, so another may be begun.
    fn wake_idle(&self) {
        let idle = std::mem::take(&mut self.state.lock().idle);
        for me in (0..idle).filter_map(|_| self.me.upgrade()) {
            self.plan.pool.queue(me);
        }
    }
}

impl Turns for Transfer {
    fn turn(&self) -> Turn {
        if crate::process::is_ending() || self.state.lock().is_over() {
            return Turn::Over;
        }
        match self.plan.device.has_room(ROOM_WAIT) {
            Ok(true) => {}
            Ok(false) => return Turn::Again,
            Err(error) => {
                self.fail(Failure::native(self.plan.file.name(), &error));
                return Turn::Over;
            }
        }
        let Some(index) = self.next() else { return Turn::Over };
        match self.fill(index) {
            Ok(staged) => self.write(index, staged),
            Err(failure) => self.fail(failure),
        }
        Turn::Again
    }

    fn broke(&self) {
        self.fail(Failure::broken(self.plan.file.name()));
    }
}
