//! One life of a backend on a real adapter: build, admit, capture, replay, cache, read of a file, close, and again.

use std::io::Write as _;

use graphreel::Wgsl;
use graphreel::lifecycle::{
    AttemptDisposition, AttemptOutcome, BackendKind, GpuBackendCore, GpuBackendSession, QueryContext,
    ServerFactory as _, claim_live_backend, one_claiming_test,
};
use graphreel::{Buffer, ServerError};
use graphreel_wgpu::{Options, WgpuFactory, open};

use crate::rig::{CACHE, GRANT, LONG, MIB, SHARE, admitted, built, close, present, profile, until, valid};

const AXPY: &str = "
@group(0) @binding(0) var<storage, read> weights: array<u32>;
@group(0) @binding(1) var<storage, read_write> values: array<u32>;
@compute @workgroup_size(64)
fn axpy(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&values) { values[id.x] = values[id.x] * 3u + weights[id.x]; }
}
";

/// Words of each buffer: more than one task of the I/O pool reads.
const WORDS: usize = 3 << 19;

fn source() -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let words: Vec<u8> = (0..WORDS as u32).flat_map(u32::to_le_bytes).collect();
    file.write_all(&words).unwrap();
    file
}

/// Weights of the resident cache, values from a file, a graph over both, replayed; returns what a caller may still hold.
fn work(context: &QueryContext, file: &tempfile::NamedTempFile, loads: &mut usize) -> (Buffer, graphreel::Graph) {
    let bytes = 4 * WORDS as u64;
    let weights = context
        .cached("weights", bytes, |buffer| {
            *loads += 1;
            buffer.write(&vec![7_u32; WORDS])
        })
        .unwrap();
    let values = context.alloc(bytes).unwrap();
    let read = context.read_source(0, file.path(), 0..bytes, &values, 0).unwrap();
    read.wait(context.deadline_in(LONG)).unwrap();
    assert_eq!(read.progress().done_bytes, bytes);
    let kernel = context.kernel(Wgsl::new(AXPY).entry("axpy")).unwrap();
    let groups = [(WORDS as u32).div_ceil(64), 1, 1];
    let (graph, ()) = context.capture(|c| c.launch(&kernel, groups, (weights.buffer(), &values))).unwrap();
    for _ in 0..2 {
        context.replay(&graph).unwrap().wait().unwrap();
    }
    let result = context.stream().read::<u32>(&values).unwrap();
    let expected = |word: u32| word.wrapping_mul(9).wrapping_add(28);
    assert!(result.iter().zip(0..).all(|(value, word)| *value == expected(word)), "a value is wrong");
    (values, graph)
}

fn serve(session: &GpuBackendSession, file: &tempfile::NamedTempFile, loads: &mut usize) {
    let (begin, handle) = admitted(session);
    assert_eq!((handle.device_ordinal(), handle.granted_bytes()), (0, GRANT));
    let context = handle.acquire_context().unwrap();
    let (values, graph) = work(&context, file, loads);
    let refused = context.alloc(GRANT).unwrap_err();
    assert!(matches!(&refused, ServerError::OutOfMemory(_)), "B-105: {refused}");
    begin.owner.mark_planned();
    begin.owner.commit_terminal(AttemptOutcome::Succeeded).unwrap();
    let report = begin.completion.wait_timeout(LONG).unwrap();
    assert_eq!((report.outcome, report.disposition), (AttemptOutcome::Succeeded, AttemptDisposition::Native));
    assert!(values.read::<u32>().unwrap_err().is_closed(), "B-206");
    assert!(graph.replay().map(drop).unwrap_err().is_closed(), "B-206");
}

/// XB-24, B-201: the whole cycle, twice in one process, with nothing left in between.
#[test]
fn a_backend_lives_on_a_real_adapter() {
    if !present() {
        return;
    }
    let _one = one_claiming_test();
    let file = source();
    for _ in 0..2 {
        let core = built();
        assert_eq!(core.device_startup_records().len(), 1);
        let session = core.session_capability();
        let mut loads = 0;
        for _ in 0..3 {
            serve(&session, &file, &mut loads);
        }
        assert_eq!(loads, 1, "the cache outlives attempts");
        let seen = session.diagnostics().unwrap();
        assert_eq!(seen.kind, BackendKind::Wgpu);
        let (device, ledger) = (&seen.devices[0], &seen.admission.devices[0]);
        assert_eq!((ledger.capacity_bytes, ledger.committed_bytes, ledger.active), (SHARE, 0, 0));
        assert_eq!((device.cache.cap_bytes, device.cache.entries_in_use), (CACHE, 0));
        assert_eq!(device.memory.in_use_bytes, device.cache.charged_bytes, "only the cache is left: {device:?}");
        assert!(core.health().ready && !core.health().degraded);
        assert_eq!(core.backend_metrics_snapshot().attempts.completed_total(), 3);
        close(&core);
        assert_eq!(session.attempt_counters_snapshot().reports_ready, 3);
        drop(claim_live_backend(&[0]).unwrap());
    }
}

