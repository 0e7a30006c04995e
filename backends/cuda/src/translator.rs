//! The compiler of the CUDA backend: WGSL becomes C++, which the code cache or NVRTC makes code for the device. It takes no
//! lock and touches no device, so that kernels are compiled on any number of threads at once.

use std::ffi::CString;
use std::sync::{Arc, Once, OnceLock};

use graphreel::Result;
use graphreel::caps::Caps;
use graphreel::error::{InvalidKernel, KernelProblem};
use graphreel::graph::driver::{DriverCaps, DriverFacts};
use graphreel::graph::{Translated, Translator};
use graphreel::kernel::{KernelSource, NativeCode, NativeLanguage, Reflection, Variant, reflect};
use graphreel_cpp::cache::{Cache, Key, KeyParts, Settings};
use graphreel_cpp::{Dialect, FloatMode, Options, translate};

use crate::nvrtc::{Nvrtc, NvrtcAbsent, Search, Source, Target};

/// Every optional feature that a reflection can name: all devices that NVRTC 12 knows have them.
const FEATURES: [&str; 9] =
    ["f16", "subgroups", "f64", "int16", "int64", "int64-atomics", "f32-atomics", "coherent", "volatile"];

/// What messages call a text in CUDA C++.
const NATIVE_FILE: &str = "user.cu";

/// The most buffers of one kernel. Parameters have 4 KiB, of which each buffer takes 16 bytes at most.
const BINDINGS_MAX: u32 = 64;

/// What makes code of C++, for all devices of a process: NVRTC, loaded when it is first needed, and the code cache before it.
#[derive(Debug)]
pub struct Toolchain {
    search: Search,
    nvrtc: OnceLock<Result<Nvrtc, NvrtcAbsent>>,
    cache: Cache,
    told: Once,
}

impl Toolchain {
    /// The one that all devices of this process share, by `GRAPHREEL_NVRTC` and `GRAPHREEL_CACHE`. `cuda` is the release that the
    /// driver is for, as (13, 0).
    pub fn of_process(cuda: (u32, u32)) -> Arc<Self> {
        static SHARED: OnceLock<Arc<Toolchain>> = OnceLock::new();
        let open = || Self::new(Search::from_environment(cuda), Cache::open(&Settings::from_environment()));
        Arc::clone(SHARED.get_or_init(|| Arc::new(open())))
    }

    /// NVRTC where the search finds it, behind this cache.
    pub fn new(search: Search, cache: Cache) -> Self {
        Self { search, nvrtc: OnceLock::new(), cache, told: Once::new() }
    }

    /// NVRTC, which is looked for once.
    ///
    /// # Errors
    ///
    /// [`NvrtcAbsent`], the same each time.
    pub fn nvrtc(&self) -> std::result::Result<&Nvrtc, NvrtcAbsent> {
        self.nvrtc.get_or_init(|| Nvrtc::find(&self.search)).as_ref().map_err(Clone::clone)
    }

    /// The code cache.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Code of a text for a device of this compute capability.
    fn code(
        &self,
        source: &Source<'_>,
        capability: u32,
        driver: &str,
        keep: Keep,
    ) -> std::result::Result<Vec<u8>, KernelProblem> {
        let nvrtc = self.nvrtc().map_err(|absent| KernelProblem::Unsupported(absent.to_string()))?;
        let target = nvrtc.target(capability).map_err(|error| KernelProblem::Unsupported(error.to_string()))?;
        if let Target::Ptx(_) = target {
            self.told.call_once(|| {
                let identity = nvrtc.identity();
                tracing::warn!(
                    "{identity} does not know sm_{capability}: the driver compiles {target} again at each load"
                );
            });
        }
        let compile = || nvrtc.compile(source, target).map_err(|error| KernelProblem::Backend(error.to_string()));
        if keep == Keep::No {
            return compile();
        }
        let key = Key::new(&KeyParts {
            source: source.text,
            options: source.options,
            compiler: nvrtc.identity(),
            driver,
            architecture: &target.to_string(),
        });
        if let Some(code) = self.cache.get(&key) {
            return Ok(code);
        }
        let code = compile()?;
        self.cache.put(&key, &code);
        Ok(code)
    }
}

/// Whether code is kept on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keep {
    Yes,
    /// What a text includes may change behind it.
    No,
}

/// Translates WGSL, and takes kernels in CUDA C++, PTX and cubins, for one CUDA device.
#[derive(Debug)]
pub struct CudaTranslator {
    limits: Caps,
    /// The device's compute capability, 90 for 9.0.
    capability: u32,
    driver: String,
    floats: FloatMode,
    toolchain: Arc<Toolchain>,
}

