//! Random lives of a pool against an oracle that knows every byte, fence and account.
//!
//! `GRAPHREEL_SEED` repeats a failure; `GRAPHREEL_THOROUGH=1` runs fifty times as much.

use std::collections::{BTreeMap, HashMap, HashSet};

use graphreel::memory::{Account, ManagedMemoryId, PageId, Pool, PoolConfig, Reservation, Slice};
use graphreel::stream::SlotIndex;
use graphreel::{Result, ServerError};

fn seeds(cases: u64) -> impl Iterator<Item = u64> {
    let seed = std::env::var("GRAPHREEL_SEED").ok().and_then(|text| text.parse().ok());
    let thorough = std::env::var("GRAPHREEL_THOROUGH").is_ok_and(|text| text == "1");
    let cases = if seed.is_some() { 1 } else { cases * if thorough { 50 } else { 1 } };
    (0..cases).map(move |_| seed.unwrap_or_else(|| fastrand::u64(..)))
}

/// What the oracle knows of a slice that somebody holds or the device may still use.
#[derive(Clone, Copy, Debug)]
struct Held {
    slice: Slice,
    account: usize,
    pins: u64,
}

struct World {
    seed: u64,
    rng: fastrand::Rng,
    config: PoolConfig,
    pool: Pool,
    accounts: Vec<Account>,
    /// Pages as the server made them.
    pages: HashMap<PageId, u64>,
    live: BTreeMap<u64, Held>,
    /// Released slices whose fence has not passed.
    waiting: Vec<(Slice, u64)>,
    /// The last account of each byte ever used, and which bytes were given out, by page.
    users: HashMap<PageId, Vec<Option<usize>>>,
    generations: HashMap<PageId, u64>,
    epoch: u64,
    fence: u64,
    passed: u64,
    next: u64,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let config = PoolConfig {
            page_bytes: [2048, 4096, 5000][rng.usize(..3)],
            slice_bytes_max: rng.u64(256..3000),
            alignment: [1, 16, 256][rng.usize(..3)],
            page_bytes_max: 16_384,
            limit: rng.bool().then(|| rng.u64(8192..60_000)),
        };
        let account = |index: usize| Account::new(&format!("account {index}"), (index == 0).then_some(12_000));
        Self {
            seed,
            rng,
            pool: Pool::new(config.clone()),
            config,
            accounts: (0..3).map(account).collect(),
            pages: HashMap::new(),
            live: BTreeMap::new(),
            waiting: Vec::new(),
            users: HashMap::new(),
            generations: HashMap::new(),
            epoch: 0,
            fence: 0,
            passed: 0,
            next: 0,
        }
    }

    fn reserved(&self) -> u64 {
        self.pages.values().sum()
    }

    fn destroy(&mut self, pages: &[PageId]) -> u64 {
        let mut bytes = 0;
        for page in pages {
            bytes += self.pages.remove(page).unwrap_or_else(|| panic!("seed {}: {page:?} was not there", self.seed));
            self.users.remove(page);
            *self.generations.get_mut(page).expect("the page was made") += 1;
            self.epoch += 1;
            let on_it = |slice: &Slice| slice.page == *page;
            assert!(
                !self.live.values().any(|held| on_it(&held.slice)),
                "seed {}: a page in use was given up",
                self.seed
            );
            assert!(
                !self.waiting.iter().any(|(slice, _)| on_it(slice)),
                "seed {}: a page in flight was given up",
                self.seed
            );
        }
        bytes
    }

    fn reserve(&mut self) {
        let bytes = match self.rng.u8(..10) {
            0 => self.rng.u64(1..20_000),
            1..4 => [64, 700, 3000, 9000][self.rng.usize(..4)],
            _ => self.rng.u64(1..3000),
        };
        let account = self.rng.usize(..self.accounts.len());
        let slot = self.rng.bool().then(|| SlotIndex(self.rng.usize(..2)));
        self.next += 1;
        let used = self.accounts[account].used();
        match self.place(bytes, account, slot) {
            Ok((slice, needs_zero)) => self.placed(slice, bytes, account, needs_zero),
            Err(ServerError::InvalidSize { .. }) => assert!(bytes > self.config.page_bytes_max, "seed {}", self.seed),
            Err(ServerError::OutOfMemory(oom)) => {
                let (have, limit) = (oom.have.expect("known"), oom.limit.expect("known"));
                assert!(oom.need >= bytes && have < oom.need && have <= limit, "seed {}: {oom:?}", self.seed);
                assert_eq!(self.accounts[account].used(), used, "seed {}", self.seed);
                assert_eq!(self.pool.slice_of(ManagedMemoryId(self.next)), None);
            }
            Err(other) => panic!("seed {}: {other}", self.seed),
        }
    }

    fn place(&mut self, bytes: u64, account: usize, slot: Option<SlotIndex>) -> Result<(Slice, bool)> {
        for _ in 0..2 {
            let payer = self.accounts[account].clone();
            match self.pool.reserve(ManagedMemoryId(self.next), bytes, &payer, slot)? {
                Reservation::Placed { slice, needs_zero } => return Ok((slice, needs_zero)),
                Reservation::NeedsPage(request) => {
                    self.destroy(&request.release);
                    let size = request.bytes;
                    assert!(size >= bytes && size <= self.config.page_bytes_max, "seed {}", self.seed);
                    let page = self.pool.add_page(request);
                    assert!(self.pages.insert(page, size).is_none(), "seed {}: {page:?} was given twice", self.seed);
                    self.users.insert(page, vec![None; size as usize]);
                    let generation = *self.generations.entry(page).or_insert(1);
                    assert_eq!(self.pool.generation(page), Some(generation), "seed {}", self.seed);
                }
            }
        }
        panic!("seed {}: the page that was asked for does not hold {bytes} bytes", self.seed)
    }

    fn placed(&mut self, slice: Slice, bytes: u64, account: usize, needs_zero: bool) {
        let World { seed, .. } = *self;
        assert!(
            slice.bytes >= bytes && slice.bytes <= bytes + bytes / 4 + self.config.alignment,
            "seed {seed}: {slice:?}"
        );
        assert_eq!(slice.offset % self.config.alignment, 0, "seed {seed}: {slice:?}");
        let page = *self.pages.get(&slice.page).unwrap_or_else(|| panic!("seed {seed}: {slice:?} lies on no page"));
        assert!(slice.offset + slice.bytes <= page, "seed {seed}: {slice:?} leaves its page of {page}");
        let meets = |other: &Slice| {
            other.page == slice.page
                && other.offset < slice.offset + slice.bytes
                && slice.offset < other.offset + other.bytes
        };
        assert!(!self.live.values().any(|held| meets(&held.slice)), "seed {seed}: {slice:?} is in use");
        assert!(
            !self.waiting.iter().any(|(other, _)| meets(other)),
            "seed {seed}: {slice:?} may still be used by the device"
        );
        let users = self.users.get_mut(&slice.page).expect("a page");
        let users = &mut users[slice.offset as usize..(slice.offset + slice.bytes) as usize];
        let foreign = users.iter().flatten().any(|user| *user != account);
        assert_eq!(needs_zero, foreign, "seed {seed}: {slice:?}");
        users.fill(Some(account));
        self.live.insert(self.next, Held { slice, account, pins: 0 });
    }

    fn some_live(&mut self) -> Option<u64> {
        let index = self.rng.usize(..self.live.len().max(1));
        self.live.keys().nth(index).copied()
    }

    fn release(&mut self) {
        let Some(id) = self.some_live() else { return };
        let held = self.live.remove(&id).expect("live");
        self.fence += self.rng.u64(..2);
        self.pool.release(ManagedMemoryId(id), self.fence);
        self.pool.release(ManagedMemoryId(id), 0);
        if self.fence > self.passed {
            self.waiting.push((held.slice, self.fence));
        }
    }

    fn pass(&mut self) {
        self.passed = self.rng.u64(self.passed..=self.fence);
        self.pool.passed(self.passed);
        self.pool.passed(self.passed / 2);
        self.waiting.retain(|(_, fence)| *fence > self.passed);
    }

    fn pin(&mut self) {
        let Some(id) = self.some_live() else { return };
        let held = self.live.get_mut(&id).expect("live");
        if self.rng.bool() {
            held.pins += 1;
            self.pool.pin(ManagedMemoryId(id));
        } else {
            held.pins = held.pins.saturating_sub(1);
            self.pool.unpin(ManagedMemoryId(id));
        }
    }

    fn trim(&mut self) {
        let (pages, report) = self.pool.trim();
        assert_eq!(self.destroy(&pages), report.released_bytes, "seed {}", self.seed);
        assert_eq!(self.pool.trim().0, [], "seed {}", self.seed);
    }

    fn step(&mut self) {
        let slot = SlotIndex(self.rng.usize(..2));
        match self.rng.u8(..20) {
            0 => self.pool.prime(slot),
            1 => self.pool.end_priming(slot),
            2 => self.pool.window_closed(slot),
            3 => self.trim(),
            4 | 5 => self.pin(),
            6 | 7 => self.pass(),
            8..13 => self.release(),
            _ => self.reserve(),
        }
        self.check();
    }

    fn check(&self) {
        let (seed, usage) = (self.seed, self.pool.usage());
        let sum = |filter: &dyn Fn(&Held) -> bool| {
            self.live.values().filter(|held| filter(held)).map(|held| held.slice.bytes).sum()
        };
        assert_eq!(usage.reserved_bytes, self.reserved(), "seed {seed}");
        assert!(self.config.limit.is_none_or(|limit| usage.reserved_bytes <= limit), "seed {seed}: {usage:?}");
        assert_eq!((usage.pages, usage.slices), (self.pages.len() as u64, self.live.len() as u64), "seed {seed}");
        assert_eq!(usage.in_use_bytes, sum(&|_| true), "seed {seed}");
        assert_eq!(usage.pinned_bytes, sum(&|held| held.pins > 0), "seed {seed}");
        assert_eq!((usage.epoch, self.pool.epoch()), (self.epoch, self.epoch), "seed {seed}");
        for (index, account) in self.accounts.iter().enumerate() {
            let charged: u64 = sum(&|held| held.account == index);
            assert_eq!(account.used(), charged, "seed {seed}");
            let listed = usage.accounts.iter().find(|(name, _)| name == account.name()).map_or(0, |(_, bytes)| *bytes);
            assert_eq!(listed, charged, "seed {seed}");
        }
        for (page, generation) in &self.generations {
            assert_eq!(self.pool.generation(*page), Some(*generation), "seed {seed}");
        }
        let places: HashSet<_> = self.live.keys().map(|id| self.pool.slice_of(ManagedMemoryId(*id))).collect();
        assert_eq!(places, self.live.values().map(|held| Some(held.slice)).collect(), "seed {seed}");
    }

    /// Everything dropped and passed: nothing is charged, kept or withheld, and trim takes every page.
    fn wind_up(&mut self) {
        while !self.live.is_empty() {
            self.release();
        }
        self.passed = self.fence;
        self.pool.passed(self.fence);
        self.waiting.clear();
        (0..2).for_each(|slot| self.pool.window_closed(SlotIndex(slot)));
        self.trim();
        self.check();
        let usage = self.pool.usage();
        assert_eq!((usage.reserved_bytes, usage.primed_bytes, usage.accounts.len()), (0, 0, 0), "seed {}", self.seed);
    }
}

