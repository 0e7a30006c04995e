//! What a random kernel may use.

/// Which subgroup operations a kernel may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subgroups {
    /// None.
    None,
    /// Those whose results do not depend on how large subgroups are.
    AnySize,
    /// All, for subgroups of just so many invocations, taken in order of the local index.
    Exact(u32),
}

/// What a random kernel may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// `f16`.
    pub f16: bool,
    /// `i64` and `u64`.
    pub int64: bool,
    /// `i16` and `u16`.
    pub int16: bool,
    /// Subgroup operations.
    pub subgroups: Subgroups,
    /// Whether a `continuing` block may read what the body declares, which some compilers get wrong.
    pub body_lets: bool,
    /// Whether a pointer to a part of a variable may be passed to a function, which WGSL has as an extension.
    pub part_pointers: bool,
}

impl Options {
    /// What every device takes.
    pub const fn portable() -> Self {
        Self {
            f16: false,
            int64: false,
            int16: false,
            subgroups: Subgroups::None,
            body_lets: false,
            part_pointers: false,
        }
    }

    /// Everything, with results that do not depend on the size of subgroups.
    pub const fn full() -> Self {
        Self {
            f16: true,
            int64: true,
            int16: true,
            subgroups: Subgroups::AnySize,
            body_lets: true,
            part_pointers: true,
        }
    }
}
