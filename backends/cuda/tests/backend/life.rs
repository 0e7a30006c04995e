//! Lives of a backend on a CUDA device: build, admit, capture, replay, cache, close, and again; what it says of the device; and
//! closes over work in flight.

use std::time::Instant;

use graphreel::lifecycle::config::GpuMemoryOwnership;
use graphreel::lifecycle::{
    AttemptOutcome, BackendKind, FactProvenance, GpuBackendCore, GpuBackendSession, GpuInventory as _,
    ServerFactory as _, claim_live_backend, one_claiming_test, probe_device_capacity,
};
use graphreel::{Config, Device, ServerError, Wgsl};
use graphreel_cuda::{CudaFactory, CudaOptions, devices, open};
use graphreel_testkit::announce;

use crate::rig::{CACHE, GRANT, LONG, SHARE, admitted, close, config, present, until};

const AXPY: &str = "
@group(0) @binding(0) var<storage, read> weights: array<u32>;
@group(0) @binding(1) var<storage, read_write> values: array<u32>;
@compute @workgroup_size(64)
fn axpy(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&values) { values[id.x] = values[id.x] * 3u + weights[id.x]; }
}
";

const WORDS: usize = 1 << 18;

fn factory() -> CudaFactory {
    CudaFactory::default()
}

/// One attempt: cached weights, uploaded values, a graph over both, replayed twice. What it keeps is refused after its end.
fn serve(session: &GpuBackendSession, seed: u32, loads: &std::sync::atomic::AtomicUsize) {
    let (begin, handle) = admitted(session);
    assert_eq!((handle.device_ordinal(), handle.granted_bytes()), (0, GRANT));
    let context = handle.acquire_context().unwrap();
    let load = |buffer: &graphreel::Buffer| {
        loads.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        buffer.write(&vec![7_u32; WORDS])
    };
    let weights = context.cached("weights", 4 * WORDS as u64, load).unwrap();
    let values = context.upload(&(0..WORDS as u32).map(|word| word ^ seed).collect::<Vec<_>>()).unwrap();
    let kernel = context.kernel(Wgsl::new(AXPY).entry("axpy")).unwrap();
    let groups = [(WORDS as u32).div_ceil(64), 1, 1];
    let (graph, ()) = context.capture(|c| c.launch(&kernel, groups, (weights.buffer(), &values))).unwrap();
    for _ in 0..2 {
        context.replay(&graph).unwrap().wait().unwrap();
    }
    let result = context.stream().read::<u32>(&values).unwrap();
    let expected = |word: u32| (word ^ seed).wrapping_mul(9).wrapping_add(28);
    assert!(result.iter().zip(0..).all(|(value, word)| *value == expected(word)), "a value is wrong");
    assert!(matches!(context.alloc(GRANT).unwrap_err(), ServerError::OutOfMemory(_)), "B-105");
    begin.owner.commit_terminal(AttemptOutcome::Succeeded).unwrap();
    assert_eq!(begin.completion.wait_timeout(LONG).unwrap().outcome, AttemptOutcome::Succeeded);
    assert!(
        values.read::<u32>().unwrap_err().is_closed() && graph.replay().map(drop).unwrap_err().is_closed(),
        "B-206"
    );
}

/// XB-24, B-201: the whole cycle, several times in one process, from several threads, with nothing left in between.
#[test]
fn a_backend_lives_again_and_again() {
    if !present() {
        return;
    }
    let _one = one_claiming_test();
    for round in 0..5 {
        let core = GpuBackendCore::new(config(), &factory()).unwrap();
        let session = core.session_capability();
        let loads = std::sync::atomic::AtomicUsize::new(0);
        serve(&session, round, &loads);
        std::thread::scope(|scope| {
            for worker in 0..4 {
                let (session, loads) = (session.clone(), &loads);
                scope.spawn(move || (0..3).for_each(|job| serve(&session, worker * 10 + job, loads)));
            }
        });
        assert_eq!(loads.into_inner(), 1, "the cache outlives attempts");
        let admission = || session.diagnostics().unwrap().admission;
        until("every grant is back", || admission().devices[0].committed_bytes == 0);
        let seen = session.diagnostics().unwrap();
        assert_eq!((seen.kind, seen.admission.counters.granted), (BackendKind::Cuda, 13));
        assert_eq!((seen.admission.devices[0].capacity_bytes, seen.devices[0].cache.cap_bytes), (SHARE, CACHE));
        assert!(core.health().ready && !core.health().degraded);
        close(&core);
        drop(claim_live_backend(&[0]).unwrap());
    }
}

