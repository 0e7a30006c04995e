//! Where the code cache is, and how large it may become.

use std::ffi::OsString;
use std::path::PathBuf;

use etcetera::BaseStrategy as _;

use super::CacheError;

/// The variable that names the folder, or switches the cache off with `off`.
pub const VARIABLE: &str = "GRAPHREEL_CACHE";

/// Bytes of all entries together, unless a program says otherwise: some ten thousand kernels.
pub const BYTES_MAX: u64 = 1 << 30;

/// Where the cache is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// `graphreel/code` in the folder that the system has for a user's caches.
    #[default]
    User,
    /// This folder, which is the cache's alone.
    Folder(PathBuf),
    /// Nowhere: nothing is kept.
    Off,
}

/// How a cache is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Where it is.
    pub place: Place,
    /// The most bytes of all entries together.
    pub bytes_max: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { place: Place::default(), bytes_max: BYTES_MAX }
    }
}

impl Settings {
    /// The place that `GRAPHREEL_CACHE` names, else the user's.
    pub fn from_environment() -> Self {
        Self { place: Place::named(std::env::var_os(VARIABLE)), ..Self::default() }
    }

    /// The folder; none where the cache is off.
    pub(super) fn folder(&self) -> Result<Option<PathBuf>, CacheError> {
        let folder = match &self.place {
            Place::Off => return Ok(None),
            Place::Folder(folder) => folder.clone(),
            Place::User => {
                let found = etcetera::base_strategy::choose_native_strategy().map_err(|_| CacheError::NoHome)?;
                found.cache_dir().join("graphreel").join("code")
            }
        };
        if folder.is_absolute() { Ok(Some(folder)) } else { Err(CacheError::Relative { path: folder }) }
    }
}

impl Place {
    fn named(value: Option<OsString>) -> Self {
        match value {
            Some(value) if value == "off" => Self::Off,
            Some(value) if !value.is_empty() => Self::Folder(value.into()),
            _ => Self::User,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_is_a_folder_or_off() {
        assert_eq!(Place::named(None), Place::User);
        assert_eq!(Place::named(Some("".into())), Place::User);
        assert_eq!(Place::named(Some("off".into())), Place::Off);
        assert_eq!(Place::named(Some("/a/b".into())), Place::Folder("/a/b".into()));
    }

    #[test]
    fn a_folder_has_its_whole_path() {
        let folder = |place| Settings { place, ..Settings::default() }.folder();
        assert!(matches!(folder(Place::Off), Ok(None)));
        assert!(matches!(folder(Place::Folder("a/b".into())), Err(CacheError::Relative { .. })));
        if let Ok(Some(folder)) = folder(Place::User) {
            assert!(folder.is_absolute() && folder.ends_with("graphreel/code"), "{}", folder.display());
        }
    }
}
