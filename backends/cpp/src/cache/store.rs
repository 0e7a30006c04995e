//! The entries of one folder: a file each, named by its key, written beside its place and renamed into it. Its time of
//! modification is when it was last used.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::entry::{self, Corruption, HEADER_BYTES};
use super::key::{DIGEST_BYTES, Key};
use super::ledger::Ledger;
use super::{CacheError, folder};

/// What the name of a file begins with that is not renamed into its place yet.
const PART: &str = ".part-";

/// Of the bytes that are allowed, the eighths that stay when entries leave: the look at all of them pays for many puts.
const KEPT_EIGHTHS: u64 = 7;

/// Entries and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// How many.
    pub entries: u64,
    /// Bytes of their files.
    pub bytes: u64,
}

/// A folder of entries.
#[derive(Debug)]
pub(super) struct Store {
    folder: PathBuf,
    bytes_max: u64,
}

/// A file of the folder.
struct Found {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
    whole: bool,
}

impl Store {
    /// Entries of `folder`, which may not be there yet.
    pub(super) fn open(folder: PathBuf, bytes_max: u64) -> Result<Self, CacheError> {
        if folder::check(&folder)? {
            folder::above(&folder)?;
        }
        Ok(Self { folder, bytes_max })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// The code of an entry. One that is not whole is removed, and an error.
    pub(super) fn load(&self, key: &Key) -> Result<Option<Vec<u8>>, CacheError> {
        if !folder::check(&self.folder)? {
            return Ok(None);
        }
        let path = self.path(key);
        let found = match self.read(key, &path) {
            Ok(found) => found,
            // Where the system tells a link in another way than others do.
            Err(_) if fs::symlink_metadata(&path).is_ok_and(|found| !found.is_file()) => Err(Corruption::NotAFile),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(CacheError::io("read", &path)(error)),
        };
        found.map(Some).map_err(|problem| {
            // Another process may have been quicker with it; what cannot be removed fails again, as loudly.
            let _ = fs::remove_file(&path);
            CacheError::Corrupt { path, problem }
        })
    }

    fn read(&self, key: &Key, path: &Path) -> io::Result<Result<Vec<u8>, Corruption>> {
        // One system sets times only through a handle that may write.
        let file = folder::open(path, OpenOptions::new().read(true).write(cfg!(windows)))?;
        let found = file.metadata()?;
        if !found.is_file() {
            return Ok(Err(Corruption::NotAFile));
        }
        if found.len() > self.bytes_max {
            return Ok(Err(Corruption::Length));
        }
        let mut bytes = Vec::with_capacity(found.len() as usize);
        (&file).take(found.len() + 1).read_to_end(&mut bytes)?;
        let code = entry::code(key, bytes);
        if code.is_ok() {
            used_now(&file);
        }
        Ok(code)
    }

    /// Write an entry, and tell how many left for it. Nothing is flushed to the disk: what a crash leaves fails its digest.
    pub(super) fn store(&self, key: &Key, code: &[u8]) -> Result<u64, CacheError> {
        let bytes = (HEADER_BYTES + code.len()) as u64;
        if bytes > self.bytes_max {
            return Err(CacheError::TooLarge { bytes, max: self.bytes_max });
        }
        folder::make(&self.folder)?;
        let mut ledger = Ledger::lock(&self.folder)?;
        let path = self.path(key);
        let (mut total, mut evicted) = (ledger.total(), 0);
        if total.is_none_or(|total| total.saturating_add(bytes) > self.bytes_max) {
            let (left, count) = self.evict(bytes, &path)?;
            (total, evicted) = (Some(left), count);
        }
        let total = total.unwrap_or(0);
        let replaced = fs::symlink_metadata(&path).map_or(0, |found| found.len());
        // Before the file is there: where the process ends between the two, a look at the entries comes too early, never too late.
        ledger.set(total + bytes)?;
        match self.write(&path, key, code) {
            Ok(()) if replaced == 0 => Ok(evicted),
            Ok(()) => ledger.set((total + bytes).saturating_sub(replaced)).map(|()| evicted),
            Err(error) => {
                ledger.set(total)?;
                Err(CacheError::io("write", &path)(error))
            }
        }
    }

    fn write(&self, path: &Path, key: &Key, code: &[u8]) -> io::Result<()> {
        let mut part = tempfile::Builder::new().prefix(PART).tempfile_in(&self.folder)?;
        part.write_all(&entry::header(key, code))?;
        part.write_all(code)?;
        used_now(part.as_file());
        part.persist(path).map(drop).map_err(|error| error.error)
    }

    /// Make room for `bytes` more, with the lock held; the bytes that are left, and how many entries went. The entry at `replaced`
    /// leaves first, for it is about to be written again.
    fn evict(&self, bytes: u64, replaced: &Path) -> Result<(u64, u64), CacheError> {
        let mut found = self.found()?;
        // Whoever wrote a part held the lock, and is gone.
        found.sort_by_key(|file| (file.whole, file.path != replaced, file.used));
        let mut total: u64 = found.iter().map(|file| file.bytes).sum();
        let room = self.bytes_max.saturating_sub(bytes);
        let goal = if total > room { (self.bytes_max / 8 * KEPT_EIGHTHS).saturating_sub(bytes) } else { room };
        let mut evicted = 0;
        for file in found {
            if file.whole && total <= goal {
                break;
            }
            match fs::remove_file(&file.path) {
                Ok(()) => evicted += u64::from(file.whole),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    tracing::debug!("an entry of the code cache stays: {}: {error}", file.path.display());
                    continue;
                }
            }
            total -= file.bytes;
        }
        if total > room {
            return Err(CacheError::TooLarge { bytes, max: self.bytes_max - total.min(self.bytes_max) });
        }
        Ok((total, evicted))
    }

