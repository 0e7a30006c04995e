//! Folders that others could change, or that are none: the cache is not used, says why, and fails nothing.

#![cfg(unix)]

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use graphreel_cpp::cache::{Cache, CacheError};

use crate::{Rig, key, open};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn refused(cache: &Cache) -> CacheError {
    cache.put(&key(1), &[1]);
    assert_eq!(cache.get(&key(1)), None);
    assert_eq!(cache.folder(), None);
    let error = cache.refusal().expect("it is refused");
    assert_eq!(cache.stats().unwrap_err().to_string(), error.to_string());
    error
}

#[test]
fn the_folder_and_its_files_are_the_users_alone() {
    let rig = Rig::new();
    rig.cache().put(&key(1), &[1]);
    assert_eq!(mode(&rig.folder), 0o700);
    let files: Vec<_> = fs::read_dir(&rig.folder).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 2);
    for file in files {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[test]
fn a_folder_that_others_can_write_to_is_not_used() {
    let rig = Rig::new();
    let cache = rig.cache();
    cache.put(&key(1), &[1]);
    for wrong in [0o770, 0o702, 0o777, 0o1777] {
        set_mode(&rig.folder, wrong);
        let error = refused(&rig.cache());
        assert!(matches!(error, CacheError::Writable { mode, .. } if mode == wrong), "{error}");
        assert_eq!(cache.get(&key(1)), None, "one that is open sees it too");
        cache.put(&key(2), &[2]);
        assert!(!rig.file(2).exists());
    }
    set_mode(&rig.folder, 0o755);
    assert_eq!(rig.cache().get(&key(1)), Some(vec![1]), "others may look");
}

#[test]
fn a_folder_that_anyone_could_replace_is_not_used() {
    let rig = Rig::new();
    rig.cache().put(&key(1), &[1]);
    let above = rig.folder.parent().unwrap();
    set_mode(above, 0o777);
    let error = refused(&rig.cache());
    assert!(matches!(error, CacheError::Exposed { mode: 0o777, .. }), "{error}");
    set_mode(above, 0o1777);
    assert_eq!(rig.cache().get(&key(1)), Some(vec![1]), "a sticky folder is what temporary ones are");
}

#[test]
fn a_link_or_a_file_in_the_folders_place_is_not_used() {
    let rig = Rig::new();
    rig.cache().put(&key(1), &[1]);
    let link = rig.folder.with_file_name("link");
    symlink(&rig.folder, &link).unwrap();
    let error = refused(&open(&link, 1 << 20));
    assert!(matches!(error, CacheError::NotAFolder { what: "a symbolic link", .. }), "{error}");
    let file = rig.folder.with_file_name("file");
    fs::write(&file, "mine").unwrap();
    let error = refused(&open(&file, 1 << 20));
    assert!(matches!(error, CacheError::NotAFolder { what: "a file", .. }), "{error}");
    let error = refused(&open(&file.join("below"), 1 << 20));
    assert!(matches!(error, CacheError::Io { .. }), "{error}");
    assert_eq!(fs::read(&file).unwrap(), b"mine");
    let dangling = rig.folder.with_file_name("dangling");
    symlink("nowhere", &dangling).unwrap();
    assert!(matches!(refused(&open(&dangling, 1 << 20)), CacheError::NotAFolder { .. }));
    assert!(matches!(refused(&open(Path::new("relative"), 1 << 20)), CacheError::Relative { .. }));
}

/// Only one who may give files away can make such a folder, or one that may not be written to.
#[test]
fn a_folder_of_another_user_is_not_used() {
    let rig = Rig::new();
    fs::create_dir_all(&rig.folder).unwrap();
    set_mode(&rig.folder, 0o700);
    let user = fs::metadata(&rig.folder).unwrap().uid();
    if std::os::unix::fs::chown(&rig.folder, Some(user + 1), None).is_err() {
        // Every system has folders of its own.
        let root = Path::new("/usr");
        assert_ne!(user, 0);
        assert!(matches!(refused(&open(root, 1 << 20)), CacheError::Foreign { owner: 0, .. }));
        return;
    }
    let error = refused(&rig.cache());
    assert!(
        matches!(error, CacheError::Foreign { owner, user: mine, .. } if (owner, mine) == (user + 1, user)),
        "{error}"
    );
}

/// The lock is opened as carefully as an entry: nothing is written through a link.
#[test]
fn a_link_in_the_locks_place_is_not_followed() {
    let rig = Rig::new();
    let cache = rig.cache();
    cache.put(&key(1), &[1]);
    let victim = rig.folder.with_file_name("victim");
    fs::write(&victim, "mine").unwrap();
    fs::remove_file(rig.folder.join("lock")).unwrap();
    symlink(&victim, rig.folder.join("lock")).unwrap();
    cache.put(&key(2), &[2]);
    assert_eq!((cache.get(&key(2)), cache.get(&key(1))), (None, Some(vec![1])));
    assert_eq!(fs::read(&victim).unwrap(), b"mine");
}
