//! What a hardware backend's compiler gives the server: an image for [`Driver::module_load`](super::Driver::module_load), and
//! the name of the function in it.

use std::ffi::CString;

use crate::error::Result;
use crate::kernel::{KernelSource, Reflection, Variant};

/// Compiles kernels for one driver: WGSL, and native code that the driver runs, by [`KernelSource::native`]. Other native code is
/// refused by [`NativeCode::refused_by`](crate::kernel::NativeCode::refused_by). Called without the device's lock, on any
/// thread; touches no device.
pub trait Translator: Send + Sync + 'static {
    /// What one entry point takes, for native code as it was declared, and refuses here what this device cannot run, each with the text for its user.
    ///
    /// # Errors
    ///
    /// [`ServerError::InvalidKernel`](crate::ServerError::InvalidKernel) with the place in the source.
    fn reflect(&self, source: &KernelSource) -> Result<Reflection>;

    /// Compile one variant of one entry point to a function that takes what [`abi`](crate::kernel::abi()) lists. Of native code
    /// only variants are asked that were declared.
    ///
    /// # Errors
    ///
    /// As [`Translator::reflect`]; what the vendor's compiler answers.
    fn translate(&self, source: &KernelSource, variant: Variant) -> Result<Translated>;

    /// WGSL features that kernels may need and this device has, by the names of [`Reflection::needs`].
    fn features(&self) -> Vec<String>;
}

/// A compiled variant of an entry point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translated {
    /// Complete code, made by the compiler that the driver's module loader belongs to.
    pub image: Vec<u8>,
    /// The function's name in it.
    pub symbol: CString,
    /// Dynamic workgroup memory in bytes that a launch must ask for.
    pub shared_bytes: u32,
}
