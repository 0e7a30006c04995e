//! AMD's HIP runtime, hipRTC and their headers, unpacked from Debian into a folder of their own. What is in it is newer than this
//! machine's, so programs that load it start through the loader beside it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Absent, place};

/// The newest version of Debian testing that the project's sources passed on.
pub const PASSED_ON: &str = "6.4.3-5";

/// Where Debian has the libraries, below the folder.
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

/// Where Debian has the loader, below the folder; newest layout first.
const LOADERS: [&str; 3] =
    ["usr/lib64/ld-linux-x86-64.so.2", "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", "lib64/ld-linux-x86-64.so.2"];

/// Where the packages come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suite {
    /// What becomes the next release of Debian.
    Testing,
    /// Newer, and there only at times.
    Experimental,
}

impl Suite {
    /// Both, the one that is always there first.
    pub const ALL: [Self; 2] = [Self::Testing, Self::Experimental];

    /// How `GRAPHREEL_REQUIRE` lists it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Testing => "hiprtc",
            Self::Experimental => "hip-experimental",
        }
    }

    /// The variable that names its folder.
    pub const fn variable(self) -> &'static str {
        match self {
            Self::Testing => "GRAPHREEL_HIPRTC",
            Self::Experimental => "GRAPHREEL_HIP_EXPERIMENTAL",
        }
    }

    /// Its name in the archive.
    const fn folder(self) -> &'static str {
        match self {
            Self::Testing => "testing",
            Self::Experimental => "experimental",
        }
    }
}

/// An unpacked folder.
#[derive(Clone, Debug)]
pub struct Tree {
    root: PathBuf,
    loader: PathBuf,
    version: String,
}

impl Tree {
    /// The folder that the suite's variable names, else the one that `.ci/hip` unpacked.
    ///
    /// # Errors
    ///
    /// [`Absent`] with what is missing, and the last version that passed.
    pub fn find(suite: Suite) -> Result<Self, Absent> {
        let (variable, folder) = (suite.variable(), suite.folder());
        let absent =
            |why: String| Absent { name: suite.name(), why: format!("{why}; the sources last passed on {PASSED_ON}") };
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            return Err(absent("its packages are for Linux on x86-64".into()));
        }
        let named = std::env::var_os(variable).filter(|named| !named.is_empty());
        let root = named.map_or_else(|| place::vendor("hip").join(folder).join("tree"), PathBuf::from);
        let loader = LOADERS.iter().map(|loader| root.join(loader)).find(|loader| loader.exists());
        let loader = loader.ok_or_else(|| {
            let root = root.display();
            absent(format!("{root} has no loader; run .ci/hip {folder}, or let {variable} name its folder"))
        })?;
        let version = std::fs::read_to_string(root.join("version")).unwrap_or_else(|_| "of unknown version".into());
        Ok(Self { root, loader, version: version.trim().to_owned() })
    }

    /// The package's version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The number of HIP's release that its libraries are named by.
    pub fn major(&self) -> Option<u32> {
        self.version.split('.').next()?.parse().ok()
    }

    /// Where its libraries are.
    pub fn libraries(&self) -> PathBuf {
        self.root.join(LIBRARIES)
    }

    /// Where its headers are.
    pub fn headers(&self) -> PathBuf {
        self.root.join("usr/include")
    }

    /// The library of that name, as `libamdhip64`, in its highest version.
    pub fn library(&self, name: &str) -> Option<PathBuf> {
        let folder = self.libraries();
        let names = std::fs::read_dir(&folder).ok()?.flatten();
        let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let number = |file: &String| file.strip_prefix(name)?.strip_prefix(".so.")?.parse::<u32>().ok();
        let file = names.filter(|file| number(file).is_some()).max_by_key(number)?;
        Some(folder.join(file))
    }

    /// Start a program with its loader and libraries; what `before` has is found before those.
    pub fn command(&self, program: &Path, before: &[&Path]) -> Command {
        let folders: Vec<String> = before
            .iter()
            .map(|folder| folder.display().to_string())
            .chain([self.libraries().display().to_string()])
            .collect();
        let mut command = Command::new(&self.loader);
        command.arg("--library-path").arg(folders.join(":")).arg(program);
        command
    }
}
