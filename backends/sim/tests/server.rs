//! The hardware-graph server where its calls fail half way, its device is lost or its queues grow: what a caller sees, and
//! what the driver is asked.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod scene;

use graphreel::memory::Account;
use graphreel::recording::Tier;
use graphreel::{Buffer, Config, Device, Grid, Kernel, ServerError};
use graphreel_sim::{Failure, FaultPlan, Probe, SimOptions, Then, When};
use scene::{close, inc, opened, settle, small};

fn nth(call: &'static str, nth: u64, then: Then) -> FaultPlan {
    FaultPlan::one(When::Nth { call, nth }, then)
}

#[test]
fn zeroing_that_fails_is_made_up_for_without_touching_neighbours() {
    let (device, probe) = opened(SimOptions::seeded(1), small());
    let (mine, theirs) = (Account::new("mine", None), Account::new("theirs", None));
    let kept = device.alloc_charged(256, &mine).unwrap();
    kept.write(&[7u32; 64]).unwrap();
    let freed = device.alloc_charged(256, &mine).unwrap();
    freed.write(&[9u32; 64]).unwrap();
    drop(freed);
    probe.arm(nth("fill", 0, Then::Before(Failure::REFUSED)));
    device.alloc_charged(256, &theirs).expect_err("its bytes could not be zeroed");
    let again = device.alloc_charged(256, &theirs).unwrap();
    device.launch(&inc(&device), Grid::groups(1), (&again,)).unwrap();
    assert_eq!(again.read::<u32>().unwrap()[..2], [1, 0]);
    assert_eq!(kept.read::<u32>().unwrap(), [7; 64]);
    drop((kept, again));
    close(device, &probe);
}

#[test]
fn zeroing_that_fails_after_its_effect_still_uses_the_page() {
    let (device, probe) = opened(SimOptions::manual(), small());
    let (mine, theirs) = (Account::new("mine", None), Account::new("theirs", None));
    let freed = device.alloc_charged(256, &mine).unwrap();
    freed.write(&[9u32; 64]).unwrap();
    drop(freed);
    settle(&device, &probe);
    probe.arm(nth("fill", 0, Then::After(Failure::REFUSED)));
    device.alloc_charged(256, &theirs).expect_err("the driver refused");
    device.trim();
    device.trim();
    close(device, &probe);
}

#[test]
fn a_lost_device_is_told_of_once_and_left_alone() {
    let (device, probe) = opened(SimOptions::manual(), small());
    let kernel = inc(&device);
    let indirect = device.kernel(scene::INC.replace("+= 1u", "+= 2u").as_str()).unwrap();
    let buffer = device.upload(&[1u32; 4]).unwrap();
    let (graph, ()) = device.capture(|c| c.launch(&kernel, Grid::groups(1), (&buffer,))).unwrap();
    let (other, ()) = device.capture(|c| c.launch(&kernel, Grid::groups(1), (&buffer,))).unwrap();
    settle(&device, &probe);
    let done = graph.replay().unwrap();
    let answer = buffer.read_async::<u32>().unwrap();
    drop(other.replay().unwrap());
    probe.lose("gone");
    assert!(matches!(buffer.fill(0), Err(ServerError::DeviceLost { .. })));
    let calls = probe.calls();
    assert!(matches!(buffer.fill(0), Err(ServerError::DeviceLost { .. })));
    assert!(matches!(done.wait(), Err(ServerError::DeviceLost { .. })));
    assert!(matches!(answer.wait(), Err(ServerError::DeviceLost { .. })));
    let counts = buffer.slice(0..12).unwrap();
    let launched = device.stream().launch_indirect(&indirect, &counts, Grid::groups(1), (&buffer,));
    assert!(matches!(launched, Err(ServerError::DeviceLost { .. })), "{launched:?}");
    drop((graph, other, kernel));
    device.trim();
    let _ = device.memory_usage();
    assert_eq!(probe.calls() - calls, 0, "calls after the loss: {:?}", probe.trace().last());
    assert_eq!(device.counters().device_faults, 1);
    drop((buffer, counts, indirect, done));
    close(device, &probe);
}

