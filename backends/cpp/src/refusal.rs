//! A refusal inside the writer, until it is told with its place in the source.

use naga::Span;

/// What cannot be written, and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) span: Span,
    pub(crate) text: String,
}

/// A result of the writer.
pub(crate) type Result<T, E = Refusal> = std::result::Result<T, E>;

/// The refusal of something that no C++ kernel can use.
pub(crate) fn refused(span: Span, what: &str) -> Refusal {
    Refusal { span, text: format!("a kernel in C++ cannot use {what}; write it without them") }
}

/// Says where something stands.
pub(crate) trait At<T> {
    /// With the place of what was refused.
    fn at(self, span: Span) -> Result<T>;
}

impl<T> At<T> for Result<T, &'static str> {
    fn at(self, span: Span) -> Result<T> {
        self.map_err(|what| refused(span, what))
    }
}
