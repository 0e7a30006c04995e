//! NVIDIA's run-time compiler, found and loaded when it is first needed. A machine with only a driver has none: kernels in WGSL
//! and CUDA C++ are refused there with one message; PTX and cubins, which need no compiler, go on.

mod library;
mod target;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime};

use library::{Library, Program};

pub use target::{NoTarget, Target};

/// The variable that names the library's file.
pub const VARIABLE: &str = "GRAPHREEL_NVRTC";

/// The oldest release whose options and C++ are known to do.
const OLDEST: (i32, i32) = (12, 0);

/// Names of the library, newest first, with the release of CUDA that they belong to.
#[cfg(not(windows))]
const SONAMES: [(i32, &str); 2] = [(13, "libnvrtc.so.13"), (12, "libnvrtc.so.12")];
#[cfg(windows)]
const SONAMES: [(i32, &str); 2] = [(13, "nvrtc64_130_0.dll"), (12, "nvrtc64_120_0.dll")];

/// Where a toolkit puts it, for a machine whose loader was not told.
const FOLDERS: [&str; 2] = ["/usr/local/cuda/lib64", "/opt/cuda/lib64"];

/// `e_machine` of a cubin.
const EM_CUDA: u16 = 190;

/// Characters of a compiler's log that an error keeps: the first messages say what is wrong.
const LOG_CHARS_MAX: usize = 16 << 10;

/// Where NVRTC may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    files: Vec<PathBuf>,
    /// The release of CUDA that the driver is for, where that is known.
    driver: Option<u32>,
}

/// Why there is no NVRTC.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "NVRTC is not there, and kernels in WGSL and CUDA C++ need it, while PTX and cubins do without; install the CUDA toolkit, or the \
     Python package nvidia-cuda-nvrtc (nvidia-cuda-nvrtc-cu12 for CUDA 12) and let GRAPHREEL_NVRTC name its library; tried {}",
    tried.join("; ")
)]
pub struct NvrtcAbsent {
    /// Each file, with what is wrong with it.
    pub tried: Vec<String>,
}

/// What NVRTC said of a source that it refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("NVRTC {}.{} gives no code for {architecture} ({cause}){}", version.0, version.1, below(log))]
pub struct Rejected {
    /// NVRTC's version.
    pub version: (i32, i32),
    /// What was compiled for.
    pub architecture: String,
    /// NVRTC's name of the failure.
    pub cause: String,
    /// Its messages, cut where they are very long.
    pub log: String,
}

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

/// NVRTC, loaded. Any number of threads may compile at once.
#[derive(Debug)]
pub struct Nvrtc {
    library: Library,
    version: (i32, i32),
    identity: String,
    /// Compute capabilities that it knows, as 90 for 9.0, in order.
    architectures: Vec<u32>,
    compiles: AtomicU64,
}

impl Search {
    /// The file that `GRAPHREEL_NVRTC` names and no other; else the system's, no newer than the driver, which would not load its code.
    /// `cuda` is the release that the driver is for, as (13, 0).
    pub fn from_environment(cuda: (u32, u32)) -> Self {
        match std::env::var_os(VARIABLE).filter(|named| !named.is_empty()) {
            Some(named) => Self { driver: Some(cuda.0), ..Self::file(named) },
            None => Self::system(cuda, std::env::var_os("CUDA_PATH").map(PathBuf::from)),
        }
    }

    /// This file and no other.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self { files: vec![path.into()], driver: None }
    }

    fn system(cuda: (u32, u32), toolkit: Option<PathBuf>) -> Self {
        let folders: Vec<PathBuf> =
            toolkit.map(|toolkit| toolkit.join("lib64")).into_iter().chain(FOLDERS.map(PathBuf::from)).collect();
        let fitting = SONAMES.iter().filter(|(major, _)| i64::from(*major) <= i64::from(cuda.0));
        let files = fitting
            .flat_map(|(_, name)| {
                std::iter::once(name.into()).chain(folders.iter().map(move |folder| folder.join(name)))
            })
            .collect();
        Self { files, driver: Some(cuda.0) }
    }
}

impl Nvrtc {
    /// Load the first that is there and new enough; which one it is goes to the log.
    ///
    /// # Errors
    ///
    /// [`NvrtcAbsent`] with everything that was tried.
    pub fn find(search: &Search) -> Result<Self, NvrtcAbsent> {
        let mut tried = Vec::new();
        for file in &search.files {
            match Self::open(file) {
                Ok(found) => {
                    tracing::info!("WGSL and CUDA C++ are compiled by {}", found.identity);
                    if let Some(driver) = search.driver.filter(|driver| found.is_newer_than(*driver)) {
                        let identity = &found.identity;
                        tracing::warn!(
                            "{identity} is newer than the driver, which is for CUDA {driver} and may refuse its code"
                        );
                    }
                    return Ok(found);
                }
                Err(why) => tried.push(format!("{}: {why}", file.display())),
            }
        }
        if tried.is_empty() {
            tried.push("nothing, for no release is as old as this driver".to_owned());
        }
        Err(NvrtcAbsent { tried })
    }

