//! Why a valid kernel cannot be translated.

/// What a kernel uses that the simulator does not run, as the end of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) text: String,
    /// The line in the WGSL; 0 where it is not known.
    pub(super) line: u32,
}

/// A refusal whose place is not known yet.
pub(super) fn unsupported(text: impl Into<String>) -> Refusal {
    Refusal { text: text.into(), line: 0 }
}
