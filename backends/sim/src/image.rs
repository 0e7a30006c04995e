//! What the simulator loads as a module: a kernel's source behind a header, so that nothing else is taken for it.

use std::collections::HashMap;
use std::ffi::CString;

use graphreel::error::InvalidKernel;
use graphreel::kernel::{KernelSource, Variant, abi};
use graphreel::sync::{Arc, Mutex};

use crate::failure::{Answer, Fail};
use crate::interp::{Program, ProgramOptions};
use crate::op::Code;

/// The first bytes of an image.
const MAGIC: &[u8] = b"graphreel-sim\n";
/// Raised when the fields change.
const VERSION: u32 = 1;
/// Programs that are kept, so that a kernel which is loaded again is not compiled again.
const KEPT_MAX: usize = 256;

/// A kernel as it is loaded.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Image {
    version: u32,
    subgroup_size: u32,
    indirect: bool,
    source: KernelSource,
}

impl Image {
    pub(crate) fn new(source: &KernelSource, variant: Variant, subgroup_size: u32) -> Self {
        Self { version: VERSION, subgroup_size, indirect: variant == Variant::Indirect, source: source.clone() }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        serde_json::to_writer(&mut bytes, self).expect("texts and numbers always serialise");
        bytes
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let json = bytes.strip_prefix(MAGIC).ok_or("it does not begin as one")?;
        let image: Self = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        if image.version != VERSION {
            return Err(format!("its version is {}, not {VERSION}", image.version));
        }
        Ok(image)
    }
}

/// The name of a variant's function.
pub(crate) fn symbol(entry: &str, variant: Variant) -> CString {
    let name = match variant {
        Variant::Direct => entry.to_owned(),
        Variant::Indirect => format!("{entry}_indirect"),
    };
    CString::new(name).expect("WGSL names have no zero byte")
}

/// Programs by image.
#[derive(Debug, Default)]
pub(crate) struct Programs(Mutex<HashMap<Vec<u8>, Arc<Program>>>);

impl Programs {
    /// The program of an image, compiled once. The lock is not held meanwhile.
    pub(crate) fn compile(&self, image: &Image, bytes: &[u8]) -> Result<Arc<Program>, InvalidKernel> {
        if let Some(found) = self.0.lock().get(bytes) {
            return Ok(Arc::clone(found));
        }
        let options = ProgramOptions { subgroup_size: image.subgroup_size };
        let program = Arc::new(Program::new(&image.source, options)?);
        let mut kept = self.0.lock();
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.insert(bytes.to_vec(), Arc::clone(&program));
        Ok(program)
    }

    /// What a module of these bytes holds, on a device of this subgroup size.
    pub(crate) fn load(&self, bytes: &[u8], subgroup_size: u32) -> Result<Arc<Code>, Fail> {
        let refused = |why: String| Answer::refused(200, format!("no image of this simulator: {why}"));
        let image = Image::parse(bytes).map_err(refused)?;
        if image.subgroup_size != subgroup_size {
            return Err(refused(format!("its subgroups have {} invocations", image.subgroup_size)).into());
        }
        let program = self.compile(&image, bytes).map_err(|error| refused(error.to_string()))?;
        let variant = if image.indirect { Variant::Indirect } else { Variant::Direct };
        let symbol = symbol(&program.reflection().entry, variant);
        let params = abi(program.reflection(), variant);
        Ok(Arc::new(Code { program, symbol, params }))
    }
}
