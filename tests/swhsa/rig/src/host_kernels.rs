//! Kernels in host C++, compiled by g++ and loaded, for the device to call.
#![expect(unsafe_code, reason = "loads what g++ compiled")]

use std::collections::hash_map::DefaultHasher;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_LOCAL, RTLD_NOW};

use crate::Body;

/// What g++ is told: code that is fast to compile and bearable to run, no contraction of floats, and no search for names that
/// another kernel has.
const OPTIONS: [&str; 8] =
    ["-std=c++17", "-O1", "-g1", "-ffp-contract=off", "-fPIC", "-shared", "-w", "-fvisibility-inlines-hidden"];

/// Compiles kernels and keeps what it loaded, until the process ends.
#[derive(Debug)]
pub struct HostKernels {
    folder: PathBuf,
    wave: u32,
    loaded: Mutex<Vec<Library>>,
}

impl HostKernels {
    /// For waves of `wave` lanes; compiled files stay in `folder` for the next process.
    ///
    /// # Errors
    ///
    /// A line of what went wrong.
    pub fn new(folder: &Path, wave: u32) -> Result<Self, String> {
        let kernels = Self { folder: folder.to_owned(), wave, loaded: Mutex::default() };
        // Kernels find the runtime's functions in it.
        let runtime = kernels.compiled(graphreel_cpp::HOST_RUNTIME)?;
        kernels.load(&runtime, RTLD_GLOBAL)?;
        Ok(kernels)
    }

    /// Compile host C++ and find the function.
    ///
    /// # Errors
    ///
    /// What g++ or the loader said.
    pub fn function(&self, text: &str, symbol: &str) -> Result<Body, String> {
        let path = self.compiled(text)?;
        self.load(&path, RTLD_LOCAL)?;
        let loaded = self.loaded.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let library = loaded.last().ok_or("nothing is loaded")?;
        // SAFETY: the writer of the text gives its kernels this type, and the library is never unloaded before the process ends.
        let found = unsafe { library.get::<Body>(symbol.as_bytes()) };
        found.map(|function| *function).map_err(|error| format!("{symbol}: {error}"))
    }

    fn load(&self, path: &Path, scope: i32) -> Result<(), String> {
        // SAFETY: the file is what g++ made of generated code, which has no constructors with effects.
        let library = unsafe { Library::open(Some(path), RTLD_NOW | scope) };
        let library = library.map_err(|error| error.to_string())?;
        self.loaded.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(library);
        Ok(())
    }

    /// The file of a text, compiled by whichever process needs it first.
    fn compiled(&self, text: &str) -> Result<PathBuf, String> {
        let mut hasher = DefaultHasher::new();
        (text, self.wave, OPTIONS).hash(&mut hasher);
        let name = format!("kernel-{:016x}", hasher.finish());
        let at = |ending: &str| self.folder.join(format!("{name}.{ending}"));
        let library = at("so");
        if library.exists() {
            return Ok(library);
        }
        let failed = |error: std::io::Error| format!("{name}: {error}");
        let lock = File::create(at("lock")).map_err(failed)?;
        lock.lock().map_err(failed)?;
        if library.exists() {
            return Ok(library);
        }
        std::fs::write(at("cpp"), text).map_err(failed)?;
        let mut command = Command::new("g++");
        command.args(OPTIONS).arg(format!("-DWG_SUBGROUP_SIZE={}", self.wave));
        command.arg(at("cpp")).arg("-o").arg(at("part"));
        let output = command.output().map_err(failed)?;
        if !output.status.success() {
            let log = String::from_utf8_lossy(&output.stderr);
            return Err(format!("g++ refuses {}:\n{log}", at("cpp").display()));
        }
        std::fs::rename(at("part"), &library).map_err(failed)?;
        Ok(library)
    }
}

impl Drop for HostKernels {
    fn drop(&mut self) {
        // The device may still call what was registered.
        let loaded = std::mem::take(self.loaded.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner));
        loaded.into_iter().for_each(std::mem::forget);
    }
}
