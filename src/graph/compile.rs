//! Kernels of a hardware backend: translated without the device's lock, loaded at once, so that no code is loaded inside a
//! window.

use super::driver::{Driver, DriverResult, FunctionAttribute};
use super::shared::{Orphan, Shared};
use super::translate::Translator;
use crate::caps::Caps;
use crate::error::{DriverError, DriverErrorKind, InvalidKernel, KernelProblem, Result, ServerError};
use crate::kernel::{AbiParam, Compiler, Kernel, KernelSource, Reflection, Variant, abi};
use crate::memory::DeviceId;
use crate::op::Op;
use crate::sync::{Arc, OnceLock};

/// Compiles for one device.
pub(super) struct HardwareCompiler<D: Driver> {
    pub(super) shared: Arc<Shared<D>>,
    pub(super) translator: Arc<dyn Translator>,
    pub(super) caps: Caps,
    pub(super) device: DeviceId,
}

/// A kernel as this device runs it.
pub(super) struct Loaded<D: Driver> {
    direct: Code<D>,
    /// Compiled when an indirect launch first needs it.
    indirect: OnceLock<Code<D>>,
}

/// Loaded code of one variant.
pub(super) struct Code<D: Driver> {
    shared: Arc<Shared<D>>,
    module: Option<D::Module>,
    pub(super) function: D::Function,
    pub(super) params: Vec<AbiParam>,
    pub(super) shared_bytes: u32,
}

impl<D: Driver> Loaded<D> {
    /// The code of a variant. The indirect one is there once a launch was prepared.
    pub(super) fn code(&self, variant: Variant) -> Option<&Code<D>> {
        match variant {
            Variant::Direct => Some(&self.direct),
            Variant::Indirect => self.indirect.get(),
        }
    }
}

impl<D: Driver> Drop for Code<D> {
    /// Kernels are dropped anywhere and at any time; the server unloads the code once nothing runs it.
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            self.shared.orphan(Orphan::Module(module));
        }
    }
}

impl<D: Driver> Compiler for HardwareCompiler<D> {
    fn compile(&self, source: &KernelSource) -> Result<Kernel> {
        self.shared.monitor().check()?;
        let reflection = self.translator.reflect(source)?;
        reflection.check(&self.caps).map_err(|why| refused(&reflection, KernelProblem::Unsupported(why)))?;
        let direct = self.load(source, &reflection, Variant::Direct)?;
        tracing::debug!(entry = &*reflection.entry, "kernel compiled");
        let loaded = Loaded { direct, indirect: OnceLock::new() };
        Ok(Kernel::new(self.device, source.clone(), reflection, Box::new(loaded)))
    }

    fn prepare(&self, op: &Op) -> Result<()> {
        let Op::LaunchIndirect(indirect) = op else { return Ok(()) };
        let kernel = &indirect.launch.kernel;
        let Some(loaded) = kernel.compiled::<Loaded<D>>().filter(|_| kernel.device() == self.device) else {
            return Ok(());
        };
        if loaded.indirect.get().is_none() {
            if let Some(native) = kernel.source().native() {
                native.check_variant(Variant::Indirect)?;
            }
            let code = self.load(kernel.source(), kernel.reflection(), Variant::Indirect)?;
            // Another thread may have been quicker; its code serves both.
            let _ = loaded.indirect.set(code);
        }
        Ok(())
    }
}