/// B-39, B-54, B-202: the facts of the device, and what may be declared of it.
#[test]
fn a_device_is_told_of_as_it_is() {
    if !present() {
        return;
    }
    let device = devices().unwrap().remove(0);
    let facts = factory().facts(0).unwrap();
    announce(&format!("{device:?}\n{facts:?}"));
    assert_eq!((facts.uuid.clone(), facts.pci_bus_id.clone()), (device.info.uuid.clone(), device.info.pci.clone()));
    assert_eq!(facts.total_bytes_provenance, FactProvenance::Reported);
    assert!(facts.uuid.is_some_and(|uuid| uuid.len() == 36) && facts.pci_bus_id.is_some_and(|pci| pci.contains(':')));
    let probe = probe_device_capacity(&factory(), 0, GpuMemoryOwnership::WholeDeviceExclusive, 0).unwrap();
    assert_eq!(probe.visible_total_bytes, facts.total_bytes);
    assert!(factory().facts(4096).is_err());
    let opened = Device::new(Box::new(open(&CudaOptions::default(), Config::default()).unwrap()), Config::default());
    let info = opened.info();
    assert_eq!(
        (&info.name, &info.uuid, info.memory_bytes),
        (&device.info.name, &device.info.uuid, device.info.memory_bytes)
    );
}

/// B-184: where NVML loads the device is sampled, within what is possible.
#[test]
fn a_device_is_sampled_where_nvml_loads() {
    if !present() {
        return;
    }
    let Some(source) = factory().telemetry(0) else { return announce("no NVML here, so nothing is sampled") };
    let sample = source.sample().unwrap();
    announce(&format!("{sample:?}"));
    let memory = sample.used_bytes.zip(sample.free_bytes);
    assert!(memory.is_some_and(|(used, free)| used + free > 0), "{sample:?}");
    assert!(sample.temperature_celsius.is_none_or(|degrees| (1..130).contains(&degrees)), "{sample:?}");
    assert!(sample.compute_percent.is_none_or(|busy| busy <= 100), "{sample:?}");
}

/// Work for some tenths of a second.
const SPIN: &str = "
@group(0) @binding(0) var<storage, read_write> values: array<u32>;
@compute @workgroup_size(64)
fn spin(@builtin(global_invocation_id) id: vec3<u32>) {
    var value = values[id.x];
    for (var step = 0u; step < 5000000u; step++) { value = value * 1664525u + 1013904223u; }
    values[id.x] = value;
}
";

/// B-66, B-147, XB-24: a close waits for what the device still runs, and the claim with it.
#[test]
fn a_close_waits_for_work_in_flight() {
    if !present() {
        return;
    }
    let _one = one_claiming_test();
    let core = GpuBackendCore::new(config(), &factory()).unwrap();
    let (begin, handle) = admitted(&core.session_capability());
    let context = handle.acquire_context().unwrap();
    let kernel = context.kernel(Wgsl::new(SPIN).entry("spin")).unwrap();
    let buffer = context.upload(&vec![1_u32; 1 << 14]).unwrap();
    let (graph, ()) = context.capture(|c| c.launch(&kernel, [(1 << 14) / 64, 1, 1], (&buffer,))).unwrap();
    // The quickest of some: the first finds a device whose clock is low.
    let timed = (0..4).map(|_| {
        let started = Instant::now();
        context.replay(&graph).unwrap().wait().unwrap();
        started.elapsed()
    });
    let one = timed.min().unwrap();
    let started = Instant::now();
    let replays: Vec<_> = (0..8).map(|_| context.replay(&graph).unwrap()).collect();
    begin.owner.commit_terminal(AttemptOutcome::Cancelled).unwrap();
    core.close();
    until("the claim is free", || claim_live_backend(&[0]).is_ok());
    let took = started.elapsed();
    assert!(took > one * 4, "the claim went before the work: {took:?} after eight replays of {one:?} each");
    drop(replays);
    close(&core);
}
