//! The operation matrix of C-58 (docs/CAPTURE.md): run, record, set aside or refuse.

use super::{Admission, Book, Role};
use crate::error::{GraphOp, GraphRule, Result, ServerError};
use crate::memory::{Access, BufferBinding};
use crate::op::Op;
use crate::stream::{SlotIndex, StreamId};

impl Book {
    /// Decide what happens to one operation whose arguments were checked. A recorded one is in the recording on return,
    /// with its host bytes retained.
    ///
    /// An operation that would run is refused when an input is tainted. One that would be recorded is refused when an
    /// *exposed* input is: bytes that no earlier node of the recording wholly writes. It does not run now, but its graph
    /// would be made of bytes that are no results, and skipping it would leave a hole in the recording; so it is an error
    /// at the call and dooms the window (C-30). A tainted range that the recording itself writes first is no such input,
    /// and one that is only written stays unreadable until a replay (XC-29).
    ///
    /// Whatever an error has to taint or doom is done on return: [`Book::failed`] is for what fails after admission.
    /// Allocates nothing on the eager path while nothing on the device is tainted.
    ///
    /// # Errors
    ///
    /// [`ServerError::Tainted`] for an input: the failure has been passed on to what would have been written.
    /// [`ServerError::GraphState`] for a neighbour's host write that a software graph refuses; its own destination is
    /// tainted (C-55). What the recording answers, for an operation it cannot hold. The owner's errors doom its window.
    pub fn admit(&mut self, stream: StreamId, op: &Op) -> Result<Admission> {
        match self.role(stream) {
            Role::Free => self.admit_eager(op, Admission::Run),
            Role::Owner => self.admit_owner(stream, op),
            Role::Neighbour { owner } if self.rules.defers_neighbours => {
                self.admit_eager(op, Admission::Side { owner })
            }
            Role::Neighbour { .. } if matches!(op, Op::Write { .. } | Op::Upload { .. }) => {
                let refusal = self.refusal(stream, op.call(), GraphRule::RefusedInWindow);
                self.taint_outputs(op, &refusal);
                Err(refusal)
            }
            Role::Neighbour { .. } => self.admit_eager(op, Admission::Run),
        }
    }

    fn admit_eager(&mut self, op: &Op, admission: Admission) -> Result<Admission> {
        if !self.ledger.has_taint() {
            return Ok(admission);
        }
        match self.tainted_input(op) {
            None => Ok(admission),
            Some(error) => Err(self.skip(op, error)),
        }
    }

    fn admit_owner(&mut self, stream: StreamId, op: &Op) -> Result<Admission> {
        if let Op::Write { dst, .. } = op
            && !self.rules.records_host_writes
        {
            let rule = GraphRule::WriteInWindow { buffer: named(&dst.binding) };
            let refusal = self.refusal(stream, GraphOp::Write, rule);
            self.failed(stream, op, &refusal);
            return Ok(Admission::Refused);
        }
        let slot = self.slots.index_of(stream);
        if let Some(error) = self.tainted_exposed_input(slot, op) {
            let error = self.skip(op, error);
            self.doom(stream, error.clone());
            return Err(error);
        }
        match self.slots.get_mut(slot).record(op) {
            Ok(node) => Ok(Admission::Record { node }),
            Err(error) => {
                self.failed(stream, op, &error);
                Err(error)
            }
        }
    }

    /// Count an operation that does not run, and pass the failure to what it would have written.
    fn skip(&mut self, op: &Op, error: ServerError) -> ServerError {
        self.tainted_skips += 1;
        self.taint_outputs(op, &error);
        error
    }

    fn tainted_input(&self, op: &Op) -> Option<ServerError> {
        let mut found = None;
        op.for_each_use(|arg, access| {
            if access.reads() && found.is_none() {
                found = self.ledger.input_taint(arg.binding.memory.id(), arg.binding.range(), None);
            }
        });
        found
    }

    fn tainted_exposed_input(&self, slot: SlotIndex, op: &Op) -> Option<ServerError> {
        if !self.ledger.has_taint() {
            return None;
        }
        let window = self.slots.get(slot);
        let mut found = None;
        op.for_each_use(|arg, access| {
            if access.reads() && found.is_none() {
                let id = arg.binding.memory.id();
                let exposed = window.written.exposed(id, &arg.binding.range());
                found = exposed.into_iter().find_map(|range| self.ledger.input_taint(id, range, None));
            }
        });
        found
    }
}

impl crate::capture::Window {
    /// Append `op` to the recording, and what it was given to the claims.
    fn record(&mut self, op: &Op) -> Result<u32> {
        let Some(recording) = &mut self.recording else {
            return Err(ServerError::graph_state(
                "the window is open and has no recording; abort it and capture again",
            ));
        };
        let node = recording.push(op)?;
        op.for_each_use(|arg, access| {
            if access == Access::Write {
                self.written.add(arg.binding.memory.id(), &arg.binding.range());
            }
            self.capture.record([(arg.binding.clone(), access)]);
        });
        if let Op::Write { bytes, .. } | Op::Upload { bytes, .. } = op {
            self.capture.retain_host(bytes.clone());
        }
        Ok(node)
    }
}

fn named(binding: &BufferBinding) -> String {
    let range = binding.range();
    format!("bytes {}..{} of buffer {}", range.start, range.end, binding.memory.id())
}
