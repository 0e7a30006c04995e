//! The compiler of the HIP backend: WGSL becomes C++, which the code cache or hipRTC makes code for the device. It takes no
//! lock and touches no device, so that kernels are compiled on any number of threads at once.

use std::ffi::CString;
use std::sync::{Arc, OnceLock};

use graphreel::Result;
use graphreel::caps::Caps;
use graphreel::error::{InvalidKernel, KernelProblem};
use graphreel::graph::driver::{DriverCaps, DriverFacts};
use graphreel::graph::{Translated, Translator};
use graphreel::kernel::{KernelSource, NativeCode, NativeLanguage, Reflection, Variant, reflect};
use graphreel_cpp::cache::{Cache, Key, KeyParts, Settings};
use graphreel_cpp::{Dialect, FloatMode, Options, translate};
use graphreel_hip_sys::Library;

use crate::hiprtc::{Hiprtc, HiprtcAbsent, Source};

/// Every optional feature that a reflection can name: all architectures that HIP 6 supports have them.
const FEATURES: [&str; 9] =
    ["f16", "subgroups", "f64", "int16", "int64", "int64-atomics", "f32-atomics", "coherent", "volatile"];

/// What messages call a text in HIP C++.
const NATIVE_FILE: &str = "user.hip";

/// The most buffers of one kernel. Parameters have 4 KiB, of which each buffer takes 16 bytes at most.
const BINDINGS_MAX: u32 = 64;

/// What makes code of C++, for all devices of a process: hipRTC, loaded when it is first needed, and the code cache before it.
#[derive(Debug)]
pub struct Toolchain {
    find: Find,
    hiprtc: OnceLock<std::result::Result<Hiprtc, HiprtcAbsent>>,
    cache: Cache,
}

/// Where hipRTC is looked for.
#[derive(Clone, Debug)]
enum Find {
    /// Beside a runtime.
    Of(&'static Library),
    /// In this file.
    File(std::path::PathBuf),
}

impl Toolchain {
    /// The one that all devices of this process share, by `GRAPHREEL_HIPRTC_LIBRARY` and `GRAPHREEL_CACHE`.
    pub fn of_process(runtime: &'static Library) -> Arc<Self> {
        static SHARED: OnceLock<Arc<Toolchain>> = OnceLock::new();
        let open = || Self::new(Find::Of(runtime), Cache::open(&Settings::from_environment()));
        Arc::clone(SHARED.get_or_init(|| Arc::new(open())))
    }

    /// The hipRTC of this file, behind this cache.
    pub fn file(hiprtc: impl Into<std::path::PathBuf>, cache: Cache) -> Self {
        Self::new(Find::File(hiprtc.into()), cache)
    }

    fn new(find: Find, cache: Cache) -> Self {
        Self { find, hiprtc: OnceLock::new(), cache }
    }

    /// hipRTC, which is looked for once.
    ///
    /// # Errors
    ///
    /// [`HiprtcAbsent`], the same each time.
    pub fn hiprtc(&self) -> std::result::Result<&Hiprtc, HiprtcAbsent> {
        let find = || match &self.find {
            Find::Of(runtime) => Hiprtc::of(runtime),
            Find::File(file) => Hiprtc::open(file),
        };
        self.hiprtc.get_or_init(find).as_ref().map_err(Clone::clone)
    }

