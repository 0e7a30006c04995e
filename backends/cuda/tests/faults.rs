//! What goes wrong on a device by kernels in WGSL: one that never ends, and memory that runs out. A kernel that does not end stays
//! with its process, so it has one of its own.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use graphreel::error::MemoryLimit;
use graphreel::recording::Tier;
use graphreel::{Buffer, Config, Device, Grid, ServerError};
use graphreel_cuda::{CudaOptions, Pages, absence, devices, open};
use graphreel_testkit::announce;
use graphreel_testkit::env::assert_works;

/// The variable with a child's case.
const CASE: &str = "GRAPHREEL_FAULT_CASE";

/// What a child ends with that came to its end.
const THROUGH: i32 = 17;

/// A child ends by itself within this, once its end has come.
const PROMPT: Duration = Duration::from_secs(5);

/// Building a device and compiling its kernels may take this long.
const START: Duration = Duration::from_secs(120);

/// The wait of a reader for what never comes.
const DEADLINE: Duration = Duration::from_millis(300);

/// Waits until somebody sets its first word, which nobody does: atomics keep the compiler from leaving the loop out.
const FOREVER: &str = "
    @group(0) @binding(0) var<storage, read_write> flag: array<atomic<u32>>;
    @group(0) @binding(1) var<storage, read_write> after: array<u32>;
    @compute @workgroup_size(1) fn forever() {
        loop { if atomicLoad(&flag[0]) != 0u { break; } }
        after[0] = 1u;
    }";

