//! A read of a file's bytes to device memory, as its caller sees it.

use std::fmt;
use std::future::Future;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use super::failure::Failure;
use super::file::SourceFile;
use super::process::{READS_MAX, process};
use super::transfer::{Plan, Transfer};
use crate::caps::DeviceKind;
use crate::clock::Deadline;
use crate::device::{Buffer, Device};
use crate::error::{GraphOp, ServerError};
use crate::lifecycle::config::SourceSchedulerPolicy;
use crate::lifecycle::error::QueryResult;
use crate::op::check_range;
use crate::stream::StreamId;
use crate::sync::{Arc, thread};

/// How often a wait looks whether the process is ending.
const LOOK: Duration = Duration::from_millis(100);

/// Bytes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceRead {
    path: PathBuf,
    range: Range<u64>,
}

impl SourceRead {
    /// The bytes `range` of the file at `path`.
    pub fn new(path: impl Into<PathBuf>, range: Range<u64>) -> Self {
        Self { path: path.into(), range }
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its bytes that are read.
    pub fn range(&self) -> Range<u64> {
        self.range.clone()
    }
}

/// How far a read has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceProgress {
    /// Bytes given to the device, from the first on.
    pub done_bytes: u64,
    /// Bytes asked for.
    pub total_bytes: u64,
}

/// A read under way. It is done when all bytes are given to its stream: work asked for after that, on any stream, sees them.
/// Until then the destination holds what it held, or a part of the new bytes.
///
/// Dropping it cancels the read. A read that fails or is cancelled leaves no result in any byte of its destination: a read of
/// one, or work on it, answers [`ServerError::Tainted`] with the cause, until it is written again.
#[must_use = "dropping it cancels the read"]
pub struct SourceWork(Arc<Transfer>);

impl SourceWork {
    /// How far it has come.
    pub fn progress(&self) -> SourceProgress {
        let (done_bytes, total_bytes) = self.0.progress();
        SourceProgress { done_bytes, total_bytes }
    }

    /// Whether it is over, well or not.
    pub fn is_done(&self) -> bool {
        self.0.settled().is_set()
    }

    /// Give up. On return nothing is written any more, and unless the read was done its destination holds no result. Takes the
    /// device's lock, as any call of the device.
    pub fn cancel(&self) {
        if !self.is_done() && !crate::process::is_ending() {
            self.0.give_up();
        }
    }

    /// Block until it is over, for at most until `deadline` of the device's clock.
    ///
    /// # Errors
    ///
    /// `source_unreadable`, `source_too_short`, `source_cancelled`, `source_failed` with what the device answered;
    /// `source_wait_elapsed` at the deadline, which ends the wait only.
    pub fn wait(&self, deadline: Deadline) -> QueryResult {
        let clock = self.0.plan().device.clock();
        loop {
            if clock.wait(self.0.settled(), deadline.earlier(clock.deadline_in(LOOK)))
                && let Some(outcome) = self.0.outcome()
            {
                return outcome;
            }
            let name = self.0.plan().file.name();
            if clock.is_past(deadline) {
                return Err(Failure::elapsed(name));
            }
            if crate::process::is_ending() {
                return Err(*Failure::ending(name).error);
            }
        }
    }
}

impl Future for SourceWork {
    type Output = QueryResult;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll(context.waker()).map_or(Poll::Pending, Poll::Ready)
    }
}

impl Drop for SourceWork {
    fn drop(&mut self) {
        self.cancel();
    }
}

impl fmt::Debug for SourceWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.0.plan().file.name();
        f.debug_struct("SourceWork").field("file", &file).field("progress", &self.progress()).finish()
    }
}

/// Begin to read `read` to `dst` from its byte `dst_offset` on, by writes on `stream`.
///
/// The process-wide pool reads pieces of the file on several threads, `policy.prefetch()` of them ahead of the one that is
/// written next. Each is a host write in every rule, so a stream whose window records is no place for it: use a stream of
/// its own, or wait for the read first. The rules of a host write hold for the offset and length: multiples of 4, but for a
/// length that reaches the end of the buffer's memory.
///
/// # Errors
///
/// `zero`, `out_of_range`, `source_unreadable`, `source_too_short`, each naming the file; `source_queue_full`;
/// `source_failed` with what the device answers. Nothing is read or written then.
pub fn read_source(
    device: &Device,
    stream: StreamId,
    read: SourceRead,
    dst: &Buffer,
    dst_offset: u64,
    policy: SourceSchedulerPolicy,
) -> QueryResult<SourceWork> {
    let instead = "a read before the capture, or c.upload of the bytes";
    let name = read.path.display().to_string();
    device.refuse_in_closure(GraphOp::Write, instead).map_err(|error| *Failure::native(&name, &error).error)?;
    let prepared = prepare(device, &name, &read, dst, dst_offset, policy);
    let (dst, file) = prepared.map_err(|failure| {
        // In the window that the stream records, the write would be missing (C-30).
        device.with_contract(|server| server.doom(stream, &failure.cause));
        *failure.error
    })?;
    let effective = process().effective()?;
    let permit = process().permit().ok_or_else(|| *Failure::too_many(&name, READS_MAX).error)?;
    let plan = Plan {
        device: device.clone(),
        stream,
        dst,
        file,
        range: read.range,
        task_bytes: effective.task_size_bytes,
        window: policy.prefetch() as u64 + 1,
        pool: process().pool.clone(),
    };
    let threads = effective.thread_count.unwrap_or(1).min(turns_max(device));
    Ok(SourceWork(Transfer::begin(plan, permit, threads)))
}

/// Threads that one read should have at most. A software device copies on the host's processors: one of them is left to it,
/// since readers that take its time make both sides slower.
fn turns_max(device: &Device) -> usize {
    if device.info().kind != DeviceKind::Software {
        return usize::MAX;
    }
    thread::available_parallelism().map_or(1, |count| count.get().saturating_sub(1).max(1))
}

/// Check all that can be known at once: the destination's part, and the file.
fn prepare(
    device: &Device,
    name: &str,
    read: &SourceRead,
    dst: &Buffer,
    dst_offset: u64,
    policy: SourceSchedulerPolicy,
) -> Result<(Buffer, SourceFile), Failure> {
    let Range { start, end } = read.range;
    let native = |error: ServerError| Failure::native(name, &error);
    if policy.prefetch() > SourceSchedulerPolicy::PREFETCH_MAX {
        let max = SourceSchedulerPolicy::PREFETCH_MAX;
        let problem = format!("a prefetch of {} is too large; the largest accepted value is {max}", policy.prefetch());
        return Err(Failure::out_of_range(name, &problem));
    }
    let total = end.checked_sub(start).ok_or_else(|| {
        Failure::out_of_range(name, &format!("bytes {start}..{end} end before they begin; swap the ends"))
    })?;
    if total == 0 {
        return Err(Failure::zero(name, start));
    }
    let len = dst.len_bytes();
    let Some(last) = dst_offset.checked_add(total).filter(|last| *last <= len) else {
        let problem = format!(
            "{total} bytes do not fit a buffer of {len} bytes from byte {dst_offset} on; at most {} do",
            len.saturating_sub(dst_offset)
        );
        return Err(Failure::out_of_range(name, &problem));
    };
    if let Some(error) = device.gone() {
        return Err(native(error));
    }
    let dst = dst.slice(dst_offset..last).map_err(native)?;
    check_range("read_source", &dst.binding(), device.info().id).map_err(native)?;
    Ok((dst, SourceFile::open(&read.path, &read.range)?))
}
