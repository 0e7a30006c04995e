//! naga's errors as our own: the place as line and column in characters, the whole chain of causes, and naga's rendering.

use std::error::Error;

use naga::front::wgsl::ParseError;
use naga::{Span, WithSpan};

use crate::error::KernelProblem;

/// What the parser found.
pub(super) fn of_parse(error: &ParseError, wgsl: &str) -> KernelProblem {
    let (line, column) = error.labels().next().map_or((1, 1), |(span, _)| place(span, wgsl));
    KernelProblem::Parse { line, column, message: first_line(error.message()), rendered: error.emit_to_string(wgsl) }
}

/// A refusal of what lies at `span` of a text, with the place, and the source line in the rendering.
pub fn refusal(span: Span, message: &str, wgsl: &str) -> KernelProblem {
    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Refused(String);
    of_validation(&WithSpan::new(Refused(message.to_owned())).with_span(span, "here"), wgsl)
}

/// What the validator, or the folding of overrides, found.
pub(super) fn of_validation<E: Error>(error: &WithSpan<E>, wgsl: &str) -> KernelProblem {
    let (line, column) = error.spans().next().map_or((0, 0), |(span, _)| place(*span, wgsl));
    let mut message = first_line(&error.as_inner().to_string());
    let mut cause = error.as_inner().source();
    while let Some(next) = cause {
        message.push_str(": ");
        message.push_str(&first_line(&next.to_string()));
        cause = next.source();
    }
    KernelProblem::Validate { line, column, message, rendered: error.emit_to_string(wgsl) }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// The 1-based line and column of a span's start, (0, 0) where the text has no such place. naga counts bytes; an editor counts
/// characters.
pub fn place(span: Span, wgsl: &str) -> (u32, u32) {
    let Some(before) = span.to_range().and_then(|range| wgsl.get(..range.start)) else {
        return (0, 0);
    };
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (u32::try_from(line).unwrap_or(u32::MAX), u32::try_from(column).unwrap_or(u32::MAX))
}