impl<D: Driver> HardwareCompiler<D> {
    #[expect(unsafe_code, reason = "the image comes from the translator of this driver")]
    fn load(&self, source: &KernelSource, reflection: &Reflection, variant: Variant) -> Result<Code<D>> {
        let translated = self.translator.translate(source, variant)?;
        self.shared.monitor().check()?;
        let _bound = self.shared.bind()?;
        let driver = self.shared.driver();
        // SAFETY: the translator gives complete images that this driver's compiler made; for native code its author vouched.
        let module = unsafe { driver.module_load(&translated.image) };
        let module = self.shared.settle(module, "loading a kernel").map_err(|error| self.backend(reflection, error))?;
        let function = self.shared.settle(driver.module_function(&module, &translated.symbol), "finding a kernel");
        let function = match function {
            Ok(function) => function,
            Err(error) => {
                self.shared.orphan(Orphan::Module(module));
                let symbol = translated.symbol.to_string_lossy();
                return Err(match (source.native(), error) {
                    (Some(_), ServerError::Driver(error)) => refused(reflection, missing(&symbol, &error)),
                    (_, error) => self.backend(reflection, error),
                });
            }
        };
        let (shared, params) = (self.shared.clone(), abi(reflection, variant));
        let code = Code { shared, module: Some(module), function, params, shared_bytes: translated.shared_bytes };
        // Asking for an attribute also ends lazy loading, which must not fall into a capture.
        let threads_max = driver.function_attribute(function, FunctionAttribute::ThreadsMax);
        let threads_max = self.told(reflection, threads_max)?;
        let threads: u64 = reflection.workgroup_size.iter().map(|size| u64::from(*size)).product();
        if threads > u64::from(threads_max) {
            let why = format!(
                "its workgroup has {threads} invocations, and its compiled code can run {threads_max}; use a smaller workgroup"
            );
            return Err(refused(reflection, KernelProblem::Unsupported(why)));
        }
        if source.native().is_some() || code.shared_bytes > 0 {
            self.check_shared(reflection, &code)?;
        }
        Ok(code)
    }

    /// What native code has of workgroup memory is known only once it is loaded. What launches ask for beyond what any kernel has
    /// is allowed here, before any is given to the driver or recorded.
    fn check_shared(&self, reflection: &Reflection, code: &Code<D>) -> Result<()> {
        let fixed = self.shared.driver().function_attribute(code.function, FunctionAttribute::SharedBytes);
        let fixed = self.told(reflection, fixed)?;
        let (dynamic, most) = (code.shared_bytes, self.caps.workgroup_bytes_max);
        if u64::from(fixed) + u64::from(dynamic) > u64::from(most) {
            let why = format!(
                "its code has {fixed} bytes of workgroup memory and its launches ask for {dynamic} more, and this device has {most}; use less"
            );
            return Err(refused(reflection, KernelProblem::Unsupported(why)));
        }
        if dynamic == 0 {
            return Ok(());
        }
        let driver = self.shared.driver();
        let allowed = driver.function_attribute(code.function, FunctionAttribute::DynamicBytesMax);
        if self.told(reflection, allowed)? < dynamic {
            let answer = driver.function_allow_shared(code.function, dynamic);
            let answer = self.shared.settle(answer, "allowing a kernel its workgroup memory");
            answer.map_err(|error| self.backend(reflection, error))?;
        }
        Ok(())
    }

    /// What the driver tells of loaded code. A driver that loads lazily refuses code here that it took before.
    fn told(&self, reflection: &Reflection, answer: DriverResult<u32>) -> Result<u32> {
        self.shared.settle(answer, "loading a kernel").map_err(|error| self.backend(reflection, error))
    }

    /// A refusal of the driver as one of the kernel, with what the driver's compiler said. The device's loss and a lack of memory
    /// stay themselves.
    fn backend(&self, reflection: &Reflection, error: ServerError) -> ServerError {
        match error {
            ServerError::Driver(error) if error.kind == DriverErrorKind::Refused => {
                let text = match &error.log {
                    Some(log) => format!("{} by {}:\n{log}", error.name, error.call),
                    None => error.to_string(),
                };
                refused(reflection, KernelProblem::Backend(text))
            }
            other => other,
        }
    }
}

/// Native code that has no such kernel.
fn missing(symbol: &str, error: &DriverError) -> KernelProblem {
    KernelProblem::Backend(format!(
        "the code has no kernel `{symbol}`; declare its symbol, which `extern \"C\"` makes that of its name ({error})"
    ))
}

fn refused(reflection: &Reflection, problem: KernelProblem) -> ServerError {
    InvalidKernel { kernel: Some(reflection.entry.to_string()), problem }.into()
}
