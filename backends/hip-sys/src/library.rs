//! Loading AMD's runtime at run time, once; and why there is none, in one line.
//!
//! Nothing of it is called before its version and the presence of every call that is used are known, so that no runtime makes a
//! program panic.

#![expect(unsafe_code, reason = "a library is loaded, and asked for its version")]

use std::ffi::{OsString, c_int, c_uint};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use graphreel_loader::{Refused, origin};

use crate::calls::Calls;

/// The variable that names the runtime's file.
pub const LIBRARY_VARIABLE: &str = "GRAPHREEL_HIP_LIBRARY";

/// The variable that names hipRTC's file.
pub const RTC_VARIABLE: &str = "GRAPHREEL_HIPRTC_LIBRARY";

/// The oldest runtime that is served: HIP 6.0 changed layouts, and none has since.
const VERSION_MIN: Version = Version(60_000_000);

/// What the runtime's library is called, best name first.
#[cfg(not(windows))]
const NAMES: [&str; 3] = ["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so"];
#[cfg(windows)]
const NAMES: [&str; 2] = ["amdhip64_7.dll", "amdhip64_6.dll"];

/// What is too old by its name. It is looked for last, to be told so.
#[cfg(not(windows))]
const OLD_NAMES: [&str; 1] = ["libamdhip64.so.5"];
#[cfg(windows)]
const OLD_NAMES: [&str; 0] = [];

/// What hipRTC's library is called, with the release that it belongs to, newest first.
#[cfg(not(windows))]
const RTC_NAMES: [(u32, &str); 2] = [(7, "libhiprtc.so.7"), (6, "libhiprtc.so.6")];
#[cfg(windows)]
const RTC_NAMES: [(u32, &str); 2] = [(7, "hiprtc0701.dll"), (6, "hiprtc0604.dll")];

/// Where ROCm puts them, for a machine whose loader was not told.
#[cfg(not(windows))]
const FOLDERS: [&str; 1] = ["/opt/rocm/lib"];
#[cfg(windows)]
const FOLDERS: [&str; 0] = [];

/// A version of HIP, as the runtime counts: major times 10,000,000, minor times 100,000, patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub c_int);

impl Version {
    /// Major and minor, as (6, 4).
    pub fn release(self) -> (u32, u32) {
        let number = |value: c_int| u32::try_from(value).unwrap_or(0);
        (number(self.0 / 10_000_000), number(self.0 % 10_000_000 / 100_000))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.release();
        write!(f, "{major}.{minor}.{}", self.0 % 100_000)
    }
}

/// Why there is no library that serves, in one line with the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// Nothing is installed where it is looked for.
    #[error("no {what}: install ROCm, or let {variable} name the file; tried {}", tried.join(", "))]
    Absent {
        /// What was looked for.
        what: &'static str,
        /// The variable that can name it.
        variable: &'static str,
        /// Every name and file.
        tried: Vec<String>,
    },
    /// It is there and cannot be loaded, or does not answer.
    #[error("{} cannot be used, install ROCm anew: {why}", file.display())]
    Broken {
        /// The name or file.
        file: PathBuf,
        /// What the loader or the library said.
        why: String,
    },
    /// It lacks a function.
    #[error("{}{} lacks {missing}: install ROCm anew", file.display(), of(*version))]
    MissingSymbol {
        /// The name or file.
        file: PathBuf,
        /// Its version, where it told one.
        version: Option<Version>,
        /// The function.
        missing: &'static str,
    },
    /// Its structures are others than this crate has.
    #[error("{} is HIP {version}, and 6.0 is the oldest that will do: update ROCm", file.display())]
    TooOld {
        /// The name or file.
        file: PathBuf,
        /// Its version.
        version: Version,
    },
}

fn of(version: Option<Version>) -> String {
    version.map_or_else(String::new, |version| format!(", HIP {version},"))
}

/// AMD's runtime, loaded. It is never unloaded, since its threads may run until the process ends.
#[derive(Clone, Debug)]
pub struct Library {
    /// Its functions.
    pub calls: Calls,
    /// Its version.
    pub version: Version,
    /// The file that it came from, or the name that it was looked for by.
    pub file: PathBuf,
}

/// The runtime of this process, loaded by the first call: the file that `GRAPHREEL_HIP_LIBRARY` names and no other; else the first
/// that is there.
///
/// # Errors
///
/// Why there is none, the same each time.
pub fn library() -> Result<&'static Library, &'static LoadError> {
    static LOADED: OnceLock<Result<Library, LoadError>> = OnceLock::new();
    LOADED.get_or_init(|| Library::find(&Candidates::runtime(std::env::var_os(LIBRARY_VARIABLE)))).as_ref()
}

impl Library {
    /// The file of that name and no other.
    ///
    /// # Errors
    ///
    /// Why it does not do.
    pub fn open(file: impl Into<PathBuf>) -> Result<Self, LoadError> {
        Self::find(&Candidates::file(file.into(), "HIP runtime"))
    }

    pub(crate) fn find(candidates: &Candidates) -> Result<Self, LoadError> {
        candidates.first(Self::check)
    }

    /// A library that can be served: its version first, which says more than a name that an old one lacks.
    fn check(loaded: &libloading::Library, name: &Path) -> Result<Self, LoadError> {
        let version = version(loaded, name)?;
        if version < VERSION_MIN {
            return Err(LoadError::TooOld { file: name.to_owned(), version });
        }
        let calls = Calls::find(loaded).map_err(|missing| LoadError::MissingSymbol {
            file: name.to_owned(),
            version: Some(version),
            missing,
        })?;
        let file = origin(loaded, c"hipInit").unwrap_or_else(|| name.to_owned());
        tracing::info!(file = %file.display(), hip = %version, "HIP runtime loaded");
        Ok(Self { calls, version, file })
    }
}

