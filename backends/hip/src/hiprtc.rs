//! AMD's run-time compiler, found and loaded when it is first needed. A machine without it can run a HIP program: kernels in WGSL
//! are refused there with one message, and what needs no compiler goes on.

mod architectures;
mod identity;
mod program;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use architectures::Architectures;
use graphreel_hip_sys::comgr::Comgr;
use graphreel_hip_sys::{Library, LoadError, RtcLibrary};
use program::Program;

/// `e_machine` of a code object.
const EM_AMDGPU: u16 = 224;

/// Characters of a compiler's log that an error keeps: the first messages say what is wrong.
const LOG_CHARS_MAX: usize = 16 << 10;

/// Why there is no hipRTC.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("hipRTC is not there, and kernels in WGSL need it: {0}")]
pub struct HiprtcAbsent(#[from] pub LoadError);

/// Why hipRTC gave no code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("hipRTC {} gives no code for {architecture} ({cause}){}", identity.0, below(log))]
pub struct Rejected {
    /// Which hipRTC.
    pub identity: Identity,
    /// What was compiled for.
    pub architecture: String,
    /// hipRTC's name of the failure, or what is wrong with what it gave.
    pub cause: String,
    /// Its messages, cut where they are very long.
    pub log: String,
}

/// The version of a hipRTC, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity(pub String);

/// What is compiled.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The C++.
    pub text: &'a str,
    /// What messages call it, where it has no `#line`.
    pub name: &'a str,
    /// Options, but for the architecture.
    pub options: &'a [&'a str],
}

/// hipRTC, loaded. Any number of threads may compile at once.
#[derive(Debug)]
pub struct Hiprtc {
    library: RtcLibrary,
    identity: String,
    version: Identity,
    architectures: Architectures,
    compiles: AtomicU64,
}

impl Hiprtc {
    /// The hipRTC of a runtime: the file that `GRAPHREEL_HIPRTC_LIBRARY` names and no other; else the one that was installed with
    /// it.
    ///
    /// # Errors
    ///
    /// [`HiprtcAbsent`] with everything that was tried.
    pub fn of(runtime: &Library) -> Result<Self, HiprtcAbsent> {
        Ok(Self::new(RtcLibrary::load(runtime.version, &runtime.file)?, Some(runtime.version.release())))
    }

    /// The hipRTC in this file.
    ///
    /// # Errors
    ///
    /// [`HiprtcAbsent`].
    pub fn open(file: impl Into<std::path::PathBuf>) -> Result<Self, HiprtcAbsent> {
        Ok(Self::new(RtcLibrary::open(file)?, None))
    }

    /// `release` is the runtime's, which hipRTC came with: what hipRTC itself tells is 9.0 in each of them.
    fn new(library: RtcLibrary, release: Option<(u32, u32)>) -> Self {
        let version =
            release.map_or_else(|| "of unknown version".to_owned(), |(major, minor)| format!("{major}.{minor}"));
        let compiler = Comgr::of(&library.file);
        let identity = identity::of(&version, &library.file, &compiler.files);
        let architectures = Architectures { known: compiler.architectures, release };
        tracing::info!("WGSL is compiled by {identity}");
        Self { library, identity, version: Identity(version), architectures, compiles: AtomicU64::new(0) }
    }

    /// Its name and version, and its file and those of the compiler behind it with what tells them from others of that version.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// How often it was asked to compile.
    pub fn compiles(&self) -> u64 {
        self.compiles.load(Ordering::Relaxed)
    }

    /// Why it must not be asked for a device of this architecture, which may have features, as `gfx90a:xnack-`.
    ///
    /// # Errors
    ///
    /// That its compiler does not know it; or that this cannot be told, of a release that ends the process by such a name.
    pub fn check(&self, architecture: &str) -> Result<(), String> {
        self.architectures.check(architecture)
    }

    /// Compile a source for a device's own architecture. A code object.
    ///
    /// # Errors
    ///
    /// [`Rejected`] with the compiler's messages.
    pub fn compile(&self, source: &Source<'_>, architecture: &str) -> Result<Vec<u8>, Rejected> {
        self.compiles.fetch_add(1, Ordering::Relaxed);
        let begun = Instant::now();
        let rejected = |cause: String, log: String| Rejected {
            identity: self.version.clone(),
            architecture: architecture.to_owned(),
            cause,
            log: cut(log),
        };
        self.check(architecture).map_err(|why| rejected(why, String::new()))?;
        // Of two architectures it says that it succeeded, and gives the log of an error.
        let second = |option: &&&str| option.contains("offload-arch") || option.contains("gpu-architecture");
        if let Some(second) = source.options.iter().find(second) {
            return Err(rejected(format!("`{second}` names another one; the device's own is used"), String::new()));
        }
        let mut options = vec![format!("--offload-arch={architecture}")];
        options.extend(source.options.iter().map(|option| (*option).to_owned()));
        let calls = &self.library.calls;
        let mut program =
            Program::new(calls, source.text, source.name).map_err(|cause| rejected(cause, String::new()))?;
        program.compile(&options).map_err(|cause| rejected(cause, program.log_or_note()))?;
        let code = program.code().map_err(|cause| rejected(cause, program.log_or_note()))?;
        if machine(&code) != Some(EM_AMDGPU) {
            return Err(rejected(format!("its {} bytes are no code object", code.len()), program.log_or_note()));
        }
        tracing::debug!(name = source.name, architecture, bytes = code.len(), elapsed = ?begun.elapsed(), "compiled by hipRTC");
        Ok(code)
    }
}

/// `e_machine` of an ELF file; `None` where the bytes are none.
fn machine(bytes: &[u8]) -> Option<u16> {
    let header = bytes.strip_prefix(b"\x7fELF")?;
    // It is at byte 18 of the file.
    Some(u16::from_le_bytes([*header.get(14)?, *header.get(15)?]))
}

fn cut(mut log: String) -> String {
    if let Some((end, _)) = log.char_indices().nth(LOG_CHARS_MAX) {
        log.truncate(end);
        log += "\n...";
    }
    log
}

fn below(log: &str) -> String {
    let log = log.trim_end();
    if log.is_empty() { String::new() } else { format!(":\n{log}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_elf_file_tells_its_machine() {
        let mut bytes = b"\x7fELF".to_vec();
        assert_eq!(machine(&bytes), None);
        bytes.resize(18, 0);
        bytes.extend(EM_AMDGPU.to_le_bytes());
        assert_eq!(machine(&bytes), Some(EM_AMDGPU));
        assert_eq!(machine(b"error: 1"), None);
    }

    #[test]
    fn a_log_is_cut_where_it_is_long() {
        assert_eq!(cut("é".to_owned()), "é");
        let long = cut("é".repeat(LOG_CHARS_MAX + 1));
        assert_eq!(long.chars().count(), LOG_CHARS_MAX + 4);
        assert_eq!(below(" \n"), "");
    }
}