#[test]
fn a_look_that_fails_is_no_failure_of_what_came_after() {
    // D53: a handled failure is not told of by a later call.
    let (device, probe) = opened(SimOptions::manual(), small());
    let kernel = inc(&device);
    let buffer = device.upload(&[1u32]).unwrap();
    let (graph, ()) = device.capture(|c| c.launch(&kernel, Grid::groups(1), (&buffer,))).unwrap();
    drop(graph.replay().unwrap());
    drop(graph);
    probe.arm(nth("event_query", 0, Then::Before(Failure::REFUSED)));
    let other = device.alloc(4).expect("nothing is wrong with it");
    settle(&device, &probe);
    assert_eq!(buffer.read_async::<u32>().map(|answer| (probe.run_all(), answer.wait().unwrap()).1).unwrap(), [2]);
    drop((buffer, other, kernel));
    close(device, &probe);
}

#[test]
fn what_waits_to_be_destroyed_costs_later_calls_nothing() {
    let (device, probe) = opened(SimOptions { trace: 0, hazards: false, ..SimOptions::manual() }, small());
    let kernel = inc(&device);
    let buffer = device.upload(&[0u32]).unwrap();
    for _ in 0..200 {
        let (graph, ()) = device.capture(|c| c.launch(&kernel, Grid::groups(1), (&buffer,))).unwrap();
        drop(graph.replay().unwrap());
    }
    let calls = probe.calls();
    drop(device.alloc(4).unwrap());
    assert!(probe.calls() - calls < 40, "{} calls for one allocation", probe.calls() - calls);
    settle(&device, &probe);
    drop((buffer, kernel));
    close(device, &probe);
}

#[test]
fn nothing_grows_with_the_number_of_operations() {
    let rounds = if std::env::var("GRAPHREEL_THOROUGH").is_ok_and(|value| value == "1") { 300_000 } else { 20_000 };
    let (device, probe) = opened(SimOptions { trace: 0, hazards: false, ..SimOptions::seeded(3) }, small());
    let kernel = inc(&device);
    let streams: Vec<_> = (0..4).map(|_| device.new_stream()).collect();
    let buffer = device.upload(&[0u32; 64]).unwrap();
    let (graph, ()) = device.capture(|c| c.launch(&kernel, Grid::groups(1), (&buffer,))).unwrap();
    let mut live = Vec::new();
    for round in 0..rounds {
        let stream = &streams[round % 4];
        let scratch: Buffer = device.alloc(64 + (round as u64 % 5) * 128).unwrap();
        stream.fill(&scratch, round as u32).unwrap();
        stream.fill(&buffer, round as u32).unwrap();
        drop(graph.replay_on_stream(stream).unwrap());
        if round % 64 == 0 {
            assert_eq!(stream.read::<u32>(&buffer).unwrap()[0], round as u32 + 1);
        }
        if round % (rounds / 8) == 0 {
            live.push((probe.live(), device.memory_usage().reserved_bytes));
        }
    }
    let (settled, last) = (&live[2], &live[live.len() - 1]);
    assert!(last.0.total() <= settled.0.total() + 64 && last.1 <= settled.1 * 2, "{settled:?} became {last:?}");
    drop((graph, buffer, streams, kernel));
    close(device, &probe);
}

