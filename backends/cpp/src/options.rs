//! What a translation can be asked for.

use graphreel::kernel::Variant;

/// The C++ that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// CUDA C++, for NVRTC and nvcc: no header is included.
    Cuda,
    /// HIP C++, for hipRTC: no header is included, and `WG_SUBGROUP_SIZE` has to be defined as the device's wave size.
    Hip,
    /// C++17 for the processor, over the host runtime: what tests run.
    Host,
}

/// How floating-point arithmetic is compiled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FloatMode {
    /// Every operation rounded by itself: no contraction, no flushed subnormals, correctly rounded division and roots.
    #[default]
    Strict,
    /// What WGSL's bounds leave room for: fused operations, and the device's fast functions where their error is allowed.
    Fast,
}

/// What becomes of an index that may be out of range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Bounds {
    /// It is brought to the last element.
    #[default]
    Restrict,
    /// It is used as it is. Only [`Options::unchecked`] gives it.
    Unchecked(Vouched),
}

/// That somebody vouched for every index of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Vouched(());

/// What is written in the place of a check that was proven unnecessary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Removed {
    /// Nothing.
    #[default]
    Dropped,
    /// An assertion that ends the program where the proof was wrong; host C++ alone has it.
    Asserted,
    /// The check: nothing is removed.
    Kept,
}

/// What is known of a kernel's loops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Loops {
    /// They end.
    #[default]
    Trusted,
    /// Nothing: each is left after so many rounds.
    Bounded {
        /// Rounds of one loop, each time that it is entered.
        rounds: u64,
    },
}

/// What a translation is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The C++ that is written.
    pub dialect: Dialect,
    /// Which code of the kernel: the grid of the launch, or counts in device memory.
    pub variant: Variant,
    /// How floating-point arithmetic is compiled.
    pub floats: FloatMode,
    /// What becomes of an index that may be out of range.
    pub bounds: Bounds,
    /// What is written in the place of a check that was proven unnecessary.
    pub removed: Removed,
    /// What is known of its loops.
    pub loops: Loops,
    /// The file that `#line` directives name; none are written without it.
    pub file: Option<String>,
    /// The C symbol, an identifier; by default `wgk_` and the entry point's name.
    pub symbol: Option<String>,
}

impl Options {
    /// Strict floats, every guarantee kept, loops trusted, no `#line`.
    pub fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            variant: Variant::Direct,
            floats: FloatMode::default(),
            bounds: Bounds::default(),
            removed: Removed::default(),
            loops: Loops::default(),
            file: None,
            symbol: None,
        }
    }

    /// Leave out every index check.
    ///
    /// # Safety
    ///
    /// Whoever runs the kernel vouches that no index is ever out of range, for all sizes of bindings and all launches: one that
    /// is reads or writes memory of others.
    #[must_use]
    #[expect(unsafe_code, reason = "who calls it vouches for the kernel")]
    pub unsafe fn unchecked(mut self) -> Self {
        self.bounds = Bounds::Unchecked(Vouched(()));
        self
    }
}