/// B-110, B-201: more threads than the device has room for, each with its own results.
#[test]
fn attempts_share_a_real_adapter() {
    if !present() {
        return;
    }
    let _one = one_claiming_test();
    let core = GpuBackendCore::new(valid(profile().with_derived_installation_bounds(3)), &WgpuFactory).unwrap();
    std::thread::scope(|scope| {
        for worker in 0..6_u32 {
            let session = core.session_capability();
            scope.spawn(move || {
                for job in 0..4 {
                    let (begin, handle) = admitted(&session);
                    let context = handle.acquire_context().unwrap();
                    let word = worker * 100 + job;
                    let buffer = context.upload(&vec![word; 4096]).unwrap();
                    let copy = context.alloc(4 * 4096).unwrap();
                    let (graph, ()) = context.capture(|c| c.copy(&buffer, &copy)).unwrap();
                    context.replay(&graph).unwrap().wait().unwrap();
                    assert_eq!(context.stream().read::<u32>(&copy).unwrap(), vec![word; 4096]);
                    begin.owner.commit_terminal(AttemptOutcome::Succeeded).unwrap();
                }
            });
        }
    });
    let admission = || core.session_capability().diagnostics().unwrap().admission;
    // A grant goes back behind the commit, once the device is through.
    until("every grant is back", || admission().devices[0].committed_bytes == 0);
    assert_eq!((admission().counters.granted, admission().queued), (24, 0));
    close(&core);
}

/// B-13, B-176: a partition caps what the whole backend takes from the device.
#[test]
fn a_partition_caps_the_adapter() {
    use graphreel::lifecycle::config::{
        GpuBackendConfig, GpuBackendDeviceConfig, GpuDeviceMemoryLimit, GpuMemoryOwnership, QueryExecutionConfig,
        QueueBounds,
    };
    if !present() {
        return;
    }
    let _one = one_claiming_test();
    let small = profile()
        .with_memory_limit(GpuDeviceMemoryLimit::Explicit { limit_bytes: 32 * MIB })
        .with_cache_cap_bytes(0)
        .with_default_query_limit_bytes(32 * MIB);
    let partition = GpuMemoryOwnership::StaticPartition { allocation_limit_bytes: 32 * MIB };
    let device = GpuBackendDeviceConfig::new(small, partition);
    let config = GpuBackendConfig::new(vec![device], QueryExecutionConfig::default(), QueueBounds::default());
    let core = GpuBackendCore::new(config.validate().unwrap(), &WgpuFactory).unwrap();
    let (begin, handle) = admitted(&core.session_capability());
    let context = handle.acquire_context().unwrap();
    let kept = context.alloc(16 * MIB).unwrap();
    assert!(matches!(context.alloc(17 * MIB).unwrap_err(), ServerError::OutOfMemory(_)));
    kept.fill(3).unwrap();
    assert_eq!(context.stream().read::<u32>(&kept).unwrap()[4095], 3);
    drop((begin, handle));
    close(&core);
}

/// B-56, B-60: direct use of an adapter and a backend over it refuse each other; the factory's own device does neither.
#[test]
fn direct_use_of_the_adapter_is_refused_beside_a_backend() {
    if !present() {
        return;
    }
    let _one = one_claiming_test();
    let direct = open(Options::default()).unwrap();
    let error = GpuBackendCore::new(valid(profile()), &WgpuFactory).unwrap_err();
    assert_eq!(error.reason(), Some("device_in_direct_use"));
    assert!(error.fact_value("holder").unwrap().starts_with("wgpu device "), "{error}");
    drop(direct);
    let core = built();
    let error = open(Options::default()).map(drop).unwrap_err();
    assert!(matches!(error, ServerError::DevicesOwned { .. }), "{error}");
    drop(open(Options { unleased: true, ..Options::default() }).unwrap());
    close(&core);
    let beside = WgpuFactory.open(0, graphreel::Config::default()).unwrap();
    close(&built());
    drop(beside);
}