    fn open(file: &Path) -> Result<Self, String> {
        let library = Library::open(file)?;
        let version = library.version()?;
        if version < OLDEST {
            return Err(format!(
                "it is NVRTC {}.{}, and {}.{} is the oldest that does",
                version.0, version.1, OLDEST.0, OLDEST.1
            ));
        }
        let mut architectures = library.architectures()?;
        architectures.sort_unstable();
        let identity = identity(version, &library.path().unwrap_or_else(|| file.to_owned()));
        Ok(Self { library, version, identity, architectures, compiles: AtomicU64::new(0) })
    }

    fn is_newer_than(&self, release: u32) -> bool {
        i64::from(self.version.0) > i64::from(release)
    }

    /// Major and minor version.
    pub fn version(&self) -> (i32, i32) {
        self.version
    }

    /// Its name and version, and its file with what tells it from another of that version: releases of one version differ.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// How often it was asked to compile.
    pub fn compiles(&self) -> u64 {
        self.compiles.load(Ordering::Relaxed)
    }

    /// What to compile for a device of this compute capability, 90 for 9.0.
    ///
    /// # Errors
    ///
    /// [`NoTarget`] for a device that is older than all that this release knows.
    pub fn target(&self, capability: u32) -> Result<Target, NoTarget> {
        Target::choose(capability, &self.architectures, self.version)
    }

    /// Compile a source. A cubin, or PTX that ends with a zero byte, as the driver's loader takes them.
    ///
    /// # Errors
    ///
    /// [`Rejected`] with the compiler's messages.
    pub fn compile(&self, source: &Source<'_>, target: Target) -> Result<Vec<u8>, Rejected> {
        self.compiles.fetch_add(1, Ordering::Relaxed);
        let begun = Instant::now();
        let architecture = target.to_string();
        let rejected = |cause: String, log: String| Rejected {
            version: self.version,
            architecture: architecture.clone(),
            cause,
            log: cut(log),
        };
        let mut options = vec![format!("--gpu-architecture={architecture}")];
        options.extend(source.options.iter().map(|option| (*option).to_owned()));
        let mut program =
            Program::new(&self.library, source.text, source.name).map_err(|cause| rejected(cause, String::new()))?;
        program.compile(&options).map_err(|cause| rejected(cause, program.log()))?;
        let code = match target {
            Target::Cubin(_) => program.cubin(),
            Target::Ptx(_) => program.ptx(),
        };
        let mut code = code.map_err(|cause| rejected(cause, program.log()))?;
        match target {
            Target::Cubin(_) if machine(&code) != Some(EM_CUDA) => {
                return Err(rejected(format!("its {} bytes are no cubin", code.len()), program.log()));
            }
            Target::Ptx(_) if code.last() != Some(&0) => code.push(0),
            Target::Cubin(_) | Target::Ptx(_) => {}
        }
        tracing::debug!(name = source.name, %architecture, bytes = code.len(), elapsed = ?begun.elapsed(), "compiled by NVRTC");
        Ok(code)
    }
}

fn identity(version: (i32, i32), file: &Path) -> String {
    let mut text = format!("NVRTC {}.{}, {}", version.0, version.1, file.display());
    if let Ok(found) = std::fs::metadata(file) {
        let modified = found.modified().ok().and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
        text += &format!(" ({} bytes, of second {})", found.len(), modified.unwrap_or_default().as_secs());
    }
    text
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
        bytes.extend(EM_CUDA.to_le_bytes());
        assert_eq!(machine(&bytes), Some(EM_CUDA));
        assert_eq!(machine(b"error: 1"), None);
    }

    #[test]
    fn no_compiler_is_newer_than_the_driver() {
        let names = |cuda| {
            let files = Search::system(cuda, Some("toolkit".into())).files;
            files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>()
        };
        let newest = names((13, 0));
        assert_eq!(newest.len(), 2 * (2 + FOLDERS.len()));
        assert_eq!(newest[0], SONAMES[0].1);
        assert!(newest[1].starts_with("toolkit"), "{newest:?}");
        assert!(names((12, 8)).iter().all(|name| name.contains("12")), "{:?}", names((12, 8)));
        let error = Nvrtc::find(&Search::system((11, 4), None)).expect_err("none is as old");
        assert!(error.to_string().contains("as old as this driver"), "{error}");
    }

    #[test]
    fn a_log_is_cut_where_it_is_long() {
        assert_eq!(cut("é".to_owned()), "é");
        let long = cut("é".repeat(LOG_CHARS_MAX + 1));
        assert_eq!(long.chars().count(), LOG_CHARS_MAX + 4);
        assert_eq!(below(" \n"), "");
    }
}
