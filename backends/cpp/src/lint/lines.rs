//! The lines of a text, found once, so that thousands of places are told without reading it again for each.

use naga::Span;

/// Where the lines of a text begin.
pub(super) struct Lines<'m> {
    wgsl: &'m str,
    starts: Vec<usize>,
}

impl<'m> Lines<'m> {
    pub(super) fn new(wgsl: &'m str) -> Self {
        let starts = std::iter::once(0).chain(wgsl.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { wgsl, starts }
    }

    /// The 1-based line and column, in characters, as [`graphreel::kernel::place`] counts them; (0, 0) where there is no place.
    pub(super) fn place(&self, span: Span) -> (u32, u32) {
        let Some(start) = span.to_range().map(|range| range.start) else { return (0, 0) };
        let line = self.starts.partition_point(|begin| *begin <= start);
        let Some(before) = self.wgsl.get(self.starts[line - 1]..start) else { return (0, 0) };
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        (count(line), count(before.chars().count() + 1))
    }

    /// `line 7`, for a message.
    pub(super) fn at(&self, span: Span) -> String {
        match self.place(span).0 {
            0 => "at a line unknown".to_owned(),
            line => format!("line {line}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_the_core() {
        let text = "a\nbé c\n\nlast";
        let lines = Lines::new(text);
        for (start, end) in [(0, 1), (2, 3), (5, 6), (6, 7), (7, 8), (8, 9), (9, 12), (3, 40)] {
            let span = Span::new(start, end);
            assert_eq!(lines.place(span), graphreel::kernel::place(span, text), "{start}");
        }
        assert_eq!(lines.place(Span::UNDEFINED), (0, 0));
    }
}
