//! What can be wrong with the code cache. None of it is a failure of a compile.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::entry::Corruption;

/// Why the cache, or one entry of it, is not used.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// It was switched off.
    #[error("the code cache is off; unset GRAPHREEL_CACHE, or let it name a folder")]
    Off,
    /// The system tells no folder for a user's caches.
    #[error("no folder of this user's is known for the code cache; let GRAPHREEL_CACHE name one")]
    NoHome,
    /// A path that depends on where a program is started.
    #[error("the code cache's folder `{}` is not absolute; give its whole path", path.display())]
    Relative {
        /// The path.
        path: PathBuf,
    },
    /// Something else is where the folder would be.
    #[error("the code cache's folder `{}` is {what}; remove it, or let GRAPHREEL_CACHE name a folder", path.display())]
    NotAFolder {
        /// The folder.
        path: PathBuf,
        /// What it is, with its article.
        what: &'static str,
    },
    /// Another user could change what is in it.
    #[error(
        "the code cache's folder `{}` belongs to user {owner}, not to user {user}; let GRAPHREEL_CACHE name one of yours",
        path.display()
    )]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// The number of the user that it belongs to.
        owner: u32,
        /// The number of the user of this process.
        user: u32,
    },
    /// Other users may write to it.
    #[error("the code cache's folder `{}` can be written by others (mode {mode:o}); take that away with `chmod go-w`", path.display())]
    Writable {
        /// The folder.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// Other users may put another folder in its place.
    #[error(
        "the code cache's folder `{}` can be replaced by anyone, for `{}` can be written by all (mode {mode:o}); let GRAPHREEL_CACHE name another",
        path.display(), above.display()
    )]
    Exposed {
        /// The folder.
        path: PathBuf,
        /// The one above it.
        above: PathBuf,
        /// Permissions of that.
        mode: u32,
    },
    /// An entry that is not what was written. It was removed.
    #[error("the entry `{}` of the code cache was dropped: {problem}", path.display())]
    Corrupt {
        /// The entry.
        path: PathBuf,
        /// What is wrong with it.
        problem: Corruption,
    },
    /// Code that the whole cache has no room for.
    #[error("{bytes} bytes of code do not fit in a code cache of {max} bytes")]
    TooLarge {
        /// Bytes of the entry.
        bytes: u64,
        /// Bytes of the cache.
        max: u64,
    },
    /// Somebody else kept it to themselves.
    #[error("another process kept the lock of the code cache for {} ms", waited.as_millis())]
    Busy {
        /// How long it was waited for.
        waited: Duration,
    },
    /// What the file system answered.
    #[error("cannot {doing} `{}`: {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why not.
        source: Arc<io::Error>,
    },
}

impl CacheError {
    /// For `map_err`.
    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source: Arc::new(source) }
    }
}
