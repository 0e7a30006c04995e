//! Where the expectation files are, and what their names are.

use std::path::{Path, PathBuf};

use crate::LoadError;

/// The variable that names the folder.
const VARIABLE: &str = "GRAPHREEL_CTS_DIR";

/// The folder that `GRAPHREEL_CTS_DIR` names; `None` where it is not set, or empty.
pub fn named() -> Option<PathBuf> {
    std::env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Where `file` of the folder `dir` is: `binary/f32_addition` is in `binary/f32_addition.bin`.
pub fn path(dir: &Path, file: &str) -> PathBuf {
    dir.join(format!("{file}.bin"))
}

/// Every file of the folder `dir` and of the folders in it, in order, as [`path`] takes them.
///
/// # Errors
///
/// [`LoadError::Io`] where a folder cannot be read.
pub fn files(dir: &Path) -> Result<Vec<String>, LoadError> {
    let mut found = Vec::new();
    collect(dir, "", &mut found)?;
    found.sort();
    Ok(found)
}

fn collect(dir: &Path, prefix: &str, found: &mut Vec<String>) -> Result<(), LoadError> {
    let unreadable = |source| LoadError::Io { path: dir.to_owned(), source };
    for entry in std::fs::read_dir(dir).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type().map_err(unreadable)?.is_dir() {
            collect(&entry.path(), &format!("{prefix}{name}/"), found)?;
        } else if let Some(stem) = name.strip_suffix(".bin") {
            found.push(format!("{prefix}{stem}"));
        }
    }
    Ok(())
}
