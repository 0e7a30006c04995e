//! The pool's rules one by one; random sequences are in `tests/pool_property.rs`.

use super::*;

const SLOT: Option<SlotIndex> = Some(SlotIndex(0));

fn config(limit: Option<u64>) -> PoolConfig {
    PoolConfig { page_bytes: 4096, slice_bytes_max: 1024, alignment: 256, page_bytes_max: 1 << 20, limit }
}

fn payer() -> Account {
    Account::new("job", None)
}

/// Reserve as a server does: make the page that is asked for, then try again.
fn place(pool: &mut Pool, id: u64, bytes: u64, account: &Account, slot: Option<SlotIndex>) -> Result<(Slice, bool)> {
    for _ in 0..2 {
        match pool.reserve(ManagedMemoryId(id), bytes, account, slot)? {
            Reservation::Placed { slice, needs_zero } => return Ok((slice, needs_zero)),
            Reservation::NeedsPage(request) => {
                pool.add_page(request);
            }
        }
    }
    panic!("the page that was asked for does not hold the request")
}

#[test]
fn small_requests_share_a_page_and_large_ones_have_their_own() {
    let (mut pool, account) = (Pool::new(config(None)), payer());
    let (one, zero) = place(&mut pool, 1, 5, &account, None).unwrap();
    assert_eq!((one.offset, one.bytes, zero), (0, 256, false));
    let (two, _) = place(&mut pool, 2, 1024, &account, None).unwrap();
    assert_eq!((two.page, two.offset), (one.page, 256));
    let (three, _) = place(&mut pool, 3, 1025, &account, None).unwrap();
    assert_ne!(three.page, one.page);
    assert_eq!((three.offset, three.bytes), (0, 1280));
    let usage = pool.usage();
    assert_eq!((usage.reserved_bytes, usage.in_use_bytes, usage.pages, usage.slices), (4096 + 1280, 2560, 2, 3));
    assert_eq!(usage.accounts, [("job".to_owned(), 2560)]);
    assert_eq!(account.used(), 2560);
    assert_eq!(place(&mut pool, 3, 1025, &account, None).unwrap().0, three);
    assert_eq!(account.used(), 2560);
}

#[test]
fn bytes_are_reused_only_after_their_fence() {
    let (mut pool, account) = (Pool::new(config(None)), payer());
    let (old, _) = place(&mut pool, 1, 2048, &account, None).unwrap();
    pool.release(ManagedMemoryId(1), 7);
    assert_eq!((pool.slice_of(ManagedMemoryId(1)), account.used()), (None, 0));
    assert!(matches!(pool.reserve(ManagedMemoryId(2), 2048, &account, None), Ok(Reservation::NeedsPage(_))));
    assert_eq!(account.used(), 0, "a page that is still to be made is not paid for");
    pool.passed(6);
    assert!(matches!(pool.reserve(ManagedMemoryId(2), 2048, &account, None), Ok(Reservation::NeedsPage(_))));
    pool.passed(7);
    assert_eq!(place(&mut pool, 2, 2000, &account, None).unwrap().0, old);
    // A fence that has passed already frees at once.
    pool.release(ManagedMemoryId(2), 3);
    assert_eq!(place(&mut pool, 3, 2048, &account, None).unwrap().0, old);
}

#[test]
fn a_free_large_page_serves_what_wastes_an_eighth_at_most() {
    let (mut pool, account) = (Pool::new(config(None)), payer());
    let (old, _) = place(&mut pool, 1, 8192, &account, None).unwrap();
    pool.release(ManagedMemoryId(1), 0);
    assert_ne!(place(&mut pool, 2, 6912, &account, None).unwrap().0.page, old.page);
    let (reused, _) = place(&mut pool, 3, 7168, &account, None).unwrap();
    assert_eq!((reused.page, reused.bytes), (old.page, 7168));
    pool.release(ManagedMemoryId(3), 0);
    assert_eq!(place(&mut pool, 4, 8192, &account, None).unwrap().0, old, "all of the page is free again");
}

#[test]
fn another_accounts_bytes_need_zeros() {
    let (mut pool, one, two) = (Pool::new(config(None)), payer(), payer());
    assert!(!place(&mut pool, 1, 512, &one, None).unwrap().1);
    pool.release(ManagedMemoryId(1), 0);
    assert!(!place(&mut pool, 2, 256, &one, None).unwrap().1);
    let (_, zero) = place(&mut pool, 3, 512, &two, None).unwrap();
    assert!(zero, "its first half was the other account's");
    pool.release(ManagedMemoryId(3), 0);
    assert!(!place(&mut pool, 4, 512, &two, None).unwrap().1);
}