impl CudaTranslator {
    /// For the device that has these facts and caps.
    ///
    /// # Errors
    ///
    /// [`graphreel::ServerError::Unsupported`] where the architecture is no `sm_` and a number.
    pub fn new(facts: &DriverFacts, caps: &DriverCaps, floats: FloatMode, toolchain: Arc<Toolchain>) -> Result<Self> {
        let capability = capability(&facts.architecture).ok_or_else(|| graphreel::ServerError::Unsupported {
            what: format!("the architecture `{}` of {}", facts.architecture, facts.name).into(),
            why: "CUDA's are called sm_90 and the like".into(),
        })?;
        let mut limits = Caps::minimal();
        limits.bindings_max = BINDINGS_MAX;
        limits.workgroup_invocations_max = caps.group_threads_max;
        limits.workgroup_size_max = caps.threads_max;
        limits.workgroup_bytes_max = caps.shared_bytes_max;
        limits.features = FEATURES.map(str::to_owned).to_vec();
        Ok(Self { limits, capability, driver: facts.driver.clone(), floats, toolchain })
    }

    fn check(&self, reflection: &Reflection) -> Result<()> {
        let refused = |text| invalid(reflection, KernelProblem::Unsupported(text));
        Ok(reflection.check(&self.limits).map_err(refused)?)
    }
}

impl Translator for CudaTranslator {
    fn reflect(&self, source: &KernelSource) -> Result<Reflection> {
        let reflection = match source.native() {
            None => reflect(source)?,
            Some(native) if is_ours(native.language()) => native.reflection().clone(),
            Some(native) => return Err(native.refused_by("CUDA").into()),
        };
        self.check(&reflection)?;
        Ok(reflection)
    }

    fn translate(&self, source: &KernelSource, variant: Variant) -> Result<Translated> {
        if let Some(native) = source.native() {
            return self.native(native, variant);
        }
        // By `#line` the compiler's messages have places in the WGSL, under this name.
        let file = format!("{}.wgsl", source.entry.as_deref().unwrap_or("kernel"));
        let mut options = Options::new(Dialect::Cuda);
        options.variant = variant;
        options.floats = self.floats;
        options.file = Some(file.clone());
        let translation = translate(source, &options)?;
        self.check(&translation.reflection)?;
        let refused = |problem| invalid(&translation.reflection, problem);
        let text = translation.source();
        let source = Source { text: &text, name: &file, options: &translation.compiler_options };
        let image = self.toolchain.code(&source, self.capability, &self.driver, Keep::Yes).map_err(refused)?;
        let symbol = CString::new(translation.symbol.as_str()).expect("a symbol is an identifier");
        Ok(Translated { image, symbol, shared_bytes: translation.dynamic_shared_bytes })
    }

    fn features(&self) -> Vec<String> {
        self.limits.features.clone()
    }
}

/// Whether the driver or NVRTC takes the language.
fn is_ours(language: NativeLanguage) -> bool {
    matches!(language, NativeLanguage::CudaCpp | NativeLanguage::Ptx | NativeLanguage::Cubin)
}

impl CudaTranslator {
    /// Code in CUDA's own languages: compiled where it is C++, else as it is.
    fn native(&self, native: &NativeCode, variant: Variant) -> Result<Translated> {
        let refused = |problem| invalid(native.reflection(), problem);
        let image = match native.language() {
            NativeLanguage::CudaCpp => {
                let text = std::str::from_utf8(native.code()).map_err(|_| {
                    refused(KernelProblem::Signature("CUDA C++ is text in UTF-8, and this is not".to_owned()))
                })?;
                // The compiler's lines are the author's.
                let text = format!("#line 1 \"{NATIVE_FILE}\"\n{text}");
                let options: Vec<&str> = native.options().iter().map(String::as_str).collect();
                let includes = includes(&text) || options.iter().any(|option| includes(option));
                let keep = if includes { Keep::No } else { Keep::Yes };
                let source = Source { text: &text, name: NATIVE_FILE, options: &options };
                self.toolchain.code(&source, self.capability, &self.driver, keep).map_err(refused)?
            }
            // The driver takes PTX as a C string.
            NativeLanguage::Ptx => native.code().iter().copied().chain([0]).collect(),
            NativeLanguage::Cubin => native.code().to_vec(),
            _ => return Err(native.refused_by("CUDA").into()),
        };
        let symbol = native.symbol(variant).and_then(|symbol| CString::new(symbol).ok());
        let symbol = symbol.ok_or_else(|| refused(KernelProblem::Signature("it has no such variant".to_owned())))?;
        Ok(Translated { image, symbol, shared_bytes: native.shared_bytes() })
    }
}

fn invalid(reflection: &Reflection, problem: KernelProblem) -> InvalidKernel {
    InvalidKernel { kernel: Some(reflection.entry.to_string()), problem }
}

/// 90 of `sm_90`.
fn capability(architecture: &str) -> Option<u32> {
    let digits = architecture.strip_prefix("sm_")?;
    let digits = digits.strip_suffix(|letter: char| letter.is_ascii_lowercase()).unwrap_or(digits);
    digits.parse().ok()
}

/// Whether a text may take another one in, by whatever spelling: the word is in all of them.
fn includes(text: &str) -> bool {
    text.contains("include") || text.contains("embed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_may_take_in_another_is_known() {
        for text in
            ["#include <a.h>", "  # include \"a.h\"", "%:include <a.h>", "#if __has_include(<a.h>)", "#embed \"a\""]
        {
            assert!(includes(text), "{text}");
        }
        assert!(!includes("extern \"C\" __global__ void k() {}"));
    }
}
