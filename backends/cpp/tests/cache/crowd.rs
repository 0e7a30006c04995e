//! Many threads and many processes in one folder, in which there is no room for what they all write.

use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use graphreel_cpp::cache::{Cache, Settings, VARIABLE};

use crate::{Rig, code, key, stats};

const KEYS: u32 = 24;
const ROUNDS: u32 = 60;
/// Room for half of what is written.
const BYTES_MAX: u64 = 24 * 2000;

fn expected(name: u32) -> Vec<u8> {
    code(name, 1000 + name as usize * 128)
}

/// Gets and puts as a compile does: what is not there is made. Gives how often something was there.
fn work(cache: &Cache, seed: u32) -> u32 {
    let mut hits = 0;
    for round in 0..ROUNDS {
        let name = (seed * 7 + round * 5) % KEYS;
        match cache.get(&key(name)) {
            Some(found) => {
                assert_eq!(found, expected(name));
                hits += 1;
            }
            None => cache.put(&key(name), &expected(name)),
        }
    }
    hits
}

#[test]
fn threads_share_a_cache() {
    let rig = Rig::new();
    let (cache, done) = (rig.bounded(BYTES_MAX), AtomicBool::new(false));
    let hits: u32 = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..8)
            .map(|seed| {
                scope.spawn({
                    let cache = &cache;
                    move || work(cache, seed)
                })
            })
            .collect();
        let watch = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let found = stats(&cache);
                assert!(found.bytes <= BYTES_MAX, "{found:?}");
            }
        });
        let hits = workers.into_iter().map(|worker| worker.join().unwrap()).sum();
        done.store(true, Ordering::Relaxed);
        watch.join().unwrap();
        hits
    });
    let found = stats(&cache);
    assert_eq!((found.hits, found.dropped), (u64::from(hits), 0));
    assert!(hits > 0 && found.evicted > 0 && found.failures == 0, "{found:?}");
}

/// What the children of the next test run.
#[test]
#[ignore = "a child of `processes_share_a_folder`"]
fn child() {
    assert!(std::env::var_os(VARIABLE).is_some(), "it is started with a folder");
    let cache = Cache::open(&Settings { bytes_max: BYTES_MAX, ..Settings::from_environment() });
    let seed = std::process::id();
    std::thread::scope(|scope| {
        for thread in 0..2 {
            scope.spawn({
                let cache = &cache;
                move || work(cache, (seed + thread) % KEYS)
            });
        }
    });
    assert_eq!(stats(&cache).dropped, 0);
}

#[test]
fn processes_share_a_folder() {
    let rig = Rig::new();
    let program = std::env::current_exe().unwrap();
    let start = |_| {
        let mut command = Command::new(&program);
        command.args(["--exact", "crowd::child", "--ignored", "--test-threads=1"]).env(VARIABLE, &rig.folder);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut children: Vec<Child> = (0..6).map(start).collect();
    let cache = rig.bounded(BYTES_MAX);
    // One ends in the middle of what it does, and the others go on.
    work(&cache, 3);
    children[0].kill().unwrap();
    for (index, child) in children.into_iter().enumerate() {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() || index == 0, "{text}");
        assert!(index == 0 || text.contains("1 passed"), "{text}");
    }
    work(&cache, 5);
    let found = stats(&cache);
    assert!(found.dropped == 0 && found.entries > 0 && found.bytes <= BYTES_MAX, "{found:?}");
}
