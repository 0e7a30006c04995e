//! The bytes of all entries, in a file that is also the lock of whoever writes: a put knows whether there is room without a look
//! at every entry.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{CacheError, folder};

/// The file's name.
pub(super) const NAME: &str = "lock";

/// How long a put waits for its turn. A write takes milliseconds; a process may be stopped in the middle of one.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// How long to wait before looking again.
const PAUSE: Duration = Duration::from_millis(1);

/// Digits of a total, padded with zeros, so that one total replaces another in one write.
const DIGITS: usize = 20;

/// The right to write, until it is dropped or the process ends.
#[derive(Debug)]
pub(super) struct Ledger {
    file: File,
    path: PathBuf,
}

impl Ledger {
    /// Take it.
    pub(super) fn lock(folder: &Path) -> Result<Self, CacheError> {
        Self::lock_within(folder, WAIT_MAX)
    }

    fn lock_within(folder: &Path, wait_max: Duration) -> Result<Self, CacheError> {
        let path = folder.join(NAME);
        let file = folder::open(&path, OpenOptions::new().read(true).write(true).create(true).truncate(false))
            .map_err(CacheError::io("open", &path))?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { file, path }),
                Err(TryLockError::Error(error)) => return Err(CacheError::io("lock", &path)(error)),
                Err(TryLockError::WouldBlock) if begun.elapsed() >= wait_max => {
                    return Err(CacheError::Busy { waited: begun.elapsed() });
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            }
        }
    }

    /// The bytes that were written last; `None` where nothing sensible was.
    pub(super) fn total(&mut self) -> Option<u64> {
        let mut text = String::new();
        self.file.seek(SeekFrom::Start(0)).ok()?;
        (&self.file).take(DIGITS as u64 + 2).read_to_string(&mut text).ok()?;
        let digits = text.strip_suffix('\n').filter(|digits| digits.len() == DIGITS)?;
        digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
    }

    /// Write down a total.
    pub(super) fn set(&mut self, total: u64) -> Result<(), CacheError> {
        let mut write = || -> io::Result<()> {
            self.file.seek(SeekFrom::Start(0))?;
            self.file.write_all(format!("{total:0DIGITS$}\n").as_bytes())?;
            self.file.set_len(DIGITS as u64 + 1)
        };
        write().map_err(CacheError::io("write", &self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_is_read_back_and_nonsense_is_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut ledger = Ledger::lock(folder.path()).expect("it is free");
        assert_eq!(ledger.total(), None);
        for total in [0, 7, u64::MAX, 12] {
            ledger.set(total).expect("it is writable");
            assert_eq!(ledger.total(), Some(total));
        }
        for text in ["", "12", "00000000000000000012", "0000000000000000001x\n", "+0000000000000000012\n", "\u{fffd}"] {
            std::fs::write(folder.path().join(NAME), text).expect("it is writable");
            assert_eq!(ledger.total(), None, "{text:?}");
        }
    }

    #[test]
    fn a_wait_for_the_lock_ends() {
        let folder = tempfile::tempdir().expect("a folder");
        let held = Ledger::lock(folder.path()).expect("it is free");
        let error = Ledger::lock_within(folder.path(), PAUSE).expect_err("it is held");
        assert!(matches!(error, CacheError::Busy { .. }), "{error}");
        drop(held);
        Ledger::lock(folder.path()).expect("it is free again");
    }
}
