//! What goes wrong: failed replays, taint, the loss of the device, foreign and wrapped buffers, selection.

use std::time::{Duration, Instant};

use graphreel::op::Op;
use graphreel::server::{CaptureOptions, WaitMode};
use graphreel::{Clock, Config, Deadline, Server, ServerError};
use graphreel_wgpu::{Options, Select, WgpuServer, adapters, open};

use crate::rig::{OWNER, Rig, SAXPY, rig, saxpy};

#[test]
fn a_replay_that_ran_nothing_can_be_retried_and_a_faulted_one_names_what_to_write() {
    // XC-19, XC-24.
    let Some(mut rig) = rig() else { return };
    let kernel = rig.kernel(SAXPY);
    let (x, y) = (rig.upload(&[1.0f32; 4]), rig.upload(&[0.0f32; 4]));
    let graph = rig.capture(|rig| rig.run(saxpy(&kernel, &x, &y, 1.0))).expect("a graph");
    rig.server.inject_replay_failure(1, false);
    assert!(matches!(rig.replay(&graph), Err(ServerError::DeviceFault { .. })));
    assert!(matches!(rig.try_read::<f32>(&y.binding()), Err(ServerError::Tainted { .. })));
    assert_eq!(rig.read::<f32>(&x), [1.0; 4], "what the graph only reads stays readable");
    rig.replay(&graph).expect("nothing had run, so the bytes are as they were");
    assert_eq!(rig.read::<f32>(&y), [1.0; 4]);
    rig.server.inject_replay_failure(1, true);
    assert!(rig.replay(&graph).is_err());
    let error = rig.replay(&graph).expect_err("y holds no result, and the graph reads it");
    assert!(matches!(&error, ServerError::Tainted { buffer, .. } if *buffer == y.memory().id()), "{error}");
    rig.write(&y, &[5.0f32; 4]);
    rig.replay(&graph).expect("y was written again");
    assert_eq!(rig.read::<f32>(&y), [6.0; 4]);
}

#[test]
fn a_lost_device_ends_waits_and_refuses_by_name() {
    let Some(mut rig) = rig() else { return };
    let kernel = rig.kernel(SAXPY);
    let (x, y) = (rig.upload(&[1.0f32; 4]), rig.upload(&[0.0f32; 4]));
    let graph = rig.capture(|rig| rig.run(saxpy(&kernel, &x, &y, 1.0))).expect("a graph");
    rig.server.graph_prepare(OWNER, CaptureOptions::default()).expect("idle");
    rig.server.destroy_device();
    let started = Instant::now();
    let lost = |error: &ServerError| error.is_device_lost();
    let read = rig.server.read(OWNER, vec![x.binding()], WaitMode::Blocking).map(|_| ());
    assert!(lost(&read.expect_err("lost")));
    assert!(lost(&rig.server.replay(OWNER, graph.id, false).map(|_| ()).expect_err("lost")));
    assert!(lost(&rig.server.submit(OWNER, saxpy(&kernel, &x, &y, 1.0)).expect_err("lost")));
    assert!(lost(&rig.server.begin_capture(OWNER).expect_err("lost")));
    assert!(lost(&rig.server.alloc(OWNER, 4, &rig.account).map(|_| ()).expect_err("lost")));
    assert!(lost(&rig.server.compiler().compile(&SAXPY.into()).map(|_| ()).expect_err("lost")));
    assert!(started.elapsed() < Duration::from_secs(1));
    assert!(!rig.server.capture_status(OWNER).active, "the window was torn down");
    drop(rig);
    let mut again = self::rig().expect("a new device opens");
    let z = again.upload(&[3u32; 4]);
    assert_eq!(again.read::<u32>(&z), [3; 4]);
}

#[test]
fn waiters_end_within_a_second_of_the_loss() {
    let Some(mut rig) = rig() else { return };
    let kernel = rig.kernel(
        "@group(0) @binding(0) var<storage, read_write> y: array<u32>;
        @compute @workgroup_size(64) fn spin(@builtin(global_invocation_id) id: vec3<u32>) {
            var v = id.x;
            for (var i = 0u; i < 20000u; i++) { v = v * 1664525u + y[v % 64u]; }
            y[id.x % 64u] = v;
        }",
    );
    let y = rig.upload(&[1u32; 64]);
    (0..8).for_each(|_| rig.run(Op::Launch(crate::rig::launch(&kernel, 256, &[&y], &[]))));
    let ticket = rig.server.read(OWNER, vec![y.binding()], WaitMode::Blocking).expect("a read");
    let fence = ticket.fence.clone();
    let waiter = std::thread::spawn(move || {
        let outcome = fence.wait(&Clock::system(), Deadline::NEVER);
        (outcome, Instant::now())
    });
    std::thread::sleep(Duration::from_millis(20));
    rig.server.destroy_device();
    let lost = Instant::now();
    let (outcome, ended) = waiter.join().expect("a waiter does not panic");
    // The work may also have been done before the loss.
    assert!(outcome.as_ref().is_ok_and(|passed| *passed) || outcome.is_err_and(|error| error.is_device_lost()));
    assert!(ended.saturating_duration_since(lost) < Duration::from_secs(1));
}

