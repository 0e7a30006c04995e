//! CUDA C++ through NVIDIA's NVRTC, which needs neither a GPU nor a driver.

mod library;

use std::path::{Path, PathBuf};

use crate::{Absent, place};

use library::Library;

/// How `GRAPHREEL_REQUIRE` lists it.
pub const NAME: &str = "nvrtc";

/// The variable that names the library's file.
const VARIABLE: &str = "GRAPHREEL_NVRTC";

/// Names under which a system's own library is loaded, newest first.
const SONAMES: [&str; 3] = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"];

/// `e_machine` of a cubin.
const EM_CUDA: u16 = 190;

/// NVRTC, loaded.
#[derive(Debug)]
pub struct Nvrtc {
    library: Library,
    version: (i32, i32),
    path: PathBuf,
}

/// What NVRTC said of a source that it refuses.
#[derive(Clone, Debug, thiserror::Error)]
#[error("NVRTC refuses {name} for {arch} ({cause}):\n{log}")]
pub struct Log {
    /// The name that the caller gave the source.
    pub name: String,
    /// The architecture.
    pub arch: String,
    /// NVRTC's name of the failure.
    pub cause: String,
    /// Its messages.
    pub log: String,
}

impl Nvrtc {
    /// Load the library that `GRAPHREEL_NVRTC` names, else the system's, else the one that `.ci/nvrtc` unpacked.
    ///
    /// # Errors
    ///
    /// [`Absent`] with everything that was tried.
    pub fn find() -> Result<Self, Absent> {
        let mut tried = Vec::new();
        for path in candidates() {
            match Library::open(&path) {
                Ok(library) => {
                    let version = library.version();
                    return Ok(Self { library, version, path });
                }
                Err(why) => tried.push(format!("{}: {why}", path.display())),
            }
        }
        let why = format!("run .ci/nvrtc, or let {VARIABLE} name libnvrtc.so; tried {}", tried.join("; "));
        Err(Absent { name: NAME, why })
    }

    /// The file, or the name that it was found by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Major and minor version.
    pub fn version(&self) -> (i32, i32) {
        self.version
    }

    /// Compile `source` for `arch`, as `sm_90`, and give the cubin. `name` is what messages call the source.
    ///
    /// # Errors
    ///
    /// [`Log`] with NVRTC's messages.
    pub fn compile(&self, source: &str, name: &str, arch: &str, options: &[&str]) -> Result<Vec<u8>, Log> {
        let refused = |cause: String, log: String| Log { name: name.into(), arch: arch.into(), cause, log };
        let mut words = vec![format!("--gpu-architecture={arch}")];
        words.extend(options.iter().map(|option| (*option).to_owned()));
        let done = {
            let place = place::take().map_err(|error| refused(error.to_string(), String::new()))?;
            let done = self.library.compile(source, name, &words);
            drop(place);
            done
        };
        let cubin = done.map_err(|(cause, log)| refused(cause, log))?;
        if machine(&cubin) != Some(EM_CUDA) {
            return Err(refused("its output is no cubin".into(), format!("{} bytes", cubin.len())));
        }
        Ok(cubin)
    }
}

/// Where the library may be, in the order in which it is looked for.
fn candidates() -> Vec<PathBuf> {
    if let Some(named) = std::env::var_os(VARIABLE).filter(|named| !named.is_empty()) {
        return vec![named.into()];
    }
    let mut found: Vec<PathBuf> = SONAMES.iter().map(PathBuf::from).collect();
    found.extend(unpacked(&place::vendor("nvrtc")));
    found
}

/// The library below the folder where `.ci/nvrtc` leaves it.
fn unpacked(folder: &Path) -> Option<PathBuf> {
    for entry in std::fs::read_dir(folder).ok()?.flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if path.is_dir() {
            if let Some(found) = unpacked(&path) {
                return Some(found);
            }
        } else if name.starts_with("libnvrtc.so.") {
            return Some(path);
        }
    }
    None
}

/// `e_machine` of an ELF file; `None` where the bytes are none.
pub(crate) fn machine(bytes: &[u8]) -> Option<u16> {
    let header = bytes.strip_prefix(b"\x7fELF")?;
    // It is at byte 18 of the file.
    Some(u16::from_le_bytes([*header.get(14)?, *header.get(15)?]))
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
}