#[test]
fn bytes_that_could_not_be_zeroed_are_nobodys_until_they_are() {
    let (mut pool, one, two) = (Pool::new(config(None)), payer(), payer());
    place(&mut pool, 1, 2048, &one, None).unwrap();
    pool.release(ManagedMemoryId(1), 0);
    assert!(place(&mut pool, 2, 2048, &two, None).unwrap().1);
    pool.not_zeroed(ManagedMemoryId(2));
    pool.release(ManagedMemoryId(2), 0);
    for (id, zero) in [(3, true), (4, false)] {
        assert_eq!(place(&mut pool, id, 2048, &two, None).unwrap().1, zero, "{id}");
        pool.release(ManagedMemoryId(id), 0);
    }
}

#[test]
fn an_account_is_asked_before_the_driver() {
    let mut pool = Pool::new(config(None));
    let account = Account::new("small", Some(300));
    let refusal = pool.reserve(ManagedMemoryId(1), 257, &account, None);
    let Err(ServerError::OutOfMemory(oom)) = refusal else { panic!("512 of 300 must not fit: {refusal:?}") };
    assert_eq!((oom.need, oom.have, oom.limit), (512, Some(300), Some(300)));
    assert_eq!(pool.usage().pages, 0);
}

#[test]
fn the_limit_counts_whole_free_pages_as_room() {
    let (mut pool, account) = (Pool::new(config(Some(10_000))), payer());
    let (old, _) = place(&mut pool, 1, 8192, &account, None).unwrap();
    pool.release(ManagedMemoryId(1), 5);
    let Err(ServerError::OutOfMemory(oom)) = pool.reserve(ManagedMemoryId(2), 4096, &account, None) else {
        panic!("the old page waits for its fence")
    };
    assert_eq!((oom.refused_by, oom.need, oom.have, oom.limit), (MemoryLimit::Config, 4096, Some(1808), Some(10_000)));
    pool.passed(5);
    let Ok(Reservation::NeedsPage(request)) = pool.reserve(ManagedMemoryId(2), 4096, &account, None) else {
        panic!("the old page is room now")
    };
    assert_eq!((request.bytes, &request.release), (4096, &vec![old.page]));
    assert_eq!((pool.epoch(), pool.generation(old.page)), (1, Some(2)));
    pool.add_page(request);
    assert_eq!(pool.usage().reserved_bytes, 4096);
    assert_eq!(account.used(), 0);
}

#[test]
fn a_shared_page_is_smaller_where_the_limit_leaves_no_more() {
    let (mut pool, account) = (Pool::new(config(Some(1000))), payer());
    assert!(place(&mut pool, 1, 512, &account, None).is_ok());
    assert_eq!(pool.usage().reserved_bytes, 768, "a whole number of alignments");
    assert_eq!(place(&mut pool, 2, 256, &account, None).unwrap().0.offset, 512);
    assert!(place(&mut pool, 3, 256, &account, None).is_err(), "232 bytes are left");
}

#[test]
fn trim_gives_up_whole_pages_and_says_what_it_keeps() {
    let (mut pool, account) = (Pool::new(config(None)), payer());
    let (small, _) = place(&mut pool, 1, 256, &account, None).unwrap();
    let (large, _) = place(&mut pool, 2, 5000, &account, None).unwrap();
    pool.pin(ManagedMemoryId(1));
    pool.release(ManagedMemoryId(2), 0);
    let (pages, report) = pool.trim();
    assert_eq!(pages, [large.page]);
    assert_eq!(report, TrimReport { released_bytes: 5120, withheld_bytes: 4096 - 256 });
    assert_eq!((pool.generation(large.page), pool.generation(small.page)), (Some(2), Some(1)));
    assert_eq!(pool.trim(), (Vec::new(), TrimReport { released_bytes: 0, withheld_bytes: 4096 - 256 }));
    assert_eq!((pool.epoch(), pool.usage().pinned_bytes), (1, 256));
    pool.unpin(ManagedMemoryId(1));
    pool.unpin(ManagedMemoryId(1));
    pool.release(ManagedMemoryId(1), 0);
    assert_eq!(pool.trim().0, [small.page]);
    assert_eq!(pool.usage(), MemoryUsage { epoch: 2, ..MemoryUsage::default() });
    let (again, _) = place(&mut pool, 3, 256, &account, None).unwrap();
    assert!([large.page, small.page].contains(&again.page));
    assert_eq!(pool.generation(again.page), Some(2), "a number that is given again is told apart");
}

/// Warm up, record, seal or not: what a capture asks of the pool. The ids that stay live are the graph's.
fn capture(pool: &mut Pool, account: &Account, next: &mut u64, fence: &mut u64) -> Vec<ManagedMemoryId> {
    pool.prime(SlotIndex(0));
    let work = [700, 4096, 700, 10_000, 64];
    for bytes in work {
        *next += 1;
        place(pool, *next, bytes, account, SLOT).unwrap();
        // Temporaries of a warmup go one after the other; the recording needs all of them at once.
        *fence += 1;
        pool.release(ManagedMemoryId(*next), *fence);
        pool.passed(*fence);
    }
    pool.end_priming(SlotIndex(0));
    let pages = pool.usage().pages;
    let held = work.map(|bytes| {
        *next += 1;
        place(pool, *next, bytes, account, SLOT).unwrap();
        pool.pin(ManagedMemoryId(*next));
        ManagedMemoryId(*next)
    });
    assert_eq!(pool.usage().pages, pages, "XC-26: a recording after a warmup asks the driver for nothing");
    pool.window_closed(SlotIndex(0));
    held.to_vec()
}

