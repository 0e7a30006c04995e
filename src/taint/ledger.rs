//! The one bookkeeping of unwritten and tainted bytes, for every server of every backend (C-82).
//!
//! Only memory that has such bytes is in it, so work over healthy buffers costs a failed look-up at most, however many
//! buffers are alive.

use std::collections::HashMap;
use std::ops::Range;

use super::intervals::Intervals;
use crate::error::{Result, ServerError};
use crate::memory::ManagedMemoryId;
use crate::server::GraphId;
use crate::sync::Arc;

/// Which bytes hold no result, and why. Ranges are exact to the byte and relative to their memory.
#[derive(Debug, Default)]
pub struct Ledger {
    unwritten: HashMap<ManagedMemoryId, Intervals<()>>,
    tainted: HashMap<ManagedMemoryId, Intervals<Taint>>,
}

/// Why bytes hold no result.
#[derive(Clone, Debug)]
struct Taint {
    /// The first failure (C-81).
    cause: Arc<ServerError>,
    /// The graph whose refused replays are all that ever happened to these bytes: they are as they were, so that graph
    /// may try again.
    by: Option<GraphId>,
}

impl Ledger {
    /// An empty ledger.
    pub fn new() -> Self {
        Self::default()
    }

    /// A new allocation: none of its bytes was written.
    pub fn allocated(&mut self, id: ManagedMemoryId, bytes: u64) {
        self.unwritten.entry(id).or_default().set(&(0..bytes), ());
    }

    /// An allocation is gone, and all that was known about it (C-80).
    pub fn freed(&mut self, id: ManagedMemoryId) {
        self.unwritten.remove(&id);
        self.tainted.remove(&id);
    }

    /// Exactly these bytes were written, or will have been once the queued work is done (C-77, C-79).
    pub fn written(&mut self, id: ManagedMemoryId, range: Range<u64>) {
        clear(&mut self.unwritten, id, &range);
        clear(&mut self.tainted, id, &range);
    }

    /// These bytes hold no result because of `cause`. What was tainted before keeps its first failure (C-81).
    ///
    /// `by` names the graph when a replay of it ran nothing: that graph's own retry ignores this taint. Another failure
    /// over the same bytes takes that leave away.
    pub fn taint(&mut self, id: ManagedMemoryId, range: Range<u64>, cause: &ServerError, by: Option<GraphId>) {
        if range.is_empty() {
            return;
        }
        // A failure that comes from an earlier one passes on that one: chains of taints stay one error deep.
        let cause = match cause {
            ServerError::Tainted { cause, .. } => cause.clone(),
            other => Arc::new(other.clone()),
        };
        clear(&mut self.unwritten, id, &range);
        self.tainted.entry(id).or_default().fill(&range, &Taint { cause, by }, |known| {
            if known.by != by {
                known.by = None;
            }
        });
    }

    /// Whether the bytes hold results.
    ///
    /// # Errors
    ///
    /// [`ServerError::Tainted`] or [`ServerError::Unwritten`], whichever comes first in the range (C-78).
    pub fn check_read(&self, id: ManagedMemoryId, range: Range<u64>) -> Result<()> {
        let tainted = self.tainted.get(&id).and_then(|parts| parts.first_in(&range));
        let unwritten = self.unwritten.get(&id).and_then(|parts| parts.first_in(&range));
        match (tainted, unwritten) {
            (None, None) => Ok(()),
            (Some((part, taint)), unwritten)
                if unwritten.as_ref().is_none_or(|(first, ())| part.start < first.start) =>
            {
                Err(ServerError::Tainted { buffer: id, range: part, cause: taint.cause.clone() })
            }
            (_, Some((part, ()))) => Err(ServerError::Unwritten { buffer: id, range: part }),
            (Some((part, taint)), None) => {
                Err(ServerError::Tainted { buffer: id, range: part, cause: taint.cause.clone() })
            }
        }
    }

    /// The first taint in the range as [`ServerError::Tainted`]. Unwritten bytes are no taint, and neither is what a
    /// refused replay of the graph `ignoring` left.
    pub fn input_taint(
        &self,
        id: ManagedMemoryId,
        range: Range<u64>,
        ignoring: Option<GraphId>,
    ) -> Option<ServerError> {
        let counts = |taint: &Taint| taint.by.is_none() || taint.by != ignoring;
        let (part, taint) = self.tainted.get(&id)?.parts_in(&range).find(|(_, taint)| counts(taint))?;
        Some(ServerError::Tainted { buffer: id, range: part, cause: taint.cause.clone() })
    }

    /// Whether any byte of the device is tainted.
    pub fn has_taint(&self) -> bool {
        !self.tainted.is_empty()
    }
}

fn clear<V: Clone>(parts_of: &mut HashMap<ManagedMemoryId, Intervals<V>>, id: ManagedMemoryId, range: &Range<u64>) {
    if parts_of.is_empty() {
        return;
    }
    if let Some(parts) = parts_of.get_mut(&id) {
        parts.clear(range);
        if parts.is_empty() {
            parts_of.remove(&id);
        }
    }
}

/// The bytes that the operations of one recording have wholly written so far: reads of them are not inputs.
#[derive(Debug, Default)]
pub(crate) struct Coverage(HashMap<ManagedMemoryId, Intervals<()>>);

