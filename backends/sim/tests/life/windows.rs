//! Explicit windows of a life: prepared, warmed up, recorded with a neighbour at work on the slot, and closed in one of
//! three ways.

use graphreel::{ServerError, Stream};

use super::model::{Doubt, Number, Op, Params};
use super::world::{Check, World};

/// How a window ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Close {
    /// By its owner, with a graph of this name.
    End(&'static str),
    /// By another stream.
    Abandon,
    /// By its owner, without a graph.
    Abort,
}

/// A window of stream 0; stream 2 is its neighbour.
pub(crate) struct Window<'a> {
    pub(crate) warmup: &'a [Op],
    pub(crate) own: &'a [Op],
    pub(crate) theirs: &'a [Op],
    /// What the neighbour reads in the window.
    pub(crate) read: Number,
    pub(crate) close: Close,
}

impl World {
    pub(crate) fn window(&mut self, window: &Window<'_>) -> Check {
        if self.lost() {
            return Ok(());
        }
        let (owner, neighbour) = (self.stream(0), self.stream(2));
        let calls = self.probe.calls();
        if let Err(error) = owner.graph_prepare() {
            return self.failed("graph_prepare", &error, calls, false);
        }
        for op in window.warmup {
            self.eager(0, op)?;
        }
        if !self.begin(&owner)? {
            return Ok(());
        }
        let (mut recorded, mut doomed, mut late) = (Vec::new(), false, None);
        for index in 0..window.own.len().max(window.theirs.len()) {
            if let Some(op) = window.own.get(index).filter(|op| self.has(op, &Params::default())) {
                let with: Vec<Op> = recorded.iter().chain([op]).cloned().collect();
                let reads = self.exposed(&with) != Doubt::No;
                let taken = self.record(&owner, op, reads)?;
                doomed |= !taken || reads;
                recorded.extend(taken.then(|| op.clone()));
            }
            if index == 0 && self.buffers[window.read].is_some() && !self.lost() {
                let calls = self.probe.calls();
                late = Some((neighbour.read_async::<u32>(self.buffer(window.read)), self.cells[window.read], calls));
            }
            if let Some(op) = window.theirs.get(index) {
                self.eager(2, op)?;
            }
        }
        self.close(&owner, &neighbour, window.close, &recorded, doomed)?;
        match late {
            Some((read, cell, calls)) => {
                let read = read.and_then(|mut answer| answer.wait_for(self.patience));
                self.compare(window.read, cell, read, calls)
            }
            None => Ok(()),
        }
    }

    /// Whether it records now.
    fn begin(&mut self, owner: &Stream) -> Check<bool> {
        let calls = self.probe.calls();
        let Err(error) = owner.begin_capture() else { return Ok(true) };
        if owner.capture_status().recording {
            return Err(format!("begin_capture failed and records: {error}"));
        }
        // A call that was refused before it began leaves the window prepared; one that failed dropped it.
        let dropped = owner.graph_abort();
        self.failed("begin_capture", &error, calls, false)?;
        dropped.or_else(|error| self.failed("graph_abort", &error, calls, false))?;
        Ok(false)
    }

    fn close(&mut self, owner: &Stream, other: &Stream, close: Close, ops: &[Op], doomed: bool) -> Check {
        let calls = self.probe.calls();
        match close {
            Close::End(name) => {
                let sealed = owner.end_capture();
                if sealed.is_ok() && doomed {
                    return Err(format!("{name} was made of a window that lacks something"));
                }
                self.sealed(name, sealed, ops, Params::default(), calls, doomed || ops.is_empty())?;
            }
            Close::Abandon => {
                let Err(error) = other.end_capture() else { return Err("a graph for another stream".to_owned()) };
                let reported = matches!(error, ServerError::Several { .. });
                self.taint(ops, reported);
                self.failed("an abandoned end", &error, calls, reported)?;
            }
            Close::Abort => {
                let aborted = owner.graph_abort();
                self.taint(ops, aborted.is_ok());
                aborted.or_else(|error| self.failed("graph_abort", &error, calls, false))?;
            }
        }
        if owner.capture_status().recording && !self.lost() {
            // Only a call that was refused before it began leaves the window; the same call works then.
            if !self.faulted_since(calls) {
                return Err("a window is still open".to_owned());
            }
            owner.graph_abort().or_else(|error| self.failed("graph_abort", &error, calls, false))?;
        }
        Ok(())
    }

    fn taint(&mut self, ops: &[Op], sure: bool) {
        ops.iter().for_each(|op| self.doubt(op.output(&Params::default()), sure));
    }
}