#[test]
fn a_device_dropped_in_a_window_gives_everything_back() {
    for tier in [Tier::Captured, Tier::Built, Tier::Eager] {
        let (device, probe) = opened(SimOptions::seeded(5), Config { tiers: vec![tier], ..small() });
        let kernel = inc(&device);
        let buffer = device.upload(&[0u32; 64]).unwrap();
        let options =
            graphreel::server::CaptureOptions { policy: graphreel::recording::CapturePolicy::AllowEager, label: None };
        let stream = device.new_stream();
        stream.graph_prepare_with(options).unwrap();
        stream.begin_capture().unwrap();
        stream.launch(&kernel, Grid::groups(1), (&buffer,)).unwrap();
        stream.write(&buffer, &[1u32; 64]).unwrap();
        let neighbour = device.stream_of(graphreel::StreamId { value: stream.id().value + 16 });
        neighbour.fill(&buffer, 3).unwrap();
        let answer = neighbour.read_async::<u32>(&buffer).unwrap();
        drop(stream);
        drop(buffer);
        drop((neighbour, kernel));
        std::thread::spawn(move || drop(device)).join().unwrap();
        assert_eq!(answer.wait().unwrap(), [3; 64]);
        std::thread::sleep(std::time::Duration::from_millis(50));
        probe.check().unwrap();
    }
}

/// Random work of four streams on two slots, two of which record at times, over memory that changes accounts, with graphs whose
/// slots are bound anew: what runs is what the same calls, one after the other, would have done, and nothing is left unordered.
mod unordered {
    use std::rc::Rc;

    use graphreel::device::{ArgList, BufferRef};
    use graphreel::server::CaptureOptions;
    use graphreel::{CapturePolicy, Graph, Stream};

    use super::*;

    const WORDS: usize = 64;
    const STREAMS: usize = 4;