/// What `hipRuntimeGetVersion` answers, which needs no device.
fn version(loaded: &libloading::Library, name: &Path) -> Result<Version, LoadError> {
    type Call = unsafe extern "C" fn(*mut c_int) -> c_uint;
    let missing = "hipRuntimeGetVersion";
    // SAFETY: AMD's header declares the function with this type.
    let call = unsafe { loaded.get::<Call>(b"hipRuntimeGetVersion\0") };
    let call = call.map_err(|_| LoadError::MissingSymbol { file: name.to_owned(), version: None, missing })?;
    let mut version = 0;
    // SAFETY: the call writes one number, and the library is loaded.
    match unsafe { call(&raw mut version) } {
        0 => Ok(Version(version)),
        code => Err(LoadError::Broken { file: name.to_owned(), why: format!("{missing} answered {code}") }),
    }
}

/// Where a library may be.
#[derive(Clone, Debug)]
pub(crate) struct Candidates {
    pub(crate) files: Vec<PathBuf>,
    /// Whether the last of them is another library, which may have what is looked for.
    pub(crate) last_may_lack: bool,
    what: &'static str,
    variable: &'static str,
}

impl Candidates {
    /// Of the runtime; `named` is the file that a variable names. Every place is looked into before an old name is, since two
    /// runtimes in one process are one too many.
    pub(crate) fn runtime(named: Option<OsString>) -> Self {
        match named.filter(|named| !named.is_empty()) {
            Some(named) => Self::file(named.into(), "HIP runtime"),
            None => {
                let of = |names: &'static [&str]| names.iter().map(PathBuf::from).chain(in_folders(names));
                let files = of(&NAMES).chain(of(&OLD_NAMES)).collect();
                Self { files, ..Self::file(PathBuf::new(), "HIP runtime") }
            }
        }
    }

    /// Of hipRTC beside a runtime of that version, which is in that file.
    pub(crate) fn rtc(named: Option<OsString>, runtime: Version, file: &Path) -> Self {
        if let Some(named) = named.filter(|named| !named.is_empty()) {
            return Self::file(named.into(), "hipRTC");
        }
        let major = runtime.release().0;
        let names: Vec<&str> = RTC_NAMES.iter().filter(|(of, _)| *of <= major).map(|(_, name)| *name).collect();
        let beside = names.iter().filter_map(|name| Some(file.parent()?.join(name))).filter(|path| path.is_absolute());
        let mut files: Vec<PathBuf> = beside.collect();
        files.extend(names.iter().map(PathBuf::from).chain(in_folders(&names)));
        files.push(file.to_owned());
        Self { files, last_may_lack: true, ..Self::file(PathBuf::new(), "hipRTC") }
    }

    /// This file and no other.
    pub(crate) fn file(file: PathBuf, what: &'static str) -> Self {
        let variable = if what == "hipRTC" { RTC_VARIABLE } else { LIBRARY_VARIABLE };
        Self { files: vec![file], last_may_lack: false, what, variable }
    }

    /// What `serve` makes of the first file that serves. One that is there and does not is passed over.
    ///
    /// # Errors
    ///
    /// Where none serves: what is wrong with the first that is there, else everything that was tried.
    pub(crate) fn first<T>(
        &self,
        serve: impl Fn(&libloading::Library, &Path) -> Result<T, LoadError>,
    ) -> Result<T, LoadError> {
        let (mut tried, mut unfit) = (Vec::new(), None);
        for name in &self.files {
            let served = match open(name, &mut tried) {
                Ok(Some(loaded)) => {
                    let served = serve(&loaded, name);
                    // It stays loaded, whether it serves or not. AMD's libraries do so whatever the loader is asked, as seen of
                    // 6.4 and 7.2 once they told their version; and what they start and leave for the process's end would point
                    // nowhere in one that went.
                    std::mem::forget(loaded);
                    served
                }
                Ok(None) => continue,
                Err(error) => Err(error),
            };
            match (served, &unfit) {
                (Ok(found), None) => return Ok(found),
                (Ok(found), Some(unfit)) => {
                    tracing::warn!("{unfit}; {} is used instead", name.display());
                    return Ok(found);
                }
                // The runtime of a new HIP is there without a compiler in it.
                (Err(LoadError::MissingSymbol { missing, .. }), _)
                    if self.last_may_lack && Some(name) == self.files.last() =>
                {
                    tried.push(format!("{} (it has no {missing})", name.display()));
                }
                (Err(error), None) => unfit = Some(error),
                (Err(_), Some(_)) => {}
            }
        }
        Err(unfit.unwrap_or(LoadError::Absent { what: self.what, variable: self.variable, tried }))
    }
}

fn in_folders(names: &[&'static str]) -> impl Iterator<Item = PathBuf> {
    FOLDERS.iter().flat_map(|folder| names.iter().map(move |name| Path::new(folder).join(name)))
}

/// Load a library that is there; one that is not is put with what was tried.
pub(crate) fn open(name: &Path, tried: &mut Vec<String>) -> Result<Option<libloading::Library>, LoadError> {
    // SAFETY: AMD's libraries may be loaded and initialised at any time and on any thread, and none is unloaded.
    match unsafe { graphreel_loader::open(name) } {
        Ok(loaded) => Ok(Some(loaded)),
        Err(Refused::Broken(why)) => Err(LoadError::Broken { file: name.to_owned(), why }),
        Err(Refused::Absent) => {
            tried.push(name.display().to_string());
            Ok(None)
        }
    }
}
