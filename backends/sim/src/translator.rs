//! The simulator's compiler: it checks a kernel against the device and packs its source as an image.

use graphreel::Result;
use graphreel::caps::Caps;
use graphreel::error::{InvalidKernel, KernelProblem};
use graphreel::graph::driver::DriverCaps;
use graphreel::graph::{Translated, Translator};
use graphreel::kernel::{KernelSource, Reflection, Variant, reflect};
use graphreel::sync::Arc;

use crate::image::{Image, Programs, symbol};
use crate::instance::Instance;

/// Every optional feature that a reflection can name.
const FEATURES: [&str; 9] =
    ["f16", "subgroups", "f64", "int16", "int64", "int64-atomics", "f32-atomics", "coherent", "volatile"];
/// The most buffers of one kernel: more than any other backend takes.
const BINDINGS_MAX: u32 = 64;

/// Translates WGSL for one simulated device.
#[derive(Debug)]
pub struct SimTranslator {
    limits: Caps,
    subgroup_size: u32,
    programs: Arc<Programs>,
}

impl SimTranslator {
    pub(crate) fn new(instance: &Instance, caps: &DriverCaps) -> Self {
        let mut limits = Caps::minimal();
        limits.bindings_max = BINDINGS_MAX;
        limits.workgroup_invocations_max = caps.group_threads_max;
        limits.workgroup_size_max = caps.threads_max;
        limits.workgroup_bytes_max = caps.shared_bytes_max;
        limits.features = FEATURES.map(str::to_owned).to_vec();
        let subgroup_size = instance.settings.subgroup_size;
        Self { limits, subgroup_size, programs: Arc::clone(&instance.programs) }
    }
}

impl Translator for SimTranslator {
    fn reflect(&self, source: &KernelSource) -> Result<Reflection> {
        if let Some(native) = source.native() {
            return Err(native.refused_by("the simulator").into());
        }
        let reflection = reflect(source)?;
        reflection.check(&self.limits).map_err(|text| InvalidKernel {
            kernel: Some(reflection.entry.to_string()),
            problem: KernelProblem::Unsupported(text),
        })?;
        Ok(reflection)
    }

    fn translate(&self, source: &KernelSource, variant: Variant) -> Result<Translated> {
        let entry = self.reflect(source)?.entry;
        let image = Image::new(source, variant, self.subgroup_size);
        let bytes = image.bytes();
        // Compiled here, where the author can be told what the interpreter cannot run; loading finds it again.
        self.programs.compile(&image, &bytes)?;
        Ok(Translated { image: bytes, symbol: symbol(&entry, variant), shared_bytes: 0 })
    }

    fn features(&self) -> Vec<String> {
        self.limits.features.clone()
    }
}