    /// Remove every entry and every part.
    pub(super) fn clear(&self) -> Result<Content, CacheError> {
        if !folder::check(&self.folder)? {
            return Ok(Content::default());
        }
        let mut ledger = Ledger::lock(&self.folder)?;
        let mut removed = Content::default();
        for file in self.found()? {
            match fs::remove_file(&file.path) {
                Ok(()) if file.whole => removed.add(&file),
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(CacheError::io("remove", &file.path)(error)),
            }
        }
        ledger.set(0)?;
        Ok(removed)
    }

    /// What is there now.
    pub(super) fn content(&self) -> Result<Content, CacheError> {
        let mut content = Content::default();
        if folder::check(&self.folder)? {
            self.found()?.iter().filter(|file| file.whole).for_each(|file| content.add(file));
        }
        Ok(content)
    }

    /// The files that are the cache's: whole entries, and parts.
    fn found(&self) -> Result<Vec<Found>, CacheError> {
        let mut all = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(CacheError::io("list", &self.folder))? {
            let entry = entry.map_err(CacheError::io("list", &self.folder))?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let whole = name.len() == 2 * DIGEST_BYTES && name.bytes().all(|byte| byte.is_ascii_hexdigit());
            if !whole && !name.starts_with(PART) {
                continue;
            }
            // One that went away meanwhile is none. A folder is nothing that the cache made, or could remove.
            let Ok(found) = entry.metadata() else { continue };
            if !found.is_dir() {
                let used = found.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                all.push(Found { path: entry.path(), bytes: found.len(), used, whole });
            }
        }
        Ok(all)
    }

    fn path(&self, key: &Key) -> PathBuf {
        self.folder.join(key.to_string())
    }
}

impl Content {
    fn add(&mut self, file: &Found) {
        self.entries += 1;
        self.bytes += file.bytes;
    }
}

/// Where the time cannot be set, as on a disk that is only read, the entry leaves earlier than it should.
fn used_now(file: &File) {
    if let Err(error) = file.set_modified(SystemTime::now()) {
        tracing::trace!("the time of an entry of the code cache stays: {error}");
    }
}