#[test]
fn a_device_that_the_application_destroys_ends_waits() {
    let Some(mut rig) = rig() else { return };
    let kernel = rig.kernel(SAXPY);
    let (x, y) = (rig.upload(&[1.0f32; 4]), rig.upload(&[0.0f32; 4]));
    let graph = rig.capture(|rig| rig.run(saxpy(&kernel, &x, &y, 1.0))).expect("a graph");
    rig.replay(&graph).expect("the device is there");
    assert_eq!(rig.read::<f32>(&y), [1.0; 4]);
    rig.server.raw_device().0.destroy();
    // Calls may be refused by wgpu first. It numbers submissions that it no longer takes, without a word: a wait finds out.
    let started = Instant::now();
    let _ = rig.replay(&graph);
    let clock = Clock::system();
    let waited = rig.server.sync(OWNER, WaitMode::Blocking);
    let waited = waited.and_then(|ticket| ticket.fence.wait(&clock, clock.deadline_in(Duration::from_secs(5))));
    assert!(waited.expect_err("lost").is_device_lost());
    assert!(started.elapsed() < Duration::from_secs(1));
    assert!(rig.server.submit(OWNER, saxpy(&kernel, &x, &y, 1.0)).expect_err("lost").is_device_lost());
}

#[test]
fn handles_of_another_device_are_refused() {
    let (Some(mut one), Some(mut two)) = (rig(), rig()) else { return };
    let foreign = two.upload(&[1.0f32; 4]);
    let kernel = one.kernel(SAXPY);
    let y = one.upload(&[0.0f32; 4]);
    let refused = one.server.submit(OWNER, saxpy(&kernel, &foreign, &y, 1.0));
    assert!(matches!(refused, Err(ServerError::ForeignHandle { .. })));
    let refused = one.server.read(OWNER, vec![foreign.binding()], WaitMode::Blocking).map(|_| ());
    assert!(matches!(refused, Err(ServerError::ForeignHandle { .. })));
    assert_eq!(one.read::<f32>(&y), [0.0; 4], "a refusal taints nothing");
}

#[test]
fn an_applications_device_and_buffers_are_used_as_they_are() {
    let Some(own) = rig() else { return };
    let (device, queue) = {
        let (device, queue) = own.server.raw_device();
        (device.clone(), queue.clone())
    };
    let server = WgpuServer::from_device(device.clone(), queue.clone(), Config::default()).expect("an adopted device");
    let mut rig = Rig { server, account: graphreel::Account::new("test", None) };
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
    let make = |usage| {
        device.create_buffer(&wgpu::BufferDescriptor { label: None, size: 16, usage, mapped_at_creation: false })
    };
    let raw = make(usage);
    queue.write_buffer(&raw, 0, bytemuck::cast_slice(&[4.0f32; 4]));
    let x = rig.server.wrap_buffer(OWNER, raw).expect("it has every usage");
    let missing = rig.server.wrap_buffer(OWNER, make(wgpu::BufferUsages::STORAGE)).expect_err("it cannot be copied");
    assert!(missing.to_string().contains("COPY_SRC"), "{missing}");
    let kernel = rig.kernel(SAXPY);
    let y = rig.upload(&[1.0f32; 4]);
    rig.run(saxpy(&kernel, &x, &y, 2.0));
    assert_eq!(rig.read::<f32>(&y), [9.0; 4]);
    let place = rig.server.raw_buffer(&y.binding()).expect("our own buffer");
    queue.write_buffer(&place.buffer, place.offset, bytemuck::cast_slice(&[0.5f32; 4]));
    rig.server.external_write(OWNER, y.binding()).expect("our own range");
    assert_eq!(rig.read::<f32>(&y), [0.5; 4]);
}

#[test]
fn a_selection_that_nothing_meets_says_what_there_is() {
    let found = adapters();
    if found.is_empty() {
        return;
    }
    let options = Options { select: Select::Name("no such card".into()), ..Options::default() };
    let error = open(options).map(|_| ()).expect_err("no adapter has that name");
    assert!(error.to_string().contains(&found[0].info.name), "{error}");
    let software = found.iter().position(|summary| summary.info.kind == graphreel::DeviceKind::Software);
    assert!(software.is_none_or(|index| index + 1 == found.len()), "software comes last");
}

/// A rig over another one's device, and a wrapped buffer with the wgpu buffer behind it.
fn wrapped() -> Option<(Rig, graphreel::memory::Handle, wgpu::Buffer)> {
    let mut rig = rig()?;
    let (device, _) = rig.server.raw_device();
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
    let raw = device.create_buffer(&wgpu::BufferDescriptor { label: None, size: 16, usage, mapped_at_creation: false });
    let handle = rig.server.wrap_buffer(OWNER, raw.clone()).expect("it has every usage");
    Some((rig, handle, raw))
}

