//! A device that is not idle when something is given up whose giving back would wait for it: nothing waits under the device's lock,
//! what was given up serves again, and what cannot is told.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod scene;

use std::time::{Duration, Instant};

use graphreel::recording::{CapturePolicy, Tier};
use graphreel::server::CaptureOptions;
use graphreel::{Buffer, Config, Device, Grid, ServerError, Stream};
use graphreel_sim::{FaultPlan, Probe, SimOptions, Then, When};
use scene::{close, inc, opened, settle, small};

/// Every giving back waits, and a stream of its own has work that does not end before the hangs are released.
fn never_idle(options: SimOptions, config: Config) -> (Device, Probe, (Stream, Buffer)) {
    let options = SimOptions { free_waits_for_device: true, unload_waits_for_device: true, ..options };
    let (device, probe) = opened(options, config);
    let (stream, buffer) = (device.new_stream(), device.alloc(16).unwrap());
    settle(&device, &probe);
    probe.arm(FaultPlan::one(When::Nth { call: "fill", nth: 0 }, Then::Hang));
    stream.fill(&buffer, 1).unwrap();
    (device, probe, (stream, buffer))
}

#[test]
fn freeing_never_waits_for_the_device_under_its_lock() {
    let options = SimOptions { free_waits_for_device: true, ..SimOptions::manual() };
    let (device, probe) = opened(options, small());
    let large = device.alloc(64 << 10).unwrap();
    let busy = device.alloc(64 << 10).unwrap();
    large.fill(1).unwrap();
    settle(&device, &probe);
    drop(large);
    busy.fill(1).unwrap();
    let live = probe.live().memory;
    device.trim();
    assert_ne!(probe.pending(), 0, "the free waited for work that has nothing to do with it");
    settle(&device, &probe);
    device.trim();
    assert!(probe.live().memory < live, "it is freed once the device is idle");
    drop(busy);
    close(device, &probe);
}

/// Pinned memory and code, of graphs, kernels and staging, where giving them back waits for the device.
#[test]
fn unloading_never_waits_for_the_device_under_its_lock() {
    for (tier, frees_wait) in [(Tier::Captured, false), (Tier::Built, true), (Tier::Eager, true)] {
        let waits =
            SimOptions { free_waits_for_device: frees_wait, unload_waits_for_device: true, ..SimOptions::manual() };
        let (device, probe) = opened(waits, Config { tiers: vec![tier], ..small() });
        let (busy, written) = (device.alloc(64 << 10).unwrap(), device.alloc(256).unwrap());
        let kernel = inc(&device);
        let options = CaptureOptions { policy: CapturePolicy::AllowEager, label: None };
        let (graph, ()) = device
            .capture_with(options, |c| {
                c.upload(&written, &[1u32; 64])?;
                c.launch(&kernel, Grid::groups(1), (&written,))
            })
            .unwrap();
        drop(graph.replay().unwrap());
        settle(&device, &probe);
        let live = probe.live();
        // Work that does not end before the test says so.
        busy.fill(1).unwrap();
        drop((graph, kernel));
        // Blocks of their own size are given up when another size comes.
        for kib in [2048u32, 3072, 4096] {
            device.alloc(u64::from(kib) << 10).unwrap().write(&vec![kib; (kib as usize) << 8]).unwrap();
        }
        device.trim();
        device.memory_usage();
        assert_ne!(probe.pending(), 0, "{tier}: something waited for work that has nothing to do with it");
        let kept = probe.live();
        assert_eq!(kept.modules, live.modules, "{tier}: code is kept until the device is idle");
        assert_eq!((kept.execs, kept.graphs), (0, 0), "{tier}: what waits for nothing goes");
        settle(&device, &probe);
        device.trim();
        device.memory_usage();
        assert!(
            probe.live().modules < live.modules && probe.live().pinned < kept.pinned,
            "{tier}: then all of it goes"
        );
        drop((busy, written));
        close(device, &probe);
    }
}

