//! The cache's folder: made for its user alone, and looked at before it is used, since whoever can write to it decides what code
//! runs on the device.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

use super::CacheError;

/// Make the folder, for this user alone, if it is not there, and check it.
pub(super) fn make(folder: &Path) -> Result<(), CacheError> {
    if check(folder)? {
        return Ok(());
    }
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    private(&mut builder);
    builder.create(folder).map_err(CacheError::io("make the folder", folder))?;
    above(folder)?;
    check(folder).map(drop)
}

/// Check what the folder is, and whose; whether there is one.
pub(super) fn check(folder: &Path) -> Result<bool, CacheError> {
    let found = match fs::symlink_metadata(folder) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        // A folder below a file: what is above it is told.
        Err(error) => return Err(CacheError::io("look at the folder", folder)(error)),
    };
    if !found.is_dir() {
        let what = if found.is_symlink() { "a symbolic link" } else { "a file" };
        return Err(CacheError::NotAFolder { path: folder.to_owned(), what });
    }
    owned(folder, &found)?;
    Ok(true)
}

/// Open a file of the folder without following a link, and without waiting for what is no file.
pub(super) fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    plain(options).open(path)
}

#[cfg(unix)]
fn private(builder: &mut DirBuilder) {
    use std::os::unix::fs::DirBuilderExt as _;
    builder.mode(0o700);
}

#[cfg(unix)]
fn plain(options: &mut OpenOptions) -> &mut OpenOptions {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt as _;
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    options.mode(0o600).custom_flags(flags.bits().cast_signed())
}

#[cfg(unix)]
fn owned(folder: &Path, found: &Metadata) -> Result<(), CacheError> {
    use std::os::unix::fs::MetadataExt as _;
    let (path, user) = (folder.to_owned(), rustix::process::geteuid().as_raw());
    let (owner, mode) = (found.uid(), found.mode() & 0o7777);
    if owner != user {
        return Err(CacheError::Foreign { path, owner, user });
    }
    if mode & 0o022 != 0 {
        return Err(CacheError::Writable { path, mode });
    }
    Ok(())
}

/// Check that nobody can rename a folder above this one away: one that all can write to has to be sticky, as temporary ones are.
#[cfg(unix)]
pub(super) fn above(folder: &Path) -> Result<(), CacheError> {
    use std::os::unix::fs::MetadataExt as _;
    let real = fs::canonicalize(folder).map_err(CacheError::io("look at the folder", folder))?;
    for above in real.ancestors().skip(1) {
        let found = fs::symlink_metadata(above).map_err(CacheError::io("look at the folder", above))?;
        let mode = found.mode() & 0o7777;
        if mode & 0o1002 == 0o0002 {
            return Err(CacheError::Exposed { path: folder.to_owned(), above: above.to_owned(), mode });
        }
    }
    Ok(())
}

// Elsewhere a user's folder inherits the user's own access list.
#[cfg(not(unix))]
fn private(_builder: &mut DirBuilder) {}

#[cfg(not(unix))]
fn plain(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

#[cfg(not(unix))]
fn owned(_folder: &Path, _found: &Metadata) -> Result<(), CacheError> {
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn above(_folder: &Path) -> Result<(), CacheError> {
    Ok(())
}
