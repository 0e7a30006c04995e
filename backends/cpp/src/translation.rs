//! The result of a translation, and several of them in one file.

use graphreel::error::InvalidKernel;
use graphreel::kernel::{AbiParam, KernelSource, Reflection};

use crate::{Dialect, Options};

/// One entry point as C++.
#[derive(Clone, Debug)]
pub struct Translation {
    /// The C++ it is in.
    pub dialect: Dialect,
    /// The C symbol of the kernel. In host C++ its type is `void(const uint32_t groups[3], void* const* args)`, where `args`
    /// points to the value of each parameter, as a launch of CUDA or HIP has them.
    pub symbol: String,
    /// What the kernel takes.
    pub reflection: Reflection,
    /// The parameters, in order.
    pub params: Vec<AbiParam>,
    /// Bytes of workgroup memory that are declared in the code.
    pub static_shared_bytes: u32,
    /// Bytes of workgroup memory that a launch has to ask for; 0 unless the kernel uses more than 48 KiB.
    pub dynamic_shared_bytes: u32,
    /// Options of the vendor's compiler that the float mode asks for, the C++ standard among them.
    pub compiler_options: Vec<&'static str>,
    /// Names of the prelude's functions and types that `code` uses.
    pub(crate) uses: Vec<&'static str>,
    /// What is the kernel's own.
    pub(crate) code: String,
}

impl Translation {
    /// The whole text for a compiler: the parts of the prelude that are used, and the kernel.
    pub fn source(&self) -> String {
        join(std::slice::from_ref(self))
    }
}

/// One text of several translations of one dialect and float mode, whose symbols differ.
pub fn join(translations: &[Translation]) -> String {
    let mut uses: Vec<&'static str> = translations.iter().flat_map(|one| one.uses.iter().copied()).collect();
    uses.sort_unstable();
    uses.dedup();
    translations.iter().map(|one| one.code.as_str()).collect()
}

/// Translate one entry point.
///
/// # Errors
///
/// [`InvalidKernel`] with the place in the source.
pub fn translate(source: &KernelSource, options: &Options) -> Result<Translation, InvalidKernel> {
    let _ = (source, options);
    unreachable!("the writer joins it")
}