#[test]
fn a_refused_batch_taints_what_it_would_have_written_and_nothing_else() {
    let Some((mut rig, x, raw)) = wrapped() else { return };
    let kernel = rig.kernel(SAXPY);
    let (y, other) = (rig.upload(&[1.0f32; 4]), rig.upload(&[2.0f32; 4]));
    assert_eq!(rig.read::<f32>(&y), [1.0; 4]);
    rig.run(saxpy(&kernel, &x, &y, 1.0));
    // The application breaks its word and destroys a buffer that queued work uses.
    raw.destroy();
    let fault = rig.server.sync(OWNER, WaitMode::Blocking).map(|_| ()).expect_err("wgpu refuses the batch");
    assert!(matches!(fault, ServerError::DeviceFault { .. }), "{fault}");
    assert!(rig.server.sync(OWNER, WaitMode::Blocking).is_ok(), "a fault is reported once");
    assert!(matches!(rig.try_read::<f32>(&y.binding()), Err(ServerError::Tainted { .. })));
    assert_eq!(rig.read::<f32>(&other), [2.0; 4]);
    rig.write(&y, &[3.0f32; 4]);
    rig.run(saxpy(&kernel, &other, &y, 1.0));
    assert_eq!(rig.read::<f32>(&y), [5.0; 4]);
    assert_eq!(rig.server.counters().device_faults, 1);
}

#[test]
fn a_refused_batch_leaves_no_other_accounts_bytes() {
    let Some((mut rig, wrapped, raw)) = wrapped() else { return };
    let secret = rig.upload(&[0xdead_u32; 16]);
    assert_eq!(rig.read::<u32>(&secret), [0xdead; 16]);
    drop(secret);
    let other = graphreel::memory::Account::new("other", None);
    rig.run(Op::Fill { dst: wrapped.binding().into(), word: 3 });
    // It takes the place of the secret, and is to be zero for whatever kernel reads it.
    let fresh = rig.server.alloc(OWNER, 64, &other).expect("a small allocation");
    raw.destroy();
    let seen = rig.server.alloc(OWNER, 64, &other).expect("a small allocation");
    let _ = rig.server.flush(OWNER);
    rig.run(Op::Copy { src: fresh.binding().into(), dst: seen.binding().into() });
    assert_eq!(rig.read::<u32>(&seen), [0; 16]);
}

#[test]
fn a_replay_that_wgpu_refuses_runs_nothing() {
    // C-84: all or none.
    let Some((mut rig, x, raw)) = wrapped() else { return };
    let kernel = rig.kernel(SAXPY);
    let y = rig.upload(&[1.0f32; 4]);
    let graph = rig.capture(|rig| rig.run(saxpy(&kernel, &x, &y, 1.0))).expect("a graph");
    rig.replay(&graph).expect("a replay");
    raw.destroy();
    assert!(matches!(rig.replay(&graph), Err(ServerError::DeviceFault { .. })));
    assert!(matches!(rig.try_read::<f32>(&y.binding()), Err(ServerError::Tainted { .. })));
    rig.write(&y, &[4.0f32; 4]);
    assert_eq!(rig.read::<f32>(&y), [4.0; 4]);
}

#[test]
fn limits_of_accounts_and_of_the_device_are_checked_before_wgpu() {
    let Some(mut rig) = rig() else { return };
    let small = graphreel::Account::new("small", Some(1 << 10));
    let refused = rig.server.alloc(OWNER, 1 << 20, &small).map(|_| ()).expect_err("more than the account has");
    assert!(matches!(refused, ServerError::OutOfMemory(_)), "{refused}");
    for bytes in [0, u64::MAX] {
        let refused = rig.server.alloc(OWNER, bytes, &rig.account).map(|_| ()).expect_err("no such size");
        assert!(matches!(refused, ServerError::InvalidSize { .. }), "{refused}");
    }
    assert_eq!(small.used(), 0);
}

#[test]
fn queued_work_reaches_an_applications_buffer_when_the_device_handle_is_dropped() {
    let Some((mut rig, x, raw)) = wrapped() else { return };
    let (device, queue) = {
        let (device, queue) = rig.server.raw_device();
        (device.clone(), queue.clone())
    };
    rig.run(Op::Fill { dst: x.binding().into(), word: 77 });
    drop(rig);
    let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
    let read = wgpu::BufferDescriptor { label: None, size: 16, usage, mapped_at_creation: false };
    let read = device.create_buffer(&read);
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    encoder.copy_buffer_to_buffer(&raw, 0, &read, 0, 16);
    queue.submit([encoder.finish()]);
    read.map_async(wgpu::MapMode::Read, .., |outcome| outcome.expect("a mapping"));
    device.poll(wgpu::PollType::wait_indefinitely()).expect("the device is there");
    let words: Vec<u32> = bytemuck::pod_collect_to_vec(&read.get_mapped_range(..).expect("mapped"));
    assert_eq!(words, [77; 4]);
}