/// Graphs with host bytes, writes of changing sizes and reads come and go beside work that never ends.
#[test]
fn pinned_memory_serves_again_where_the_device_is_never_idle() {
    for tier in [Tier::Captured, Tier::Built, Tier::Eager] {
        let config = Config { tiers: vec![tier], page_bytes: 4 << 20, slice_bytes_max: 4 << 20, ..Config::default() };
        let (device, probe, endless) = never_idle(SimOptions { trace: 0, ..SimOptions::seeded(1) }, config);
        let buffer = device.alloc(3 << 20).unwrap();
        let options = CaptureOptions { policy: CapturePolicy::AllowEager, label: None };
        let mut pinned = Vec::new();
        for round in 0..60u32 {
            let (graph, ()) = device
                .capture_with(options.clone(), |c| {
                    c.upload(&buffer, &vec![round; 3 << 18])?;
                    (0..5u32).try_for_each(|_| c.upload(&buffer, &vec![round; 3 << 18]))
                })
                .unwrap();
            drop(graph.replay().unwrap());
            for mib in [2, 3] {
                let part = device.alloc(mib << 20).unwrap();
                part.write(&vec![round; (mib as usize) << 18]).unwrap();
                assert_eq!(part.read::<u32>().unwrap(), vec![round; (mib as usize) << 18]);
            }
            assert_eq!(buffer.read::<u32>().unwrap(), vec![round; 3 << 18]);
            pinned.push(probe.live().pinned);
        }
        assert!(pinned[59] <= 12, "{tier}: {pinned:?}");
        probe.release_hangs();
        let begun = Instant::now();
        while probe.live().pinned > 0 {
            assert!(begun.elapsed() < Duration::from_secs(20), "{tier}: it goes once the device is idle");
            settle(&device, &probe);
            device.trim();
        }
        drop((buffer, endless));
        close(device, &probe);
    }
}

/// Writes alone never ask what may be given back.
#[test]
fn writes_of_changing_sizes_pin_no_more_than_a_few_blocks() {
    let (device, probe) = opened(SimOptions { trace: 0, ..SimOptions::default() }, Config::default());
    let buffers = [2u64, 3, 4].map(|mib| device.alloc(mib << 20).unwrap());
    for round in 0..60u32 {
        for buffer in &buffers {
            buffer.write(&vec![round; buffer.len_of::<u32>() as usize]).unwrap();
            probe.run_all();
        }
    }
    assert!(probe.live().pinned <= 6, "{} blocks", probe.live().pinned);
    drop(buffers);
    close(device, &probe);
}

/// Pages that were given up serve again before the driver is asked for more.
#[test]
fn a_page_that_waits_to_be_given_back_serves_again() {
    let (device, probe, endless) = never_idle(SimOptions::seeded(2), small());
    let allocations = device.counters().driver_allocations;
    for round in 0..20u32 {
        let large = device.alloc(64 << 10).unwrap();
        assert!(matches!(large.read::<u32>(), Err(ServerError::Unwritten { .. })), "what was there is gone");
        large.fill(round).unwrap();
        assert_eq!(large.read::<u32>().unwrap(), [round; 16 << 10]);
        drop(large);
        device.trim();
    }
    let asked = device.counters().driver_allocations - allocations;
    assert_eq!(asked, 1, "the driver was asked for one page");
    probe.release_hangs();
    drop(endless);
    close(device, &probe);
}

/// A page that unfinished work uses does not serve while there is other memory: what takes it would run after that work.
#[test]
fn a_page_in_use_is_taken_last() {
    let options = SimOptions { memory_bytes: (1 << 20) + (64 << 10), ..SimOptions::default() };
    let (device, probe, endless) = never_idle(options, small());
    probe.release_hangs();
    drop(endless);
    let late = device.alloc(256 << 10).unwrap();
    probe.arm(FaultPlan::one(When::Nth { call: "fill", nth: 0 }, Then::Hang));
    let stream = device.new_stream();
    stream.fill(&late, 1).unwrap();
    drop(late);
    device.trim();
    let others: Vec<Buffer> = (0..2).map(|_| device.alloc(256 << 10).unwrap()).collect();
    for buffer in &others {
        buffer.fill(7).unwrap();
        assert_eq!(buffer.read::<u32>().unwrap(), vec![7; 64 << 10]);
    }
    // Where there is no other it serves, and its next user comes after its last.
    let third = device.alloc(256 << 10).unwrap();
    let asked = device.alloc(256 << 10).and_then(|fourth| fourth.fill(5).map(|()| fourth));
    probe.release_hangs();
    third.fill(8).unwrap();
    assert_eq!(third.read::<u32>().unwrap(), vec![8; 64 << 10]);
    assert!(asked.is_ok_and(|fourth| fourth.read::<u32>().unwrap() == vec![5; 64 << 10]));
    drop((others, third, stream));
    close(device, &probe);
}