    const BUMP: &str = "
        var<immediate> by: u32;
        @group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] += by; }";

    const ADD: &str = "
        @group(0) @binding(0) var<storage> a: array<u32>;
        @group(0) @binding(1) var<storage> b: array<u32>;
        @group(0) @binding(2) var<storage, read_write> c: array<u32>;
        @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) { c[id.x] = a[id.x] + b[id.x]; }";

    /// An operation on buffers by number.
    #[derive(Clone, Copy, Debug)]
    enum Act {
        Fill(usize, u32),
        Upload(usize, u32),
        Bump(usize, u32),
        Copy(usize, usize),
        Add(usize, usize, usize),
        /// By a launch whose counts the first buffer holds: it runs once where that is 1, else not at all.
        BumpIf(usize, usize, u32),
    }

    /// A graph over places: the buffers that stand for them now, of which the first two are slots.
    struct Sealed {
        graph: Graph,
        acts: Vec<Act>,
        places: Vec<usize>,
        slots: usize,
        by: Option<u32>,
    }

    struct World {
        rng: fastrand::Rng,
        device: Device,
        bump: Kernel,
        add: Kernel,
        accounts: [Account; 2],
        streams: Vec<Stream>,
        buffers: Vec<Option<Rc<Buffer>>>,
        values: Vec<u32>,
        graphs: Vec<Sealed>,
        /// What each stream records, if it does.
        windows: [Option<Vec<Act>>; STREAMS],
        log: Vec<String>,
    }

    /// Buffers and slots as the arguments of a launch.
    fn given(buffers: &[BufferRef<'_>]) -> ArgList {
        buffers.iter().fold(ArgList::new(), |list, buffer| match buffer {
            BufferRef::Buffer(buffer) => list.with(*buffer),
            BufferRef::Slot(slot) => list.with(*slot),
        })
    }

    impl Act {
        fn random(rng: &mut fastrand::Rng, places: usize) -> Self {
            let mut picks: Vec<usize> = (0..places).collect();
            rng.shuffle(&mut picks);
            let number = rng.u32(..1000);
            match rng.u8(..6) {
                0 => Self::Fill(picks[0], rng.u32(..3)),
                1 => Self::Upload(picks[0], number),
                2 => Self::Bump(picks[0], number),
                3 => Self::Copy(picks[0], picks[1]),
                4 => Self::Add(picks[0], picks[1], picks[2]),
                _ => Self::BumpIf(picks[0], picks[1], number),
            }
        }

        fn at(self, place: &[usize]) -> Self {
            match self {
                Self::Fill(a, word) => Self::Fill(place[a], word),
                Self::Upload(a, word) => Self::Upload(place[a], word),
                Self::Bump(a, by) => Self::Bump(place[a], by),
                Self::Copy(a, b) => Self::Copy(place[a], place[b]),
                Self::Add(a, b, c) => Self::Add(place[a], place[b], place[c]),
                Self::BumpIf(a, b, by) => Self::BumpIf(place[a], place[b], by),
            }
        }

        /// Do it to the values; `by` replaces what a bump adds.
        fn apply(self, values: &mut [u32], by: Option<u32>) {
            match self {
                Self::Fill(a, word) | Self::Upload(a, word) => values[a] = word,
                Self::Bump(a, add) => values[a] = values[a].wrapping_add(by.unwrap_or(add)),
                Self::Copy(a, b) => values[b] = values[a],
                Self::Add(a, b, c) => values[c] = values[a].wrapping_add(values[b]),
                Self::BumpIf(a, b, add) if values[a] == 1 => values[b] = values[b].wrapping_add(add),
                Self::BumpIf(..) => {}
            }
        }
    }

    impl World {
        fn new(seed: u64) -> (Self, Probe) {
            let mut rng = fastrand::Rng::with_seed(seed);
            let options = SimOptions {
                capture_tail: rng.bool(),
                graph_upload: rng.bool(),
                free_waits_for_device: rng.bool(),
                unload_waits_for_device: rng.bool(),
                updates_per_exec_max: rng.bool().then_some(1),
                trace: 0,
                memory_bytes: 64 << 20,
                ..SimOptions::seeded(seed)
            };
            let tier = [Tier::Captured, Tier::Built, Tier::Eager][rng.usize(..3)];
            let config = Config { max_streams: 2, max_exclusive_streams: 1, tiers: vec![tier], ..small() };
            let (device, probe) = opened(options, config);
            let (bump, add) = (device.kernel(BUMP).unwrap(), device.kernel(ADD).unwrap());
            let stream = |value: usize| device.stream_of(graphreel::StreamId { value: (1 << 40) + value as u64 });
            let streams = (0..STREAMS).map(stream).collect();
            let accounts = [Account::new("one", None), Account::new("other", None)];
            let world = Self {
                rng,
                device,
                bump,
                add,
                accounts,
                streams,
                buffers: Vec::new(),
                values: Vec::new(),
                graphs: Vec::new(),
                windows: [const { None }; STREAMS],
                log: Vec::new(),
            };
            (world, probe)
        }

        fn options() -> CaptureOptions {
            CaptureOptions { policy: CapturePolicy::AllowEager, label: None }
        }

        fn alive(&self) -> Vec<usize> {
            (0..self.buffers.len()).filter(|buffer| self.buffers[*buffer].is_some()).collect()
        }

        fn buffer(&self, number: usize) -> Rc<Buffer> {
            self.buffers[number].clone().unwrap()
        }

        /// A stream whose window, if its slot has one, is not its own.
        fn free_stream(&mut self) -> usize {
            let free: Vec<usize> = (0..STREAMS).filter(|stream| self.windows[*stream].is_none()).collect();
            free[self.rng.usize(..free.len())]
        }

        fn run(&self, stream: usize, act: Act) {
            let stream = &self.streams[stream];
            let at = |number: usize| self.buffer(number);
            let done = match act {
                Act::Fill(a, word) => stream.fill(&at(a), word),
                Act::Upload(a, word) => stream.write(&at(a), &[word; WORDS]),
                Act::Bump(a, by) => stream.launch(&self.bump, Grid::groups(1), (&*at(a), by)),
                Act::Copy(a, b) => stream.copy(&at(a), &at(b)),
                Act::Add(a, b, c) => stream.launch(&self.add, Grid::groups(1), (&*at(a), &*at(b), &*at(c))),
                Act::BumpIf(a, b, by) => stream.launch_indirect(&self.bump, &at(a), Grid::groups(1), (&*at(b), by)),
            };
            done.unwrap();
        }

        fn alloc(&mut self) {
            let account = self.accounts[self.rng.usize(..2)].clone();
            let buffer = self.device.alloc_charged(4 * WORDS as u64, &account).unwrap();
            self.buffers.push(Some(Rc::new(buffer)));
            self.values.push(self.rng.u32(..4));
            let number = self.values.len() - 1;
            let stream = self.free_stream();
            self.run(stream, Act::Fill(number, self.values[number]));
        }

        fn acts(&mut self, most: usize, places: usize) -> Vec<Act> {
            (0..self.rng.usize(1..=most)).map(|_| Act::random(&mut self.rng, places)).collect()
        }

        fn capture(&mut self) {
            let mut places = self.alive();
            self.rng.shuffle(&mut places);
            places.truncate(4);
            let (acts, slots) = (self.acts(6, places.len()), self.rng.usize(..3));
            let held: Vec<Rc<Buffer>> = places.iter().map(|number| self.buffer(*number)).collect();
            let by = self.rng.u32(..100);
            let (bump, add) = (&self.bump, &self.add);
            let (graph, ()) = self
                .device
                .capture_with(Self::options(), |c| {
                    let param = c.param("by", by);
                    let (first, second) = (c.slot("0", &held[0])?, c.slot("1", &held[1])?);
                    let at = |place: usize| match place {
                        0 if slots > 0 => BufferRef::from(&first),
                        1 if slots > 1 => BufferRef::from(&second),
                        place => BufferRef::from(&*held[place]),
                    };
                    for act in &acts {
                        match *act {
                            Act::Fill(a, word) => c.fill(at(a), word)?,
                            // Into a slot nothing is uploaded.
                            Act::Upload(a, word) if a >= slots => c.upload(&held[a], &[word; WORDS])?,
                            Act::Upload(a, word) => c.fill(at(a), word)?,
                            Act::Bump(a, _) => c.launch(bump, Grid::groups(1), given(&[at(a)]).with(&param))?,
                            Act::Copy(a, b) => c.copy(at(a), at(b))?,
                            Act::Add(x, y, z) => c.launch(add, Grid::groups(1), given(&[at(x), at(y), at(z)]))?,
                            Act::BumpIf(a, b, by) => {
                                c.launch_indirect(bump, at(a), Grid::groups(1), given(&[at(b)]).with(by))?;
                            }
                        }
                    }
                    Ok(())
                })
                .unwrap();
            // A slot that no operation names is none.
            let slots = (0..slots).filter(|slot| graph.report().params.iter().any(|name| **name == *slot.to_string()));
            let slots =
                if slots.clone().count() == slots.clone().max().map_or(0, |slot| slot + 1) { slots.count() } else { 0 };
            self.graphs.push(Sealed { graph, acts, places, slots, by: Some(by) });
        }

        fn replay(&mut self) {
            if self.graphs.is_empty() {
                return;
            }
            let stream = self.free_stream();
            let sealed = &self.graphs[self.rng.usize(..self.graphs.len())];
            let done = if self.rng.u8(..4) == 0 {
                sealed.graph.replay_timed()
            } else {
                sealed.graph.replay_on_stream(&self.streams[stream])
            };
            drop(done.unwrap());
            for act in &sealed.acts {
                act.at(&sealed.places).apply(&mut self.values, sealed.by);
            }
        }

        fn update(&mut self) {
            let alive = self.alive();
            if self.graphs.is_empty() {
                return;
            }
            let index = self.rng.usize(..self.graphs.len());
            let sealed = &mut self.graphs[index];
            let name = self.rng.usize(..2);
            let free: Vec<usize> = alive.into_iter().filter(|number| !sealed.places.contains(number)).collect();
            if name < sealed.slots && !free.is_empty() {
                let number = free[self.rng.usize(..free.len())];
                let buffer = self.buffers[number].clone().unwrap();
                sealed.graph.update(|update| update.bind(&name.to_string(), &buffer)).unwrap();
                sealed.places[name] = number;
            } else if sealed.graph.report().params.iter().any(|name| **name == *"by") {
                let by = self.rng.u32(..100);
                sealed.by = Some(by);
                sealed.graph.update(|update| update.set("by", by)).unwrap();
            }
        }

        fn open(&mut self) {
            let stream = self.free_stream();
            if self.streams[stream].capture_status().active {
                return;
            }
            self.streams[stream].graph_prepare_with(Self::options()).unwrap();
            self.streams[stream].begin_capture().unwrap();
            self.windows[stream] = Some(Vec::new());
        }

        fn record_or_close(&mut self) {
            let open: Vec<usize> = (0..STREAMS).filter(|stream| self.windows[*stream].is_some()).collect();
            if open.is_empty() {
                return;
            }
            let stream = open[self.rng.usize(..open.len())];
            if self.rng.u8(..3) > 0 {
                let alive = self.alive();
                let act = Act::random(&mut self.rng, alive.len()).at(&alive);
                self.run(stream, act);
                self.windows[stream].as_mut().unwrap().push(act);
                return;
            }
            let acts = self.windows[stream].take().unwrap();
            match self.streams[stream].end_capture() {
                Ok(graph) => {
                    let places = (0..self.values.len()).collect();
                    self.graphs.push(Sealed { graph, acts, places, slots: 0, by: None });
                }
                Err(error) => assert!(acts.is_empty(), "{error}"),
            }
        }

        fn step(&mut self) {
            let choice = self.rng.u8(..100);
            self.log.push(format!("{choice} windows {:?}", self.windows));
            let alive = self.alive();
            match choice {
                0..10 => self.alloc(),
                10..14 if alive.len() > 4 => {
                    let number = alive[self.rng.usize(..alive.len())];
                    self.buffers[number] = None;
                }
                14..45 => {
                    let act = Act::random(&mut self.rng, alive.len()).at(&alive);
                    let stream = self.free_stream();
                    self.run(stream, act);
                    act.apply(&mut self.values, None);
                }
                45..53 => self.capture(),
                53..68 => self.replay(),
                68..76 => self.update(),
                76..80 => self.open(),
                80..90 => self.record_or_close(),
                90..92 => drop(self.device.trim()),
                92..94 if !self.graphs.is_empty() => {
                    let index = self.rng.usize(..self.graphs.len());
                    drop(self.graphs.swap_remove(index));
                }
                _ => {
                    let number = alive[self.rng.usize(..alive.len())];
                    let stream = self.free_stream();
                    let slot_records = self.streams[stream].capture_status().recording;
                    let answer = self.streams[stream].read_async::<u32>(&self.buffer(number)).unwrap();
                    // One thread opened all windows: it would wait for itself.
                    if !slot_records {
                        assert_eq!(answer.wait().unwrap(), [self.values[number]; WORDS], "buffer {number}");
                    }
                }
            }
        }
    }

    #[test]
    fn random_work_comes_out_as_if_one_call_followed_the_other() {
        let thorough = std::env::var("GRAPHREEL_THOROUGH").is_ok_and(|value| value == "1");
        let given: Option<u64> = std::env::var("GRAPHREEL_SEED").ok().and_then(|text| text.parse().ok());
        let seeds = given.map_or(0..if thorough { 20_000 } else { 400 }, |seed| seed..seed + 1);
        for seed in seeds {
            let (mut world, probe) = World::new(seed);
            let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                (0..4).for_each(|_| world.alloc());
                for _ in 0..120 {
                    world.step();
                    assert_eq!(probe.misuse(), []);
                }
                for stream in 0..STREAMS {
                    if world.windows[stream].take().is_some() {
                        // An empty one gives no graph.
                        drop(world.streams[stream].end_capture());
                    }
                }
                for number in world.alive() {
                    let read = world.streams[0].read::<u32>(&world.buffer(number)).unwrap();
                    assert_eq!(read, [world.values[number]; WORDS], "buffer {number}");
                }
            }));
            if ran.is_err() {
                panic!("GRAPHREEL_SEED={seed}: {:#?}", world.log.split_off(world.log.len().saturating_sub(4)));
            }
            let device = world.device.clone();
            drop(world);
            close(device, &probe);
        }
    }
}
