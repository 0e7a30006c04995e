//! How a recording window ended: by its owner, or by somebody else (C-24 to C-29).

use crate::error::{GraphOp, GraphRule, GraphState, ServerError};
use crate::stream::StreamId;

/// Who closed a recording window. Only the owner may receive a graph out of it (C-23).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureEnd {
    /// The owner closed it.
    Owned {
        /// The window's owner.
        owner: StreamId,
    },
    /// Another stream closed it, so the recording is discarded.
    Abandoned {
        /// The window's owner, who did not close it.
        owner: StreamId,
    },
}

impl CaptureEnd {
    /// The window's owner, whoever closed it.
    pub const fn owner(&self) -> StreamId {
        match self {
            Self::Owned { owner } | Self::Abandoned { owner } => *owner,
        }
    }

    /// Whether another stream than the owner closed it.
    pub const fn is_abandoned(&self) -> bool {
        matches!(self, Self::Abandoned { .. })
    }

    /// The report of an abandoned window: first whose window `caller` closed, then what had `doomed` it, if anything
    /// had (C-85). Always [`ServerError::Several`], of one or two errors.
    pub fn abandoned_error(&self, caller: StreamId, doomed: Option<ServerError>) -> ServerError {
        let explanation = GraphState::new(GraphOp::End, GraphRule::Abandoned).owner(Some(self.owner())).caller(caller);
        let mut errors = vec![explanation.into()];
        errors.extend(doomed);
        ServerError::several(errors)
    }
}
