//! Entries that are not what was written.

use std::fs;

use crate::{Rig, code, key, stats};

/// Each of these ends as a miss, and the next put mends it.
#[test]
fn a_damaged_entry_is_dropped_and_written_again() {
    let rig = Rig::new();
    let cache = rig.cache();
    let file = rig.file(1);
    cache.put(&key(1), &code(1, 1000));
    let whole = fs::read(&file).unwrap();
    let header = whole.len() - 1000;
    // A byte of the magic, the key, the length, the digest, and the code's first and last; nothing; a part; too much.
    let mut wrong: Vec<Vec<u8>> = [0, 20, 50, 60, header, whole.len() - 1]
        .map(|at| {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x40;
            bytes
        })
        .to_vec();
    wrong.extend([0, 10, header, whole.len() - 1].map(|len| whole[..len].to_vec()));
    wrong.extend([[whole.clone(), vec![0]].concat(), vec![0; whole.len()], b"not an entry".to_vec(), vec![7; 2 << 20]]);
    for (case, bytes) in (1u64..).zip(wrong) {
        fs::write(&file, bytes).unwrap();
        assert_eq!(cache.get(&key(1)), None, "case {case}");
        assert!(!file.exists(), "case {case}");
        assert_eq!(stats(&cache).dropped, case);
        cache.put(&key(1), &code(1, 1000));
        assert_eq!(cache.get(&key(1)), Some(code(1, 1000)), "case {case}");
    }
}

#[test]
fn an_entry_under_another_name_is_none() {
    let rig = Rig::new();
    let cache = rig.cache();
    cache.put(&key(1), &[1]);
    fs::rename(rig.file(1), rig.file(2)).unwrap();
    assert_eq!((cache.get(&key(2)), cache.get(&key(1))), (None, None));
}

#[test]
fn what_is_no_file_is_no_entry() {
    let rig = Rig::new();
    let cache = rig.cache();
    cache.put(&key(1), &[1]);
    fs::create_dir(rig.file(2)).unwrap();
    fs::write(rig.file(2).join("mine"), "").unwrap();
    assert_eq!(cache.get(&key(2)), None);
    cache.put(&key(2), &[2]);
    assert_eq!(cache.get(&key(2)), None, "it cannot be replaced");
    assert_eq!(cache.get(&key(1)), Some(vec![1]), "and the others are there");
    assert_eq!(stats(&cache).entries, 1);
    assert!(stats(&cache).failures >= 3);
    assert_eq!(cache.clear().unwrap().entries, 1);
    assert!(rig.file(2).join("mine").exists());
}

#[test]
#[cfg(unix)]
fn a_link_is_not_followed() {
    let rig = Rig::new();
    let cache = rig.cache();
    cache.put(&key(1), &[1]);
    let elsewhere = rig.folder.with_file_name("elsewhere");
    fs::rename(rig.file(1), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, rig.file(1)).unwrap();
    assert_eq!((cache.get(&key(1)), stats(&cache).dropped), (None, 1));
    std::os::unix::fs::symlink(&elsewhere, rig.file(1)).unwrap();
    let before = fs::read(&elsewhere).unwrap();
    cache.put(&key(1), &[2]);
    assert_eq!(cache.get(&key(1)), Some(vec![2]));
    assert_eq!(fs::read(&elsewhere).unwrap(), before, "the link was replaced, not what it led to");
}

/// A pipe that nobody writes to would hold its reader for ever.
#[test]
#[cfg(unix)]
fn a_pipe_holds_nobody_up() {
    let rig = Rig::new();
    let cache = rig.cache();
    cache.put(&key(1), &[1]);
    fs::remove_file(rig.file(1)).unwrap();
    let made = std::process::Command::new("mkfifo").arg(rig.file(1)).status().unwrap();
    assert!(made.success());
    assert_eq!(cache.get(&key(1)), None);
}
