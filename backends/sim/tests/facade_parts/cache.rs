//! The resident cache: what leaves, what stays, what it is charged for, and who loads.

use graphreel::lifecycle::QueryErrorCode;
use graphreel::lifecycle::parts::{CacheEntry, ResidentCache};
use graphreel::sync::atomic::{AtomicUsize, Ordering};
use graphreel::{Buffer, Result, ServerError};
use graphreel_sim::SimOptions;

use super::rig::Rig;

/// A size that the pools do not round up.
const UNIT: u64 = 1024;

fn rig(ordinal: usize) -> Rig {
    Rig::new(ordinal, SimOptions::default(), 1)
}

fn fill(word: u32) -> impl FnOnce(&Buffer) -> Result<()> {
    move |buffer| buffer.fill(word)
}

fn get(cache: &ResidentCache, key: &str, units: u64) -> CacheEntry {
    cache.get_or_load(key, units * UNIT, fill(1)).unwrap()
}

/// Whether the key is still there, found without making room or a use of it.
fn has(cache: &ResidentCache, key: &str) -> bool {
    let absent = || Err(ServerError::unsupported("a load", "nothing is to be loaded here"));
    // Of other bytes: a hit would count as a use. The size is above the cap, so nothing leaves for it either.
    cache
        .get_or_load(key, u64::MAX, |_| absent())
        .is_err_and(|error| error.reason() == Some("resident_cache_entry_differs"))
}

/// XB-32: the entry in use stays, the least recently used leaves, and the account is exact.
#[test]
fn what_is_in_use_stays_and_the_least_recently_used_leaves() {
    let rig = rig(50);
    let cache = ResidentCache::new(&rig.device, 4 * UNIT);
    let held = get(&cache, "a", 1);
    drop((get(&cache, "b", 1), get(&cache, "c", 1), get(&cache, "d", 1)));
    // `b` was loaded before `c` and used after it.
    drop(get(&cache, "b", 1));
    let report = cache.report();
    assert_eq!((report.charged_bytes, report.entries, report.entries_in_use), (4 * UNIT, 4, 1));
    drop(get(&cache, "e", 1));
    assert_eq!(["a", "b", "c", "d", "e"].map(|key| has(&cache, key)), [true, true, false, true, true]);
    assert_eq!(cache.report().charged_bytes, 4 * UNIT);
    drop(get(&cache, "f", 2));
    assert_eq!(["a", "b", "d", "e", "f"].map(|key| has(&cache, key)), [true, false, false, true, true]);
    let report = cache.report();
    assert_eq!((report.charged_bytes, report.peak_bytes), (4 * UNIT, 4 * UNIT));
    assert_eq!((report.loads, report.hits, report.evictions), (6, 1, 3));
    assert_eq!(held.buffer().read::<u32>().unwrap()[..2], [1, 1]);
    drop((held, cache));
    rig.close();
}

/// XB-32: what cannot fit beside what is in use is refused, and nothing is given up for it.
#[test]
fn nothing_leaves_for_what_cannot_fit() {
    let rig = rig(51);
    let cache = ResidentCache::new(&rig.device, 4 * UNIT);
    let held = get(&cache, "a", 2);
    drop(get(&cache, "b", 1));
    let error = cache.get_or_load("c", 3 * UNIT, fill(1)).unwrap_err();
    assert_eq!((error.code(), error.reason()), (QueryErrorCode::ServiceOverloaded, Some("resident_cache_full")));
    assert!(has(&cache, "b"), "an entry left in vain");
    let error = cache.get_or_load("c", 4 * UNIT + 1, fill(1)).unwrap_err();
    assert_eq!(error.reason(), Some("grant_exceeds_device_capacity"));
    assert_eq!(error.code(), QueryErrorCode::GrantExceedsDeviceCapacity);
    drop(held);
    drop(get(&cache, "c", 3));
    let report = cache.report();
    // Both left: the use of `a` ended after that of `b`.
    assert_eq!((report.charged_bytes, report.entries, report.failures), (3 * UNIT, 1, 2));
    drop(cache);
    rig.close();
}

/// XB-32: a buffer or a graph that a holder made of its entry holds it as well.
#[test]
fn a_clone_of_the_buffer_holds_the_entry() {
    let rig = rig(52);
    let cache = ResidentCache::new(&rig.device, UNIT);
    let slice = get(&cache, "a", 1).buffer().slice(0..256).unwrap();
    assert_eq!(cache.report().entries_in_use, 1);
    cache.get_or_load("b", UNIT, fill(1)).unwrap_err();
    assert_eq!((cache.clear(), cache.forget("a")), (0, false));
    drop(slice);
    drop(get(&cache, "b", 1));
    assert!(!has(&cache, "a"));
    assert!(cache.forget("b") && !cache.forget("b"));
    assert_eq!(cache.report().charged_bytes, 0);
    drop(cache);
    rig.close();
}