impl Coverage {
    pub(crate) fn add(&mut self, id: ManagedMemoryId, range: &Range<u64>) {
        self.0.entry(id).or_default().set(range, ());
    }

    /// The parts of `range` that nothing in the recording has wholly written.
    pub(crate) fn exposed(&self, id: ManagedMemoryId, range: &Range<u64>) -> Vec<Range<u64>> {
        match self.0.get(&id) {
            Some(covered) => covered.gaps_in(range),
            None => vec![range.clone()],
        }
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUFFER: ManagedMemoryId = ManagedMemoryId(u64::MAX);
    const G: GraphId = GraphId(1);
    const H: GraphId = GraphId(2);

    fn failure(text: &str) -> ServerError {
        ServerError::graph_state(text)
    }

    fn cause_of(error: ServerError) -> String {
        match error {
            ServerError::Tainted { cause, .. } => cause.to_string(),
            other => panic!("not a taint: {other}"),
        }
    }

    #[test]
    fn siblings_keep_their_own_taint() {
        // XC-20; C-79: both siblings of a refused window are tainted; a write frees only the one.
        let mut ledger = Ledger::new();
        ledger.allocated(BUFFER, 8);
        ledger.written(BUFFER, 0..8);
        ledger.taint(BUFFER, 0..4, &failure("refused"), None);
        ledger.taint(BUFFER, 4..8, &failure("refused"), None);
        ledger.written(BUFFER, 0..4);
        ledger.check_read(BUFFER, 0..4).unwrap();
        assert!(cause_of(ledger.check_read(BUFFER, 4..8).unwrap_err()).contains("refused"));
        assert!(ledger.check_read(BUFFER, 3..5).is_err());
        ledger.written(BUFFER, 4..8);
        assert!(!ledger.has_taint());
    }

    #[test]
    fn the_first_failure_stays_and_the_first_bad_byte_is_named() {
        // C-78, C-81.
        let mut ledger = Ledger::new();
        ledger.allocated(BUFFER, 16);
        ledger.taint(BUFFER, 4..8, &failure("first"), None);
        ledger.taint(BUFFER, 0..12, &failure("second"), None);
        assert_eq!(cause_of(ledger.check_read(BUFFER, 6..12).unwrap_err()), failure("first").to_string());
        assert_eq!(cause_of(ledger.check_read(BUFFER, 8..16).unwrap_err()), failure("second").to_string());
        ledger.written(BUFFER, 0..12);
        let Err(ServerError::Unwritten { range, .. }) = ledger.check_read(BUFFER, 0..16) else { panic!("written") };
        assert_eq!(range, 12..16);
        ledger.taint(BUFFER, 14..16, &failure("third"), None);
        assert!(
            matches!(ledger.check_read(BUFFER, 0..16), Err(ServerError::Unwritten { range, .. }) if range == (12..14))
        );
    }

    #[test]
    fn a_freed_allocation_leaves_nothing() {
        // C-80.
        let mut ledger = Ledger::new();
        ledger.allocated(BUFFER, 8);
        ledger.taint(BUFFER, 0..4, &failure("gone"), None);
        ledger.freed(BUFFER);
        ledger.check_read(BUFFER, 0..8).unwrap();
    }

    #[test]
    fn only_the_refused_graph_itself_may_look_past_its_taint() {
        // XC-24; the ruling on reads.
        let mut ledger = Ledger::new();
        ledger.taint(BUFFER, 0..8, &failure("refused"), Some(G));
        assert!(ledger.input_taint(BUFFER, 0..8, Some(G)).is_none());
        assert!(ledger.input_taint(BUFFER, 0..8, Some(H)).is_some());
        assert!(ledger.input_taint(BUFFER, 0..8, None).is_some());
        assert!(ledger.check_read(BUFFER, 0..8).is_err());
        ledger.taint(BUFFER, 0..8, &failure("refused again"), Some(G));
        assert!(ledger.input_taint(BUFFER, 0..8, Some(G)).is_none());
        // Anything else that failed over these bytes left them wrong for the graph too; the first failure is still named.
        ledger.taint(BUFFER, 2..4, &failure("fault"), None);
        let error = ledger.input_taint(BUFFER, 0..8, Some(G)).expect("the fault counts");
        assert!(matches!(&error, ServerError::Tainted { range, .. } if *range == (2..4)));
        assert_eq!(cause_of(error), failure("refused").to_string());
    }

    #[test]
    fn a_passed_on_failure_stays_one_error_deep() {
        let mut ledger = Ledger::new();
        ledger.taint(BUFFER, 0..4, &failure("root"), None);
        let passed = ledger.input_taint(BUFFER, 0..4, None).expect("tainted");
        ledger.taint(BUFFER, 4..8, &passed, None);
        assert_eq!(cause_of(ledger.check_read(BUFFER, 4..8).unwrap_err()), failure("root").to_string());
    }

    #[test]
    fn coverage_leaves_the_exposed_parts() {
        let mut coverage = Coverage::default();
        coverage.add(BUFFER, &(2..4));
        assert_eq!(coverage.exposed(BUFFER, &(0..6)), [0..2, 4..6]);
        assert!(coverage.exposed(BUFFER, &(2..4)).is_empty());
    }
}