    /// The code cache.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Code of a text for a device of this architecture.
    fn code(
        &self,
        source: &Source<'_>,
        arch: &str,
        driver: &str,
        keep: Keep,
    ) -> std::result::Result<Vec<u8>, KernelProblem> {
        let hiprtc = self.hiprtc().map_err(|absent| KernelProblem::Unsupported(absent.to_string()))?;
        let compile = || hiprtc.compile(source, arch).map_err(|error| KernelProblem::Backend(error.to_string()));
        if keep == Keep::No {
            return compile();
        }
        let key = Key::new(&KeyParts {
            source: source.text,
            options: source.options,
            compiler: hiprtc.identity(),
            driver,
            architecture: arch,
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

/// Translates WGSL, and takes kernels in HIP C++ and code objects, for one HIP device.
#[derive(Debug)]
pub struct HipTranslator {
    limits: Caps,
    arch: String,
    /// The device's lanes of a wave, as the C++ takes them.
    wave: String,
    driver: String,
    floats: FloatMode,
    toolchain: Arc<Toolchain>,
}

impl HipTranslator {
    /// For the device that has this architecture, these facts and caps.
    ///
    /// # Errors
    ///
    /// [`graphreel::ServerError::Unsupported`] where the architecture is no `gfx`, or its waves are neither of 32 nor of 64 lanes.
    pub fn new(
        arch: &str,
        facts: &DriverFacts,
        caps: &DriverCaps,
        floats: FloatMode,
        toolchain: Arc<Toolchain>,
    ) -> Result<Self> {
        let refused = |why: &str| graphreel::ServerError::Unsupported {
            what: format!("the architecture `{arch}` of {}, with waves of {}", facts.name, caps.warp_width).into(),
            why: why.to_owned().into(),
        };
        if !is_architecture(arch) {
            return Err(refused("AMD's are called gfx90a and the like"));
        }
        if ![32, 64].contains(&caps.warp_width) {
            return Err(refused("kernels are written for waves of 32 and of 64 lanes"));
        }
        let mut limits = Caps::minimal();
        limits.bindings_max = BINDINGS_MAX;
        limits.workgroup_invocations_max = caps.group_threads_max;
        limits.workgroup_size_max = caps.threads_max;
        limits.workgroup_bytes_max = caps.shared_bytes_max;
        limits.features = FEATURES.map(str::to_owned).to_vec();
        let wave = format!("-DWG_SUBGROUP_SIZE={}u", caps.warp_width);
        Ok(Self { limits, arch: arch.to_owned(), wave, driver: facts.driver.clone(), floats, toolchain })
    }

    fn check(&self, reflection: &Reflection) -> Result<()> {
        let refused = |text| invalid(reflection, KernelProblem::Unsupported(text));
        Ok(reflection.check(&self.limits).map_err(refused)?)
    }

    /// Code in HIP's own languages: compiled where it is C++, else as it is.
    fn native(&self, native: &NativeCode, variant: Variant) -> Result<Translated> {
        let refused = |problem| invalid(native.reflection(), problem);
        let image = match native.language() {
            NativeLanguage::HipCpp => {
                let text = std::str::from_utf8(native.code()).map_err(|_| {
                    refused(KernelProblem::Signature("HIP C++ is text in UTF-8, and this is not".to_owned()))
                })?;
                // The compiler's lines are the author's.
                let text = format!("#line 1 \"{NATIVE_FILE}\"\n{text}");
                let mut options: Vec<&str> = native.options().iter().map(String::as_str).collect();
                let includes = includes(&text) || options.iter().any(|option| includes(option));
                // hipRTC's own `warpSize` is no constant in every release, so an author has the device's by this name.
                options.push(&self.wave);
                let keep = if includes { Keep::No } else { Keep::Yes };
                let source = Source { text: &text, name: NATIVE_FILE, options: &options };
                self.toolchain.code(&source, &self.arch, &self.driver, keep).map_err(refused)?
            }
            NativeLanguage::HipCodeObject => native.code().to_vec(),
            _ => return Err(native.refused_by("HIP").into()),
        };
        let symbol = native.symbol(variant).and_then(|symbol| CString::new(symbol).ok());
        let symbol = symbol.ok_or_else(|| refused(KernelProblem::Signature("it has no such variant".to_owned())))?;
        Ok(Translated { image, symbol, shared_bytes: native.shared_bytes() })
    }
}

impl Translator for HipTranslator {
    fn reflect(&self, source: &KernelSource) -> Result<Reflection> {
        let reflection = match source.native() {
            None => reflect(source)?,
            Some(native) if is_ours(native.language()) => native.reflection().clone(),
            Some(native) => return Err(native.refused_by("HIP").into()),
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
        let mut options = Options::new(Dialect::Hip);
        options.variant = variant;
        options.floats = self.floats;
        options.file = Some(file.clone());
        let translation = translate(source, &options)?;
        self.check(&translation.reflection)?;
        let refused = |problem| invalid(&translation.reflection, problem);
        let text = translation.source();
        let mut options = translation.compiler_options.clone();
        options.push(&self.wave);
        let source = Source { text: &text, name: &file, options: &options };
        let image = self.toolchain.code(&source, &self.arch, &self.driver, Keep::Yes).map_err(refused)?;
        let symbol = CString::new(translation.symbol.as_str()).expect("a symbol is an identifier");
        Ok(Translated { image, symbol, shared_bytes: translation.dynamic_shared_bytes })
    }

    fn features(&self) -> Vec<String> {
        self.limits.features.clone()
    }
}

/// Whether the runtime or hipRTC takes the language.
fn is_ours(language: NativeLanguage) -> bool {
    matches!(language, NativeLanguage::HipCpp | NativeLanguage::HipCodeObject)
}

fn invalid(reflection: &Reflection, problem: KernelProblem) -> InvalidKernel {
    InvalidKernel { kernel: Some(reflection.entry.to_string()), problem }
}

/// Whether it is a name such as `gfx90a` or `gfx90a:sramecc+:xnack-`: only such is ever given to hipRTC.
fn is_architecture(arch: &str) -> bool {
    let mut parts = arch.split(':');
    let base = parts.next().and_then(|base| base.strip_prefix("gfx")).unwrap_or_default();
    let feature = |part: &str| {
        part.strip_suffix(['+', '-'])
            .is_some_and(|name| !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase()))
    };
    !base.is_empty() && base.bytes().all(|byte| byte.is_ascii_hexdigit()) && parts.all(feature)
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

    #[test]
    fn only_names_of_architectures_are_given_to_the_compiler() {
        for arch in ["gfx90a", "gfx942:sramecc+:xnack-", "gfx1201"] {
            assert!(is_architecture(arch), "{arch}");
        }
        for arch in ["", "gfx", "sm_90", "gfx90a:", "gfx90a:xnack", "gfx90a -O0", "gfx90a:+"] {
            assert!(!is_architecture(arch), "{arch}");
        }
    }
}