/// A page of another size cannot serve: the error says what is held, nobody waits, and it is there once the device is idle.
#[test]
fn memory_that_only_waits_to_be_given_back_is_told() {
    let options = SimOptions { memory_bytes: 16 << 20, ..SimOptions::default() };
    let (device, probe, endless) = never_idle(options, small());
    drop(device.alloc(8 << 20).unwrap());
    device.trim();
    let other = device.alloc(256).unwrap();
    for _ in 0..3 {
        let begun = Instant::now();
        let error = device.alloc(12 << 20).unwrap_err();
        let ServerError::OutOfMemory(why) = &error else { panic!("{error:?}") };
        assert_eq!((why.need, why.held), (12 << 20, 8 << 20));
        let text = error.to_string();
        assert!(text.contains("8388608 bytes more are held until the device is idle and nothing records"), "{text}");
        other.fill(1).unwrap();
        assert!(begun.elapsed() < Duration::from_secs(5), "neither it nor who comes next waits");
    }
    probe.release_hangs();
    let begun = Instant::now();
    let large = loop {
        // The event that tells of the end is passed a moment after the work.
        settle(&device, &probe);
        match device.alloc(12 << 20) {
            Ok(large) => break large,
            Err(error) => assert!(begun.elapsed() < Duration::from_secs(20), "{error}"),
        }
    };
    large.fill(3).unwrap();
    assert_eq!(large.read::<u32>().unwrap(), vec![3; 3 << 20]);
    drop((large, other, endless));
    close(device, &probe);
}

/// Memory that is lent comes back to serve again, used or not.
#[test]
fn memory_that_is_lent_serves_again_where_the_device_is_never_idle() {
    let (device, probe, endless) = never_idle(SimOptions { trace: 0, ..SimOptions::default() }, Config::default());
    let buffer = device.alloc(40 << 20).unwrap();
    let lend = |bytes: u64| device.with_contract(|server| server.stage(bytes)).unwrap();
    for _ in 0..50 {
        drop(lend(1 << 20));
    }
    assert!(probe.live().pinned <= 2, "{} blocks were pinned for one at a time", probe.live().pinned);
    for round in 0..6u8 {
        for _ in 0..3 {
            let mut staged = lend(40 << 20);
            staged.bytes_mut().fill(round);
            let stream = device.stream().id();
            device.with_contract(|server| server.write_staged(stream, buffer.binding(), staged)).unwrap();
        }
        assert_eq!(buffer.read::<u8>().unwrap(), vec![round; 40 << 20]);
    }
    assert!(probe.live().pinned <= 10, "{} blocks are pinned", probe.live().pinned);
    probe.release_hangs();
    drop((buffer, endless));
    close(device, &probe);
}

/// Small copies of graphs that are kept do not keep large memory.
#[test]
fn a_graph_keeps_no_more_pinned_memory_than_it_needs() {
    // As much can be pinned.
    let options = SimOptions { trace: 0, memory_bytes: 480 << 20, ..SimOptions::default() };
    let (device, probe, endless) = never_idle(options, Config::default());
    let (small, large) = (device.alloc(256).unwrap(), device.alloc(80 << 20).unwrap());
    let mut graphs = Vec::new();
    for round in 0..8u32 {
        large.write(&vec![round; 20 << 20]).unwrap();
        assert_eq!(large.read::<u32>().unwrap()[0], round);
        graphs.push(device.capture(|c| c.upload(&small, &[round; 64])).unwrap().0);
    }
    assert!(probe.live().pinned <= graphs.len() + 6, "{} blocks", probe.live().pinned);
    probe.release_hangs();
    drop((graphs, small, large, endless));
    close(device, &probe);
}

/// Code cannot serve anything else: callers wait for an idle moment once much of it is held.
#[test]
fn code_that_piles_up_counts_as_pressure() {
    let (device, probe, endless) = never_idle(SimOptions { trace: 0, ..SimOptions::default() }, small());
    let pressed = || device.with_contract(|server| server.pressure().is_some());
    let mut held = 0;
    while !pressed() {
        drop(inc(&device));
        device.memory_usage();
        held += 1;
        assert!(held < 1000, "{held} kernels were dropped, {} are alive", probe.live().modules);
    }
    assert!(held > 100, "pressure after {held} kernels");
    assert!(!pressed(), "whoever comes next does not wait for the same");
    for _ in 0..300 {
        drop(inc(&device));
        device.memory_usage();
    }
    let begun = Instant::now();
    device.alloc(16).unwrap().fill(1).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(2), "work that never ends holds nobody up for long");
    probe.release_hangs();
    let begun = Instant::now();
    while probe.live().modules > 0 {
        assert!(begun.elapsed() < Duration::from_secs(20), "{} modules are left", probe.live().modules);
        probe.run_all();
        device.memory_usage();
    }
    assert!(!pressed());
    drop(endless);
    close(device, &probe);
}
