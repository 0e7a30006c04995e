//! A file that several threads read at positions of their own: no cursor is shared.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::path::Path;

use super::failure::Failure;
use crate::sync::Arc;

/// An open file, and its name for errors.
#[derive(Debug)]
pub(super) struct SourceFile {
    file: File,
    name: Arc<str>,
}

impl SourceFile {
    /// Open the file if it has all of `range`.
    ///
    /// # Errors
    ///
    /// `source_unreadable`, `source_too_short`.
    pub(super) fn open(path: &Path, range: &Range<u64>) -> Result<Self, Failure> {
        let name = path.display().to_string();
        // Asked before it is opened: opening a pipe would wait for its other end.
        let found = fs::metadata(path).map_err(|error| Failure::unreadable(&name, "finding it", &error))?;
        if !found.is_file() {
            return Err(Failure::not_a_file(&name));
        }
        let opened = File::open(path).and_then(|file| file.metadata().map(|known| (file, known.len())));
        let (file, bytes) = opened.map_err(|error| Failure::unreadable(&name, "opening it", &error))?;
        if bytes < range.end {
            return Err(Failure::too_short(&name, range, bytes));
        }
        Ok(Self { file, name: name.into() })
    }

    /// Its name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Fill `bytes` from position `at` on. `range` is what the whole read asked for.
    ///
    /// # Errors
    ///
    /// `source_unreadable`; `source_too_short` of a file that was cut meanwhile.
    pub(super) fn read(&self, bytes: &mut [u8], at: u64, range: &Range<u64>) -> Result<(), Failure> {
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match read_at(&self.file, rest, at + filled as u64) {
                Ok(0) => {
                    // Another thread may have met the end further in front: what counts is where it is.
                    let end = at + filled as u64;
                    let bytes = self.file.metadata().map_or(end, |known| known.len().min(end));
                    return Err(Failure::too_short(&self.name, range, bytes));
                }
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Failure::unreadable(&self.name, "reading it", &error)),
            }
        }
        Ok(())
    }
}

/// Whether files can be read at positions here.
pub(super) const READS_AT: bool = cfg!(any(unix, windows));

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, bytes, at)
}

#[cfg(windows)]
fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    // It moves the cursor, which nothing here looks at.
    std::os::windows::fs::FileExt::seek_read(file, bytes, at)
}

#[cfg(not(any(unix, windows)))]
fn read_at(_file: &File, _bytes: &mut [u8], _at: u64) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        file.write_all(bytes).expect("it can be written");
        file
    }

    #[test]
    fn threads_read_at_positions_of_their_own() {
        let bytes: Vec<u8> = (0..100_000u32).map(|index| ((index * 31) >> 3) as u8).collect();
        let (temporary, range) = (file(&bytes), 0..bytes.len() as u64);
        let source = SourceFile::open(temporary.path(), &range).unwrap();
        std::thread::scope(|scope| {
            for first in 0..8usize {
                let (source, bytes, range) = (&source, &bytes, &range);
                scope.spawn(move || {
                    for at in (first * 1000..90_000).step_by(8000) {
                        let mut part = vec![0; 1000];
                        source.read(&mut part, at as u64, range).unwrap();
                        assert_eq!(part, bytes[at..at + 1000]);
                    }
                });
            }
        });
    }

    #[test]
    fn a_file_that_is_short_or_gets_shorter_is_told_by_both_sizes() {
        let temporary = file(&[7; 100]);
        let error = SourceFile::open(temporary.path(), &(90..101)).unwrap_err().error;
        assert_eq!((error.reason(), error.fact_value("file_bytes")), (Some("source_too_short"), Some("100")));
        assert_eq!(error.fact_value("range_end"), Some("101"));
        let range = 0..100;
        let source = SourceFile::open(temporary.path(), &range).unwrap();
        temporary.as_file().set_len(60).unwrap();
        let error = source.read(&mut [0; 50], 50, &range).unwrap_err();
        assert_eq!(
            (error.error.reason(), error.error.fact_value("file_bytes")),
            (Some("source_too_short"), Some("60"))
        );
        assert!(error.cause.to_string().contains(source.name()));
        let behind = source.read(&mut [0; 5], 90, &range).unwrap_err().error;
        assert_eq!(behind.fact_value("file_bytes"), Some("60"), "a thread further on says the same");
    }

    #[test]
    fn what_cannot_be_read_is_told_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let absent = folder.path().join("absent");
        for (path, reason) in [(absent.as_path(), "source_unreadable"), (folder.path(), "source_unreadable")] {
            let error = SourceFile::open(path, &(0..1)).unwrap_err().error;
            assert_eq!(error.reason(), Some(reason));
            assert_eq!(error.fact_value("path"), Some(path.display().to_string().as_str()));
        }
        let error = SourceFile::open(&absent, &(0..1)).unwrap_err().error;
        assert_eq!(error.fact_value("io_error"), Some("entity not found"));
    }
}
