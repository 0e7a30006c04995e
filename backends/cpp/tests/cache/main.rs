//! The code cache as its users and its folder's other users meet it: many at once, damaged entries, folders that are not to be
//! trusted, and no room.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod bound;
mod crowd;
mod damage;
mod trust;

use std::path::{Path, PathBuf};

use graphreel_cpp::cache::{Cache, Key, KeyParts, Place, Settings, Stats};

/// A cache of a folder that goes with it.
struct Rig {
    _above: tempfile::TempDir,
    folder: PathBuf,
}

impl Rig {
    /// One whose folder is not there yet.
    fn new() -> Self {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("some").join("cache");
        Self { _above: above, folder }
    }

    fn cache(&self) -> Cache {
        self.bounded(1 << 20)
    }

    fn bounded(&self, bytes_max: u64) -> Cache {
        open(&self.folder, bytes_max)
    }

    /// The file of an entry.
    fn file(&self, name: u32) -> PathBuf {
        self.folder.join(key(name).to_string())
    }
}

fn open(folder: &Path, bytes_max: u64) -> Cache {
    Cache::open(&Settings { place: Place::Folder(folder.to_owned()), bytes_max })
}

fn key(name: u32) -> Key {
    let source = name.to_string();
    Key::new(&KeyParts { source: &source, options: &["-O3"], compiler: "c 1", driver: "1", architecture: "sm_90" })
}

/// Code that tells its key, of some length.
fn code(name: u32, len: usize) -> Vec<u8> {
    name.to_le_bytes().into_iter().cycle().take(len).collect()
}

fn stats(cache: &Cache) -> Stats {
    cache.stats().unwrap()
}

#[test]
fn what_is_put_is_got_by_this_process_and_the_next() {
    let rig = Rig::new();
    let cache = rig.cache();
    assert_eq!(cache.get(&key(1)), None);
    assert!(!rig.folder.exists(), "a look makes nothing");
    for len in [0, 1, 70_000] {
        cache.put(&key(1), &code(1, len));
        assert_eq!(cache.get(&key(1)), Some(code(1, len)));
    }
    assert_eq!(cache.get(&key(2)), None);
    let Stats { entries, bytes, bytes_max, hits, misses, stored, evicted, dropped, failures } = stats(&cache);
    assert_eq!((entries, bytes_max, hits, misses, stored), (1, 1 << 20, 3, 2, 3));
    assert_eq!((evicted, dropped, failures), (0, 0, 0));
    assert!((70_000..70_200).contains(&bytes), "{bytes}");

    let next = rig.cache();
    assert_eq!(next.get(&key(1)), Some(code(1, 70_000)));
    assert_eq!(next.folder(), Some(rig.folder.as_path()));
    // What is not the cache's own stays.
    let notes = rig.folder.join("notes.txt");
    std::fs::write(&notes, "mine").unwrap();
    let removed = next.clear().unwrap();
    assert_eq!((removed.entries, removed.bytes), (1, bytes));
    assert_eq!((cache.get(&key(1)), stats(&cache).entries, notes.exists()), (None, 0, true));
}

#[test]
fn off_keeps_nothing_and_fails_nothing() {
    let cache = Cache::open(&Settings { place: Place::Off, ..Settings::default() });
    cache.put(&key(1), &[1]);
    assert_eq!((cache.get(&key(1)), cache.folder()), (None, None));
    let why = cache.refusal().unwrap().to_string();
    assert!(why.contains("off") && cache.stats().is_err() && cache.clear().is_err(), "{why}");
}

#[test]
fn a_folder_that_goes_away_is_made_again() {
    let rig = Rig::new();
    let cache = rig.cache();
    cache.put(&key(1), &[1]);
    std::fs::remove_dir_all(&rig.folder).unwrap();
    assert_eq!((cache.get(&key(1)), stats(&cache).entries), (None, 0));
    assert_eq!(cache.clear().unwrap().entries, 0);
    cache.put(&key(1), &[1]);
    assert_eq!(cache.get(&key(1)), Some(vec![1]));
}
