//! Compiled code that is kept on disk, so that a kernel is compiled once on a machine and not once in each process.
//!
//! A cache never fails a compile: what it cannot do is logged and counted. It trusts its folder, which belongs to the user and
//! can be written by nobody else, but no content: an entry whose digest is wrong is dropped and compiled again.

mod entry;
mod error;
mod folder;
mod key;
mod ledger;
mod settings;
mod stats;
mod store;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use stats::Counters;
use store::Store;

pub use entry::Corruption;
pub use error::CacheError;
pub use key::{Key, KeyParts};
pub use settings::{BYTES_MAX, Place, Settings, VARIABLE};
pub use stats::Stats;
pub use store::Content;

/// The code cache of a process, for any number of threads; other processes may use the same folder.
#[derive(Debug)]
pub struct Cache {
    state: State,
    counters: Counters,
    complained: AtomicBool,
}

#[derive(Debug)]
enum State {
    On(Store),
    Off,
    Refused(CacheError),
}

impl Cache {
    /// A cache as the settings say. One that cannot be used safely is not used, which is logged as a warning with the reason; the
    /// folder is made when something is first put in it.
    pub fn open(settings: &Settings) -> Self {
        let state = match settings.folder() {
            Ok(None) => State::Off,
            Ok(Some(folder)) => match Store::open(folder, settings.bytes_max) {
                Ok(store) => State::On(store),
                Err(error) => State::Refused(error),
            },
            Err(error) => State::Refused(error),
        };
        match &state {
            State::On(store) => tracing::debug!(folder = %store.folder().display(), "compiled code is kept"),
            State::Off => tracing::debug!("compiled code is not kept: the cache is off"),
            State::Refused(error) => tracing::warn!("compiled code is not kept: {error}"),
        }
        Self { state, counters: Counters::default(), complained: AtomicBool::new(false) }
    }

    /// The code that was put under this key, by whichever process. `None` where there is none, or none that is whole.
    pub fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let State::On(store) = &self.state else { return None };
        match store.load(key) {
            Ok(Some(code)) => {
                self.counters.hits.fetch_add(1, Ordering::Relaxed);
                return Some(code);
            }
            Ok(None) => {}
            Err(error) => {
                if matches!(error, CacheError::Corrupt { .. }) {
                    self.counters.dropped.fetch_add(1, Ordering::Relaxed);
                }
                self.complain(&error);
            }
        }
        self.counters.misses.fetch_add(1, Ordering::Relaxed);
        None
    }

    /// Keep code under a key. What is there under it is replaced, and what was used least recently leaves where there is no room.
    pub fn put(&self, key: &Key, code: &[u8]) {
        let State::On(store) = &self.state else { return };
        match store.store(key, code) {
            Ok(evicted) => {
                self.counters.stored.fetch_add(1, Ordering::Relaxed);
                self.counters.evicted.fetch_add(evicted, Ordering::Relaxed);
            }
            Err(error) => self.complain(&error),
        }
    }

    /// Remove every entry, and tell what was removed. Files that are not the cache's stay.
    ///
    /// # Errors
    ///
    /// Why the cache is not used, and what the file system answers.
    pub fn clear(&self) -> Result<Content, CacheError> {
        match &self.state {
            State::On(store) => store.clear(),
            State::Off => Err(CacheError::Off),
            State::Refused(error) => Err(error.clone()),
        }
    }

    /// What is in the folder now, and what this process did with it. A look at every entry: for people, not for each launch.
    ///
    /// # Errors
    ///
    /// As [`Cache::clear`].
    pub fn stats(&self) -> Result<Stats, CacheError> {
        match &self.state {
            State::On(store) => Ok(self.counters.stats(store.content()?, store.bytes_max())),
            State::Off => Err(CacheError::Off),
            State::Refused(error) => Err(error.clone()),
        }
    }

    /// The folder, where one is used.
    pub fn folder(&self) -> Option<&Path> {
        match &self.state {
            State::On(store) => Some(store.folder()),
            State::Off | State::Refused(_) => None,
        }
    }

    /// Why no folder is used, where that is so: [`CacheError::Off`], or what is wrong with it.
    pub fn refusal(&self) -> Option<CacheError> {
        match &self.state {
            State::On(_) => None,
            State::Off => Some(CacheError::Off),
            State::Refused(error) => Some(error.clone()),
        }
    }

    /// A warning for the first failure; a full disk would repeat it with each kernel.
    fn complain(&self, error: &CacheError) {
        self.counters.failures.fetch_add(1, Ordering::Relaxed);
        if self.complained.swap(true, Ordering::Relaxed) {
            tracing::debug!("the code cache goes on without: {error}");
        } else {
            tracing::warn!("the code cache goes on without: {error}");
        }
    }
}