/// Whether there is a device; where not it is said, and fails where one is required.
fn present(test: &str) -> bool {
    if devices().is_ok() {
        return true;
    }
    let required = std::env::var("GRAPHREEL_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|name| name.trim() == "cuda"), "GRAPHREEL_REQUIRE names cuda: {}", absence());
    announce(&format!("{test}: skipped, {}", absence()));
    false
}

fn device(config: Config) -> Device {
    device_with(Pages::Plain, config)
}

fn device_with(pages: Pages, config: Config) -> Device {
    let server = open(&CudaOptions { pages, ..CudaOptions::default() }, config.clone()).unwrap();
    Device::new(Box::new(server), config)
}

/// The entry of a child, and nothing in any other run.
#[test]
fn child_entry() {
    match std::env::var(CASE).as_deref() {
        Ok("endless") => endless(None),
        Ok("endless-captured") => endless(Some(Tier::Captured)),
        Ok("endless-built") => endless(Some(Tier::Built)),
        Ok("endless-dropped") => dropped(Pages::Plain),
        Ok("endless-dropped-pooled") => dropped(Pages::StreamOrdered),
        Ok(other) => panic!("there is no case {other}"),
        Err(_) => {}
    }
}

/// Run a case in a child, which says on standard error how it goes, and see it end by itself.
fn ends(case: &str) {
    if !present(case) {
        return;
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "child_entry", "--nocapture", "--test-threads=1"]);
    let mut child = child.env(CASE, case).stdout(Stdio::null()).spawn().unwrap();
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if started.elapsed() > START + PROMPT {
            child.kill().unwrap();
            panic!("{case}: it does not end by itself");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(status.code(), Some(THROUGH), "{case}: it ended with {status}");
}

/// The end of a child. A watchdog sees that the process is gone within [`PROMPT`].
fn leave() -> ! {
    std::thread::spawn(|| {
        std::thread::sleep(PROMPT);
        announce(&format!("the exit takes longer than {PROMPT:?}"));
        std::process::abort();
    });
    std::process::exit(THROUGH)
}

/// A kernel that never ends, eagerly or replayed: waits for it end at their deadline, what has nothing to do with it is served, and
/// the process ends with the device open.
fn endless(tier: Option<Tier>) {
    let tiers = tier.map_or(Tier::ALL.to_vec(), |tier| vec![tier]);
    let device = device(Config { tiers, ..Config::default() });
    let kernel = device.kernel(FOREVER).unwrap();
    let (flag, after) = (device.upload(&[0u32]).unwrap(), device.upload(&[0u32; 4]).unwrap());
    let bystander = device.upload(&[9u32; 1024]).unwrap();
    assert_eq!(bystander.read::<u32>().unwrap(), [9; 1024]);
    let replay = tier.map(|_| {
        let (graph, ()) = device.capture(|c| c.launch(&kernel, Grid::groups(1), (&flag, &after))).unwrap();
        let done = graph.replay().unwrap();
        (graph, done)
    });
    if replay.is_none() {
        device.launch(&kernel, Grid::groups(1), (&flag, &after)).unwrap();
    }
    let started = Instant::now();
    let mut read = after.read_async::<u32>().unwrap();
    assert!(matches!(read.wait_for(DEADLINE), Err(ServerError::Timeout { .. })));
    if let Some((_, done)) = &replay {
        assert!(matches!(done.wait_for(DEADLINE), Err(ServerError::Timeout { .. })));
    }
    assert!(started.elapsed() < DEADLINE * 2 + PROMPT, "a wait ends at its deadline: {:?}", started.elapsed());
    assert!(device.lost().is_none(), "a deadline is no loss: {:?}", device.lost());
    others_go_on(&device, &bystander);
    // The lock is free for whoever comes: nothing waits for the device under it.
    device.trim();
    drop((read, replay));
    announce("an endless kernel: every wait ended");
    leave();
}

/// Doubles its words.
const TWICE: &str = "
    @group(0) @binding(0) var<storage, read_write> data: array<u32>;
    @compute @workgroup_size(64) fn twice(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < arrayLength(&data) { data[id.x] = data[id.x] * 2u; }
    }";

/// All that a program may drop behind a kernel that never ends: kernels, graphs with host bytes, staging, memory, and the device.
fn dropped(pages: Pages) {
    let device = device_with(pages, Config::default());
    let forever = device.kernel(FOREVER).unwrap();
    let (flag, after) = (device.upload(&[0u32]).unwrap(), device.upload(&[0u32; 4]).unwrap());
    let data = device.upload(&[1u32; 1024]).unwrap();
    let twice = device.kernel(TWICE).unwrap();
    let (graph, ()) = device
        .capture(|c| {
            c.upload(&data, &[2u32; 1024])?;
            c.launch(&twice, Grid::cover(1024), (&data,))
        })
        .unwrap();
    graph.replay().unwrap();
    assert_eq!(data.read::<u32>().unwrap(), [4; 1024]);
    device.launch(&forever, Grid::groups(1), (&flag, &after)).unwrap();
    in_time("what is dropped behind an endless kernel", || {
        let stream = device.stream();
        drop(graph.replay_on_stream(&stream).unwrap());
        assert_eq!(stream.read_async::<u32>(&data).unwrap().wait_for(PROMPT).unwrap(), [4; 1024]);
        drop((graph, twice, forever));
        for kib in [2048usize, 3072, 4096, 2048] {
            let large = device.alloc((kib as u64) << 10).unwrap();
            stream.write(&large, &vec![7u32; kib << 8]).unwrap();
            let mut read = stream.read_async::<u32>(&large).unwrap();
            assert_eq!(read.wait_for(PROMPT).unwrap()[1], 7, "{kib} KiB");
        }
        device.trim();
        device.memory_usage();
        device.trim();
        drop((stream, data, after, flag));
        assert!(device.lost().is_none(), "{:?}", device.lost());
        drop(device);
    });
    announce("an endless kernel: all was dropped behind it");
    leave();
}

/// Do something that has to return, whatever runs on the device.
fn in_time(what: &str, act: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let acts = scope.spawn(act);
        let end = Instant::now() + 4 * PROMPT;
        while !acts.is_finished() {
            if Instant::now() > end {
                announce(&format!("{what} does not return"));
                std::process::abort();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        acts.join().unwrap();
    });
}

/// Work on another stream, while the device never becomes idle.
fn others_go_on(device: &Device, bystander: &Buffer) {
    in_time("a call that has nothing to do with the endless kernel", || {
        let mut read = bystander.read_async::<u32>().unwrap();
        assert_eq!(read.wait_for(PROMPT).unwrap(), [9; 1024]);
        let copy = device.alloc(4096).unwrap();
        device.stream().copy(bystander, &copy).unwrap();
        assert_eq!(copy.read_async::<u32>().unwrap().wait_for(PROMPT).unwrap(), [9; 1024]);
        drop(copy);
        let (graph, ()) = device.capture(|c| c.fill(bystander, 3)).unwrap();
        graph.replay().unwrap().wait_for(PROMPT).unwrap();
        assert_eq!(bystander.read_async::<u32>().unwrap().wait_for(PROMPT).unwrap(), [3; 1024]);
    });
}

#[test]
fn an_endless_kernel_ends_no_wait_but_by_its_deadline() {
    ends("endless");
}

#[test]
fn an_endless_captured_replay_ends_no_wait_but_by_its_deadline() {
    ends("endless-captured");
}

#[test]
fn an_endless_built_replay_ends_no_wait_but_by_its_deadline() {
    ends("endless-built");
}

#[test]
fn nothing_dropped_behind_an_endless_kernel_waits_for_it() {
    ends("endless-dropped");
}

#[test]
fn nothing_dropped_behind_an_endless_kernel_waits_for_it_with_pooled_pages() {
    ends("endless-dropped-pooled");
}

#[track_caller]
fn exhausted<T>(result: Result<T, ServerError>) -> MemoryLimit {
    match result {
        Err(ServerError::OutOfMemory(out)) => out.refused_by,
        Err(other) => panic!("another failure: {other}"),
        Ok(_) => panic!("there is no such memory"),
    }
}

#[test]
fn memory_ends_at_the_configured_limit() {
    if !present("memory_ends_at_the_configured_limit") {
        return;
    }
    const LIMIT: u64 = 64 << 20;
    let device = device(Config { memory_limit: Some(LIMIT), ..Config::default() });
    let kept = device.upload(&[5u32; 256]).unwrap();
    assert_eq!(exhausted(device.alloc(LIMIT)), MemoryLimit::Config);
    assert!(device.lost().is_none());
    assert_eq!(kept.read::<u32>().unwrap(), [5; 256]);
    assert_works(&device);
}

/// The device's own memory runs out: that is no fault, and what is given back can be had again.
#[test]
fn memory_ends_at_the_devices_own() {
    if !present("memory_ends_at_the_devices_own") {
        return;
    }
    let device = device(Config::default());
    let kept = device.upload(&[5u32; 256]).unwrap();
    let part = device.info().memory_bytes.unwrap() / 8 / 256 * 256;
    let mut held = Vec::new();
    let refused = loop {
        assert!(held.len() < 9, "more memory than there is was given");
        match device.alloc(part) {
            Ok(buffer) => held.push(buffer),
            refused => break exhausted(refused),
        }
    };
    assert_eq!(refused, MemoryLimit::Device);
    assert!(device.lost().is_none(), "{:?}", device.lost());
    assert_eq!(device.counters().device_faults, 0);
    assert_eq!(kept.read::<u32>().unwrap(), [5; 256]);
    let had = held.len();
    held.pop();
    device.stream().sync().unwrap();
    held.push(device.alloc(part).unwrap());
    assert_eq!(held.len(), had, "what was given back is there again");
    drop(held);
    device.stream().sync().unwrap();
    device.trim();
    assert_works(&device);
}
