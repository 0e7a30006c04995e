//! A translator that also makes each kernel runnable on the software device: the same source in host C++, registered for the
//! code object that the real translator made.
#![expect(unsafe_code, reason = "vouches for functions that it compiled itself")]

use std::sync::Arc;

use graphreel::Result;
use graphreel::error::{InvalidKernel, KernelProblem};
use graphreel::graph::{Translated, Translator};
use graphreel::kernel::{KernelSource, Reflection, Variant};
use graphreel_cpp::{Dialect, Options, translate};

use crate::{Control, HostKernels};

/// The wrapped translator of a HIP device, where the device is the software one.
pub struct Rigged {
    inner: Box<dyn Translator>,
    kernels: Arc<HostKernels>,
    control: Arc<Control>,
}

impl Rigged {
    /// Wrap one.
    pub fn new(inner: Box<dyn Translator>, kernels: Arc<HostKernels>, control: Arc<Control>) -> Self {
        Self { inner, kernels, control }
    }

    /// Register host C++ for a kernel in WGSL; native code is registered by whoever has it.
    fn register(&self, source: &KernelSource, variant: Variant, translated: &Translated) -> Result<()> {
        if source.native().is_some() {
            return Ok(());
        }
        let mut options = Options::new(Dialect::Host);
        options.variant = variant;
        options.file = Some(format!("{}.wgsl", source.entry.as_deref().unwrap_or("kernel")));
        let translation = translate(source, &options)?;
        let function = self.kernels.function(&translation.source(), &translation.symbol).map_err(|why| {
            let kernel = Some(translation.reflection.entry.to_string());
            InvalidKernel { kernel, problem: KernelProblem::Backend(why) }
        })?;
        let workgroup = Some(translation.reflection.workgroup_size);
        // SAFETY: both codes have the same parameters, which one function lists, and what is loaded stays.
        unsafe { self.control.register(&translated.image, &translated.symbol, workgroup, function) };
        Ok(())
    }
}

impl Translator for Rigged {
    fn reflect(&self, source: &KernelSource) -> Result<Reflection> {
        self.inner.reflect(source)
    }

    fn translate(&self, source: &KernelSource, variant: Variant) -> Result<Translated> {
        let translated = self.inner.translate(source, variant)?;
        self.register(source, variant, &translated)?;
        Ok(translated)
    }

    fn features(&self) -> Vec<String> {
        self.inner.features()
    }
}
