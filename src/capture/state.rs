//! The state machine of one pooled stream, and what its window has recorded so far (C-1 to C-54).
//!
//! State and recording live in one type, so that nothing can pile up outside a window (C-4).

use super::CaptureEnd;
use crate::error::{GraphOp, GraphRule, GraphState, Result, ServerError};
use crate::memory::{Access, BufferBinding};
use crate::op::Bytes;
use crate::stream::StreamId;

/// Where a pooled stream is in its capture lifecycle (C-1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum StreamCaptureState {
    /// No window.
    #[default]
    NoCapture,
    /// A window is prepared: what its owner does still runs, to warm pools and caches.
    Prepare {
        /// Who prepared it.
        owner: StreamId,
    },
    /// A window records.
    Capture {
        /// Who prepared it.
        owner: StreamId,
    },
}

/// Whether caches may evict (C-63).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheMode {
    /// As they like.
    Normal,
    /// Not at all: a window is active, and what the warmup built must still be there when it is recorded.
    Capture,
}

impl StreamCaptureState {
    /// Open a window for `stream`. Refused in the same words whoever asks (C-11, C-12).
    fn prepare(&mut self, stream: StreamId) -> Result<()> {
        let rule = match self {
            Self::NoCapture => {
                *self = Self::Prepare { owner: stream };
                return Ok(());
            }
            Self::Prepare { .. } => GraphRule::AlreadyPrepared,
            Self::Capture { .. } => GraphRule::AlreadyRecording,
        };
        Err(GraphState::new(GraphOp::Prepare, rule).owner(self.owner()).into())
    }

    /// Start recording. Keeps the owner (C-14).
    fn begin(&mut self) -> Result<()> {
        let rule = match *self {
            Self::Prepare { owner } => {
                *self = Self::Capture { owner };
                return Ok(());
            }
            Self::NoCapture => GraphRule::NotPrepared,
            Self::Capture { .. } => GraphRule::AlreadyRecording,
        };
        Err(GraphState::new(GraphOp::Begin, rule).owner(self.owner()).into())
    }

    /// Close a recording window, whoever asks (C-24). A prepared one stays as it is (C-13).
    fn end(&mut self, stream: StreamId) -> Result<CaptureEnd> {
        let Self::Capture { owner } = *self else {
            let refusal = GraphState::new(GraphOp::End, GraphRule::NothingRecording);
            return Err(refusal.owner(self.owner()).caller(stream).into());
        };
        *self = Self::NoCapture;
        Ok(if owner == stream { CaptureEnd::Owned { owner } } else { CaptureEnd::Abandoned { owner } })
    }

    /// Drop any window (C-15).
    fn abort(&mut self) {
        *self = Self::NoCapture;
    }

    const fn owner(&self) -> Option<StreamId> {
        match self {
            Self::NoCapture => None,
            Self::Prepare { owner } | Self::Capture { owner } => Some(*owner),
        }
    }

    const fn is_recording(&self) -> bool {
        matches!(self, Self::Capture { .. })
    }

    const fn is_active(&self) -> bool {
        !matches!(self, Self::NoCapture)
    }
}

/// The capture state machine of one pooled stream, with what its window has recorded (C-3).
///
/// A rejected transition changes nothing at all (C-16). `end` leaves recording, host bytes and failure in place, for the
/// three `take_*` calls; what is not taken goes at the next successful prepare, or at abort (C-18).
#[derive(Debug, Default)]
pub struct StreamCapture {
    state: StreamCaptureState,
    recorded: Vec<(BufferBinding, Access)>,
    retained: Vec<Bytes>,
    failure: Option<ServerError>,
}

impl StreamCapture {
    /// Open a window owned by `stream`, empty whatever ended the last one (C-68).
    ///
    /// # Errors
    ///
    /// [`ServerError::GraphState`] when a window is prepared or recording.
    pub fn prepare(&mut self, stream: StreamId) -> Result<()> {
        self.state.prepare(stream)?;
        self.clear();
        Ok(())
    }

    /// Start recording in the prepared window.
    ///
    /// # Errors
    ///
    /// [`ServerError::GraphState`] when none is prepared, or one is recording.
    pub fn begin(&mut self) -> Result<()> {
        self.state.begin()
    }

    /// Close the recording window on behalf of `stream`, which need not be its owner (C-24).
    ///
    /// # Errors
    ///
    /// [`ServerError::GraphState`] when nothing is recording.
    pub fn end(&mut self, stream: StreamId) -> Result<CaptureEnd> {
        self.state.end(stream)
    }

    /// Drop the window, in any state, with all it recorded (C-15, C-54).
    pub fn abort(&mut self) {
        self.state.abort();
        self.clear();
    }

    /// Remember what an operation was given, while recording; ignored otherwise, since it ran then (C-37).
    pub fn record(&mut self, bindings: impl IntoIterator<Item = (BufferBinding, Access)>) {
        if self.is_recording() {
            self.recorded.extend(bindings);
        }
    }

    /// Doom the recording: it misses an operation and must not be sealed. The first failure stays (C-31); ignored when
    /// nothing is recording (C-32).
    pub fn fail(&mut self, error: ServerError) {
        if self.is_recording() && self.failure.is_none() {
            self.failure = Some(error);
        }
    }

    /// Keep host bytes that a recorded copy reads at every replay (C-49). Only while recording: debug builds assert it,
    /// release builds keep the bytes until the next prepare or abort (C-52).
    pub fn retain_host(&mut self, bytes: Bytes) {
        debug_assert!(self.is_recording(), "host bytes are retained only while recording, not in {:?}", self.state);
        self.retained.push(bytes);
    }

    /// Every distinct claim once, in order of its key, with the union of its accesses; empty the second time (C-39).
    pub fn take_recorded(&mut self) -> Vec<(BufferBinding, Access)> {
        let mut recorded = std::mem::take(&mut self.recorded);
        recorded.sort_by_key(|(binding, _)| binding.claim_key());
        recorded.dedup_by(|next, kept| {
            let same = next.0.claim_key() == kept.0.claim_key();
            if same {
                kept.1 = kept.1.union(next.1);
            }
            same
        });
        recorded
    }

    /// The retained host bytes; empty the second time (C-53).
    pub fn take_retained_host(&mut self) -> Vec<Bytes> {
        std::mem::take(&mut self.retained)
    }

    /// What doomed the recording, if anything did; `None` the second time (C-33).
    pub fn take_failure(&mut self) -> Option<ServerError> {
        self.failure.take()
    }

    /// Whether a window is recording.
    pub const fn is_recording(&self) -> bool {
        self.state.is_recording()
    }

    /// Whether a window is prepared or recording.
    pub const fn is_active(&self) -> bool {
        self.state.is_active()
    }

    /// The active window's owner.
    pub const fn owner(&self) -> Option<StreamId> {
        self.state.owner()
    }

    /// What the caches may do (C-63).
    pub const fn cache_mode(&self) -> CacheMode {
        if self.is_active() { CacheMode::Capture } else { CacheMode::Normal }
    }

    fn clear(&mut self) {
        self.recorded.clear();
        self.retained.clear();
        self.failure = None;
    }
}

#[cfg(test)]
mod tests;
