//! Loading a library, and whether it is absent or broken, in one line.

#![expect(unsafe_code, reason = "a library is loaded")]

use std::path::Path;

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
    // A bare name is the loader's to find, by rules of its own.
    if name.to_string_lossy().contains(std::path::is_separator) {
        file::check(name)?;
    }
    // SAFETY: the caller vouches for what the library does.
    unsafe { libloading::Library::new(name) }.map_err(|error| {
        let why = said(&error);
        if is_absent(&why, &name.display().to_string()) { Refused::Absent } else { Refused::Broken(why) }
    })
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
    use std::path::PathBuf;

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
    fn a_file_by_its_path_is_looked_at_first() {
        let folder = tempfile::tempdir().expect("a folder for a test");
        let Refused::Broken(why) = refused(folder.path()) else { panic!("it is there") };
        assert_eq!(why, "it is a directory, not a file");
    }
}
