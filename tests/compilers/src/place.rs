//! Folders: cargo's target folder, what is kept in it, and the right to one of the two places where compilers run.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Compiles that run at once, over all processes of a test run: each takes a core and up to a gigabyte.
const PLACES: usize = 2;

/// How long to wait before looking again for a free place.
const PAUSE: Duration = Duration::from_millis(20);

/// The folder that cargo builds in, found by where this program lies; the system's temporary one where it lies elsewhere.
pub(crate) fn target() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    let found =
        program.ancestors().find(|folder| folder.join("vendor").is_dir() || folder.join("CACHEDIR.TAG").is_file());
    found.map_or_else(std::env::temp_dir, Path::to_owned)
}

/// What an earlier run of the scripts in `.ci` unpacked under this name, and this program may find where no variable says
/// where it is.
pub(crate) fn vendor(name: &str) -> PathBuf {
    target().join("vendor").join(name)
}

/// A folder whose content lasts over processes: what is compiled once for all tests.
pub(crate) fn kept() -> std::io::Result<PathBuf> {
    let folder = target().join("vendor").join("host");
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// The lock on the file of this name in [`kept`], until it is dropped or the process ends.
pub(crate) fn lock(name: &str) -> std::io::Result<File> {
    let file = File::create(kept()?.join(name))?;
    file.lock()?;
    Ok(file)
}

/// One of the places where compilers run, as soon as one is free, until it is dropped.
pub(crate) fn take() -> std::io::Result<File> {
    let files: Vec<File> = (0..PLACES)
        .map(|place| File::create(kept()?.join(format!("place-{place}"))))
        .collect::<std::io::Result<_>>()?;
    loop {
        if let Some(taken) = files.iter().position(|file| file.try_lock().is_ok()) {
            return files[taken].try_clone();
        }
        std::thread::sleep(PAUSE);
    }
}

/// A number by which texts are told apart.
pub(crate) fn hash(texts: &[&str]) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    texts.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_compiles_than_places_run_at_once() {
        let first = take().expect("a place");
        let second = take().expect("another place");
        let waiting = std::thread::spawn(|| drop(take().expect("a place that was given back")));
        std::thread::sleep(PAUSE * 3);
        drop(first);
        waiting.join().expect("it had its turn");
        drop(second);
    }
}