/// XB-32: the pools round up; the account pays for that, and the cache makes the room.
#[test]
fn room_is_made_for_what_the_pools_take() {
    let rig = rig(53);
    let cache = ResidentCache::new(&rig.device, 4 * UNIT);
    for key in ["a", "b", "c"] {
        drop(get(&cache, key, 1));
    }
    // 1,025 bytes take 1,280, and 1,024 are free: one entry has to go.
    drop(cache.get_or_load("d", UNIT + 1, fill(1)).unwrap());
    assert_eq!(["a", "b", "c", "d"].map(|key| has(&cache, key)), [false, true, true, true]);
    assert_eq!(cache.report().charged_bytes, 2 * UNIT + 1280);
    // And all of them, for one that takes the whole.
    drop(cache.get_or_load("e", 4 * UNIT - 1, fill(1)).unwrap());
    assert_eq!((cache.report().charged_bytes, cache.report().entries), (4 * UNIT, 1));
    let small = ResidentCache::new(&rig.device, UNIT + 1);
    let error = small.get_or_load("a", UNIT + 1, fill(1)).unwrap_err();
    assert_eq!((error.reason(), error.fact_value("bytes")), (Some("grant_exceeds_device_capacity"), Some("1280")));
    drop((cache, small));
    rig.close();
}

/// XB-32: a load that fails or panics leaves nothing, and the next one loads.
#[test]
fn a_failed_load_leaves_nothing() {
    let rig = rig(54);
    let cache = ResidentCache::new(&rig.device, UNIT);
    let refuse = |_: &Buffer| Err(ServerError::unsupported("the file", "it is not there"));
    let error = cache.get_or_load("a", UNIT, refuse).unwrap_err();
    assert!(error.message().starts_with("cache entry `a`: its load failed"), "{error}");
    assert_eq!((error.code(), cache.report().charged_bytes), (QueryErrorCode::UnsupportedOperation, 0));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        cache.get_or_load("a", UNIT, |_| panic!("a loader")).map(drop)
    }));
    assert!(panicked.is_err());
    let report = cache.report();
    assert_eq!((report.charged_bytes, report.entries, report.failures), (0, 0, 2));
    let error = cache
        .get_or_load("a", UNIT, |_| {
            let own = cache.get_or_load("a", UNIT, |_| Ok(())).unwrap_err();
            assert_eq!(own.reason(), Some("resident_cache_load_waits"));
            Err(ServerError::unsupported("its own key", "as it says"))
        })
        .unwrap_err();
    assert_eq!(error.code(), QueryErrorCode::UnsupportedOperation);
    drop(get(&cache, "a", 1));
    let differs = cache.get_or_load("a", UNIT / 2, |_| Ok(())).unwrap_err();
    assert_eq!(differs.reason(), Some("resident_cache_entry_differs"));
    drop(cache);
    rig.close();
}

/// XB-32: however many ask for a key at once, one loads it, and those that wait load again where that failed.
#[test]
fn concurrent_calls_load_a_key_once() {
    let rig = rig(55);
    let cache = ResidentCache::new(&rig.device, 8 * UNIT);
    for round in 0..20 {
        let (key, loads, fails) = (format!("k{}", round % 3), AtomicUsize::new(0), round % 2 == 1);
        let failed = AtomicUsize::new(0);
        cache.clear();
        let start = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    start.wait();
                    let entry = cache.get_or_load(&key, UNIT, |buffer| {
                        let first = loads.fetch_add(1, Ordering::SeqCst) == 0;
                        std::thread::yield_now();
                        if first && fails {
                            return Err(ServerError::unsupported("the first", "it fails"));
                        }
                        buffer.fill(9)
                    });
                    match entry {
                        Ok(entry) => assert_eq!(entry.buffer().read::<u32>().unwrap()[0], 9),
                        Err(_) => drop(failed.fetch_add(1, Ordering::SeqCst)),
                    }
                });
            }
        });
        assert_eq!((loads.into_inner(), failed.into_inner()), (1 + usize::from(fails), usize::from(fails)));
        assert_eq!(cache.report().charged_bytes, UNIT);
    }
    drop(cache);
    rig.close();
}

/// XB-32: under pressure from several threads the cap holds, and at the end nothing is charged.
#[test]
fn the_cap_holds_under_pressure() {
    let rig = rig(56);
    let cache = ResidentCache::new(&rig.device, 6 * UNIT);
    let seed = 0x5eed;
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (cache, mut random) = (&cache, fastrand::Rng::with_seed(seed + thread));
            scope.spawn(move || {
                for _ in 0..200 {
                    let (key, bytes) = (random.u64(0..9), [700, UNIT, 1500, 2 * UNIT]);
                    let bytes = bytes[key as usize % 4];
                    match cache.get_or_load(&key.to_string(), bytes, fill(key as u32)) {
                        Ok(entry) => assert_eq!(entry.buffer().read::<u32>().unwrap()[0], key as u32),
                        Err(error) => assert_eq!(error.reason(), Some("resident_cache_full"), "{error}"),
                    }
                    let report = cache.report();
                    assert!(report.peak_bytes <= report.cap_bytes, "{report:?}");
                }
            });
        }
    });
    let (report, usage) = (cache.report(), rig.device.memory_usage());
    assert_eq!(report.entries_in_use, 0);
    assert_eq!(usage.in_use_bytes, report.charged_bytes);
    cache.clear();
    assert_eq!((cache.report().charged_bytes, cache.report().entries), (0, 0));
    drop(cache);
    rig.close();
}

/// What a caller kept is refused once the cache was taken back.
#[test]
fn a_cache_that_is_taken_back_refuses_its_holders() {
    let rig = rig(57);
    let cache = ResidentCache::new(&rig.device, UNIT);
    let held = get(&cache, "a", 1);
    cache.revoke("the backend is closed; build a new one");
    assert!(held.buffer().fill(0).unwrap_err().is_closed());
    drop(held);
    cache.clear();
    assert_eq!(cache.report().charged_bytes, 0);
    cache.get_or_load("b", UNIT, fill(1)).unwrap_err();
    drop(cache);
    rig.close();
}
