//! From places in a text to its lines.

use naga::Span;

/// Where each line of a text begins.
#[derive(Debug)]
pub struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    /// Of a text.
    pub fn new(text: &str) -> Self {
        let after = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { starts: std::iter::once(0).chain(after).collect() }
    }

    /// The line of a span's start, from 1; none where the span has no place.
    pub fn line(&self, span: Span) -> Option<u32> {
        let start = span.to_range()?.start;
        u32::try_from(self.starts.partition_point(|line| *line <= start)).ok()
    }
}