#[test]
fn a_pool_keeps_its_promises_whatever_comes() {
    for seed in seeds(60) {
        println!("GRAPHREEL_SEED={seed}");
        let mut world = World::new(seed);
        for _ in 0..world.rng.usize(50..400) {
            world.step();
        }
        world.wind_up();
    }
}

/// XC-31 over random work: warm up, record, seal, drop, a hundred times, and the pool is as large as after the first.
#[test]
fn a_hundred_captures_of_any_work_leave_pool_bytes_constant() {
    for seed in seeds(20) {
        println!("GRAPHREEL_SEED={seed}");
        let mut world = World::new(seed);
        world.config.limit = None;
        world.pool = Pool::new(world.config.clone());
        let work: Vec<u64> = (0..world.rng.usize(1..20)).map(|_| world.rng.u64(1..10_000)).collect();
        let slot = SlotIndex(0);
        let mut reserved = None;
        for round in 0..100 {
            world.pool.prime(slot);
            for bytes in &work {
                world.next += 1;
                world.place(*bytes, 1, Some(slot)).expect("no limit");
                world.fence += 1;
                world.pool.release(ManagedMemoryId(world.next), world.fence);
                world.pool.passed(world.fence);
            }
            world.pool.end_priming(slot);
            let warm = world.pool.usage().reserved_bytes;
            let first = world.next + 1;
            for bytes in &work {
                world.next += 1;
                world.place(*bytes, 1, Some(slot)).expect("no limit");
            }
            let usage = world.pool.usage();
            assert_eq!(usage.reserved_bytes, warm, "seed {seed}: XC-26, round {round}");
            assert_eq!(usage.primed_bytes, 0, "seed {seed}: the recording uses just what was primed");
            world.pool.window_closed(slot);
            world.fence += 1;
            (first..=world.next).for_each(|id| world.pool.release(ManagedMemoryId(id), world.fence));
            world.pool.passed(world.fence);
            let now = world.pool.usage().reserved_bytes;
            assert_eq!(*reserved.get_or_insert(now), now, "seed {seed}: round {round}");
        }
        assert_eq!(world.accounts[1].used(), 0, "seed {seed}");
    }
}