#[test]
fn a_hundred_captures_leave_the_pool_as_large_as_one() {
    // XC-31, each dropped.
    let (mut pool, account, mut next, mut fence) = (Pool::new(config(None)), payer(), 0, 0);
    let mut reserved = None;
    for _ in 0..100 {
        let held = capture(&mut pool, &account, &mut next, &mut fence);
        fence += 1;
        held.into_iter().for_each(|id| pool.release(id, fence));
        pool.passed(fence);
        let usage = pool.usage();
        assert_eq!((usage.in_use_bytes, usage.pinned_bytes, usage.primed_bytes), (0, 0, 0));
        assert_eq!(*reserved.get_or_insert(usage.reserved_bytes), usage.reserved_bytes);
    }
    assert_eq!(account.used(), 0);
    // XC-31, each kept: the pool grows by what graphs pin, rounded to pages, and by no primed rest.
    let free = pool.usage().reserved_bytes;
    for kept in 1..=100u64 {
        capture(&mut pool, &account, &mut next, &mut fence);
        let usage = pool.usage();
        assert_eq!((usage.primed_bytes, usage.pinned_bytes), (0, kept * (768 + 4096 + 768 + 10_240 + 256)));
        assert!(usage.reserved_bytes <= free + usage.pinned_bytes + pool.config.page_bytes, "{usage:?}");
    }
}

#[test]
fn primed_slices_belong_to_their_window_only() {
    let (mut pool, account) = (Pool::new(config(None)), payer());
    pool.prime(SlotIndex(0));
    let (primed, _) = place(&mut pool, 1, 2048, &account, SLOT).unwrap();
    pool.release(ManagedMemoryId(1), 0);
    assert_eq!(pool.usage().primed_bytes, 2048);
    assert_ne!(place(&mut pool, 2, 2048, &account, SLOT).unwrap().0.page, primed.page, "not within the warmup");
    pool.end_priming(SlotIndex(0));
    assert_ne!(place(&mut pool, 3, 2048, &account, Some(SlotIndex(1))).unwrap().0.page, primed.page);
    assert!(pool.trim().0.is_empty());
    pool.window_closed(SlotIndex(0));
    // Reserved by a window that is over: nobody keeps it now.
    pool.release(ManagedMemoryId(2), 0);
    pool.prime(SlotIndex(0));
    assert_eq!(pool.usage().primed_bytes, 0);
    assert_eq!(pool.trim().1.released_bytes, 4096);
}

#[test]
fn a_kept_slice_waits_for_its_fence_too() {
    let (mut pool, account) = (Pool::new(config(None)), payer());
    pool.prime(SlotIndex(0));
    let (primed, _) = place(&mut pool, 1, 2048, &account, SLOT).unwrap();
    pool.release(ManagedMemoryId(1), 9);
    pool.end_priming(SlotIndex(0));
    assert_ne!(place(&mut pool, 2, 2048, &account, SLOT).unwrap().0.page, primed.page);
    pool.window_closed(SlotIndex(0));
    assert!(pool.trim().0.is_empty());
    pool.passed(9);
    assert_eq!(pool.trim().0, [primed.page]);
}

#[test]
fn sizes_at_the_end_of_the_range_are_refused() {
    let (mut pool, account) = (Pool::new(config(None)), payer());
    for bytes in [(1 << 20) + 1, u64::MAX] {
        let refusal = pool.reserve(ManagedMemoryId(1), bytes, &account, None);
        assert!(matches!(refusal, Err(ServerError::InvalidSize { .. })), "{refusal:?}");
    }
    let odd =
        PoolConfig { page_bytes: 1000, slice_bytes_max: u64::MAX, alignment: 0, page_bytes_max: 1001, limit: None };
    let mut pool = Pool::new(odd);
    assert_eq!(place(&mut pool, 1, 1001, &account, None).unwrap().0.bytes, 1001);
    assert_eq!(place(&mut pool, 2, 0, &account, None).unwrap().0.bytes, 1);
    let vast = PoolConfig { page_bytes_max: u64::MAX, ..config(None) };
    let mut pool = Pool::new(vast);
    let huge = pool.reserve(ManagedMemoryId(3), u64::MAX, &account, None);
    assert!(huge.is_err(), "the account's count would overflow: {huge:?}");
    assert_eq!(account.used(), 1002);
}
