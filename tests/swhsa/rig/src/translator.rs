//! A translator that also makes each kernel runnable on the software device: the same source in host C++, registered for the
//! code object that the real translator made.
#![expect(unsafe_code, reason = "vouches for functions that it compiled itself")]

use std::sync::Arc;

use graphreel::Result;
use graphreel::error::{InvalidKernel, KernelProblem};
use graphreel::graph::{Translated, Translator};
use graphreel::kernel::{KernelSource, Reflection, Variant};
use graphreel_cpp::{Dialect, Options, translate};

use crate::{Control, HostKernels, bundle, twin};

/// A kernel in a language of HIP's own, as the host runs it.
#[derive(Clone, Copy, Debug)]
pub struct Twin {
    /// The function's name in the code object.
    pub symbol: &'static str,
    /// The HIP C++ that it was made of.
    pub text: &'static str,
}

/// The wrapped translator of a HIP device, where the device is the software one.
pub struct Rigged {
    inner: Box<dyn Translator>,
    kernels: Arc<HostKernels>,
    control: Arc<Control>,
    twins: Vec<Twin>,
}

impl Rigged {
    /// Wrap one. Of kernels in HIP's own languages those run that have a twin.
    pub fn new(inner: Box<dyn Translator>, kernels: Arc<HostKernels>, control: Arc<Control>, twins: Vec<Twin>) -> Self {
        Self { inner, kernels, control, twins }
    }

    /// Register host C++ for a kernel.
    fn register(&self, source: &KernelSource, variant: Variant, translated: &Translated) -> Result<()> {
        let (text, name, reflection) = match source.native() {
            Some(native) => {
                let named = |twin: &&Twin| twin.symbol.as_bytes() == translated.symbol.as_bytes();
                // Without a twin the device refuses to launch it.
                let Some(twin) = self.twins.iter().find(named) else { return Ok(()) };
                let reflection = native.reflection().clone();
                let (text, name) = twin::text(twin.text, twin.symbol, reflection.workgroup_size);
                (text, name, reflection)
            }
            None => {
                let mut options = Options::new(Dialect::Host);
                options.variant = variant;
                options.file = Some(format!("{}.wgsl", source.entry.as_deref().unwrap_or("kernel")));
                let translation = translate(source, &options)?;
                (translation.source(), translation.symbol, translation.reflection)
            }
        };
        let function = self.kernels.function(&text, &name).map_err(|why| {
            let kernel = Some(reflection.entry.to_string());
            InvalidKernel { kernel, problem: KernelProblem::Backend(why) }
        })?;
        let workgroup = Some(reflection.workgroup_size);
        for code in bundle::code_objects(&translated.image) {
            // SAFETY: both codes have the same parameters: those that one function lists, or those of one text. What is loaded
            // stays.
            unsafe { self.control.register(code, &translated.symbol, workgroup, function) };
        }
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
