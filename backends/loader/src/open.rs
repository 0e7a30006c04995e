//! Loading a library, and whether it is absent or broken, in one line.

#![expect(unsafe_code, reason = "a library is loaded")]

use std::path::{Path, PathBuf};

use crate::file;

/// Why a library was not loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// There is none of that name.
    #[error("it is not there")]
    Absent,
    /// It is there, and is none or lacks something: why, in one line.
    #[error("{0}")]
    Broken(String),
}

/// Load the library at that path, or the one that the loader finds by a bare name.
///
/// # Errors
///
/// [`Refused`]; a file that the loader could not be given safely among the rest.
///
/// # Safety
///
/// What the library does as it is loaded and unloaded may be done at any time and on any thread.
pub unsafe fn open(name: &Path) -> Result<libloading::Library, Refused> {
    let by_path = name.to_string_lossy().contains(std::path::is_separator);
    if by_path {
        file::check(name)?;
    } else if let Some(found) = told(std::env::var_os("LD_LIBRARY_PATH"), name) {
        file::check(&found)?;
    }
    // SAFETY: the caller vouches for what the library does.
    unsafe { libloading::Library::new(name) }.map_err(|error| {
        let why = said(&error);
        // What is there and made for another machine is said to be absent.
        let absent = !by_path && is_absent(&why, &name.display().to_string());
        if absent { Refused::Absent } else { Refused::Broken(why) }
    })
}

/// The file of a bare name in the folders that the environment tells the loader of Linux, which are looked into first. Where the loader
/// finds one elsewhere, by its cache or in its own folders, it was put there by a package, and is the loader's to judge.
fn told(folders: Option<std::ffi::OsString>, name: &Path) -> Option<PathBuf> {
    let folders = folders.filter(|_| cfg!(target_os = "linux"))?;
    std::env::split_paths(&folders)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|file| file.exists())
}

/// Whether it is `name` itself that was not found: a library that lacks another one is there, and broken.
fn is_absent(why: &str, name: &str) -> bool {
    // Loaders of Linux and musl, of macOS, and of Windows by the number of its error.
    let unix = why.contains(name) && (why.contains("No such file or directory") || why.contains("no such file"));
    let other_first = !why.starts_with(name) && why.contains(": cannot open shared object file");
    (unix && !other_first) || (cfg!(windows) && why.contains("os error 126"))
}

/// What the loader said, as one line.
fn said(error: &libloading::Error) -> String {
    match error {
        libloading::Error::DlOpen { desc } => one_line(format!("{desc:?}").trim_matches('"')),
        other => one_line(&std::error::Error::source(other).map_or_else(|| other.to_string(), ToString::to_string)),
    }
}

/// A text as one line.
pub fn one_line(text: &str) -> String {
    text.lines().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(name: impl Into<PathBuf>) -> Refused {
        // SAFETY: none of the files of these tests is a library.
        unsafe { open(&name.into()) }.expect_err("it is no library")
    }

    #[test]
    fn what_is_not_there_is_absent_by_name_and_by_path() {
        assert_eq!(refused("libgraphreel-has-none.so.1"), Refused::Absent);
        assert_eq!(refused("/nowhere/libgraphreel-has-none.so.1"), Refused::Absent);
        assert_eq!(refused("./libgraphreel-has-none.so.1"), Refused::Absent);
    }

    #[test]
    fn a_library_that_lacks_another_is_not_absent() {
        let why = "libother.so: cannot open shared object file: No such file or directory";
        assert!(!is_absent(why, "/a/libours.so") && is_absent(why, "libother.so"));
    }

    #[test]
    fn a_bare_name_is_looked_for_where_the_environment_says() {
        let folder = tempfile::tempdir().expect("a folder for a test");
        let file = folder.path().join("libgraphreel-test.so.1");
        let folders = || std::env::join_paths([Path::new("/nowhere"), folder.path()]).ok();
        assert_eq!(told(folders(), Path::new("libgraphreel-test.so.1")), None);
        std::fs::write(&file, b"text").expect("a file for a test");
        assert_eq!(told(folders(), Path::new("libgraphreel-test.so.1")), cfg!(target_os = "linux").then_some(file));
        assert_eq!(told(None, Path::new("libgraphreel-test.so.1")), None);
    }

    /// Glibc says of a file for another machine that it is not there.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_file_for_another_machine_is_not_absent() {
        let folder = tempfile::tempdir().expect("a folder for a test");
        let file = folder.path().join("libother.so");
        let mut bytes = std::fs::read("/proc/self/exe").expect("this program");
        // `e_machine` is at byte 18; 2 is SPARC.
        bytes[18..20].copy_from_slice(&2u16.to_le_bytes());
        std::fs::write(&file, bytes).expect("a file for a test");
        assert!(matches!(refused(file), Refused::Broken(_)));
    }

    #[test]
    fn a_file_by_its_path_is_looked_at_first() {
        let folder = tempfile::tempdir().expect("a folder for a test");
        let Refused::Broken(why) = refused(folder.path()) else { panic!("it is there") };
        assert_eq!(why, "it is a directory, not a file");
    }
}
