//! No room: what was used least recently leaves, what is too large stays out, and the bound holds.

use std::fs;

use crate::{Rig, code, key, stats};

/// Bytes of an entry's header.
const HEADER: u64 = 88;

/// Bytes of an entry, header included.
const ENTRY: usize = 1000;

fn entry(name: u32) -> Vec<u8> {
    code(name, ENTRY - HEADER as usize)
}

#[test]
fn what_was_used_least_recently_leaves() {
    let rig = Rig::new();
    let cache = rig.bounded(8 * ENTRY as u64);
    for name in 0..8 {
        cache.put(&key(name), &entry(name));
    }
    assert_eq!((stats(&cache).entries, stats(&cache).bytes), (8, 8 * ENTRY as u64));
    for used in [0, 2, 1] {
        assert_eq!(cache.get(&key(used)), Some(entry(used)));
    }
    // A seventh of the bound is left for it and the next.
    let present = || (0..20).filter(|name| rig.file(*name).exists()).collect::<Vec<_>>();
    cache.put(&key(8), &entry(8));
    assert_eq!(present(), [0, 1, 2, 5, 6, 7, 8]);
    cache.put(&key(9), &entry(9));
    assert_eq!(present(), [0, 1, 2, 5, 6, 7, 8, 9]);
    cache.put(&key(10), &entry(10));
    assert_eq!(present(), [0, 1, 2, 7, 8, 9, 10]);
    cache.get(&key(0));
    for name in 11..15 {
        cache.put(&key(name), &entry(name));
    }
    assert_eq!(present(), [0, 9, 10, 11, 12, 13, 14], "and now 2 and 1, in the order of their use");
    assert_eq!(stats(&cache).evicted, 8);
    assert_eq!(stats(&cache).bytes, 7 * ENTRY as u64);
}

#[test]
fn entries_that_are_replaced_take_no_room() {
    let rig = Rig::new();
    let cache = rig.bounded(4 * ENTRY as u64);
    let content = |round: u32| code(round, 100 + (round as usize * 7) % 800);
    for round in 0..100 {
        for name in 0..3 {
            cache.put(&key(name), &content(round));
        }
    }
    assert_eq!((stats(&cache).entries, stats(&cache).evicted), (3, 0));
    for name in 0..3 {
        assert_eq!(cache.get(&key(name)), Some(content(99)));
    }
}

#[test]
fn what_is_too_large_stays_out() {
    let rig = Rig::new();
    let cache = rig.bounded(2 * ENTRY as u64);
    cache.put(&key(0), &entry(0));
    cache.put(&key(1), &code(1, 2 * ENTRY));
    assert_eq!((cache.get(&key(1)), cache.get(&key(0))), (None, Some(entry(0))));
    assert_eq!(stats(&cache).failures, 1);
    cache.put(&key(2), &code(2, 2 * ENTRY - HEADER as usize));
    assert_eq!(cache.get(&key(2)).map(|code| code.len()), Some(2 * ENTRY - HEADER as usize), "it fills the cache");
    assert_eq!(stats(&cache).entries, 1);
    let none = rig.bounded(0);
    none.put(&key(3), &[]);
    assert_eq!(none.get(&key(3)), None);
}

/// What a process left that ended in the middle of a write, and a total that says nothing or too little.
#[test]
fn remains_are_swept_and_a_lost_total_is_counted_again() {
    let rig = Rig::new();
    let cache = rig.bounded(4 * ENTRY as u64);
    cache.put(&key(0), &entry(0));
    let part = rig.folder.join(".part-abc");
    fs::write(&part, vec![0; 3 * ENTRY]).unwrap();
    let stranger = rig.folder.join("README");
    fs::write(&stranger, vec![0; 9 * ENTRY]).unwrap();
    fs::write(rig.folder.join("lock"), "nonsense").unwrap();
    cache.put(&key(1), &entry(1));
    assert!(!part.exists() && stranger.exists());
    assert_eq!((stats(&cache).entries, stats(&cache).bytes), (2, 2 * ENTRY as u64));
    for name in 2..40 {
        if name % 5 == 0 {
            fs::write(rig.folder.join("lock"), format!("{:020}\n", u64::MAX)).unwrap();
        }
        cache.put(&key(name), &entry(name));
        assert_eq!(cache.get(&key(name)), Some(entry(name)));
        assert!(stats(&cache).bytes <= 4 * ENTRY as u64, "{:?}", stats(&cache));
    }
}
