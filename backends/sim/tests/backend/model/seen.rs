//! What a backend shows of itself at one moment, and what the model says that it must show.

use std::time::Duration;

use graphreel::lifecycle::admission::{AdmissionCounters, DeviceClosure};
use graphreel::lifecycle::{AttemptDisposition, AttemptOutcome, BackendDiagnostics, QueryAttemptReport};

use super::plain::Plain;
use super::resident::PlainCache;
use super::world::World;

/// Nothing of a part that cannot be asked: without a session or a core, or while the backend closes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Seen {
    close: Option<CloseSeen>,
    attempts: Option<[u64; 5]>,
    services: Option<Services>,
    /// How often each attempt reported.
    reports: Vec<usize>,
}

#[derive(Debug, PartialEq, Eq)]
struct CloseSeen {
    closing: bool,
    gpu_permits: u64,
    observation_permits: u64,
    gpu_quiescent: bool,
    observation_quiescent: bool,
}

#[derive(Debug, PartialEq, Eq)]
struct Services {
    counters: AdmissionCounters,
    queued_by_class: [usize; 3],
    devices: Vec<DeviceSeen>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct DeviceSeen {
    committed_bytes: u64,
    active: usize,
    source_slots_in_use: usize,
    queued: usize,
    closed: Option<&'static str>,
    lanes_taken: usize,
    streams_out: usize,
    streams_unusable: usize,
    cache: [u64; 6],
    cache_bytes_are_entries: bool,
    /// Whether memory is in use that neither an attempt nor the cache pays for.
    has_stray_memory: bool,
}

impl Seen {
    /// What the backend shows.
    pub(super) fn now(world: &World) -> Self {
        let session = world.session();
        let closing = world.plain.closing;
        let diagnostics = session.as_ref().filter(|_| !closing).map(|session| session.diagnostics().unwrap());
        let attempts = session.as_ref().map(|session| {
            assert_eq!(session.is_closing(), closing);
            let counters = session.attempt_counters_snapshot();
            let abandoned = [counters.completion_queue_pushed, counters.completion_queue_overflowed];
            [counters.attempts_begun, counters.reports_ready, abandoned[0], abandoned[1], counters.reports_discarded]
        });
        let close = world.cores.first().map(|core| {
            let close = core.close_snapshot();
            assert!(!close.cleanup_failed_closed);
            CloseSeen {
                closing: close.closing,
                gpu_permits: close.active_gpu_permits,
                observation_permits: close.active_observation_permits,
                gpu_quiescent: close.gpu_resource_quiescent,
                observation_quiescent: close.observation_quiescent,
            }
        });
        let reports = world.attempts.iter().map(|attempt| attempt.reports.lock().unwrap().len()).collect();
        Self { close, attempts, services: diagnostics.map(|found| services(&found)), reports }
    }

    /// What it must show.
    pub(super) fn due(world: &World) -> Self {
        let plain = &world.plain;
        let ended = |index: &usize| plain.attempts[*index].end.is_some();
        let reports = (0..plain.attempts.len()).map(|index| usize::from(ended(&index))).collect();
        let (gpu, observation) = (plain.gpu_permits(), plain.observation_permits());
        let close = (!world.cores.is_empty()).then_some(CloseSeen {
            closing: plain.closing,
            gpu_permits: gpu,
            observation_permits: observation,
            gpu_quiescent: plain.closing && gpu == 0,
            observation_quiescent: plain.closing && observation == 0,
        });
        let asked = world.session().is_some();
        let ready = (0..plain.attempts.len()).filter(ended).count() as u64;
        let attempts = [plain.attempts.len() as u64, ready, plain.pushed, plain.overflowed, 0];
        let services = (asked && !plain.closing).then(|| due_services(plain, &world.caches));
        Self { close, attempts: asked.then_some(attempts), services, reports }
    }
}

fn services(found: &BackendDiagnostics) -> Services {
    let admission = &found.admission;
    let counters = admission.counters;
    let at_first = counters.refused_at_once + counters.declined + counters.placed_at_once + counters.queued_total;
    assert_eq!(counters.submitted, at_first, "B-118: {admission:?}");
    let devices = admission.devices.iter().zip(&found.devices).map(|(ledger, device)| {
        assert!(ledger.committed_bytes <= ledger.capacity_bytes && ledger.active <= ledger.max_active, "{ledger:?}");
        let (cache, streams) = (&device.cache, &device.streams);
        let closed = ledger.closure.as_ref().map(|closure| match closure {
            DeviceClosure::Quarantined { .. } => "quarantined",
            DeviceClosure::Faulted { .. } => "faulted",
            other => panic!("closed by {other:?}"),
        });
        let lost = device.lost.is_some();
        DeviceSeen {
            committed_bytes: ledger.committed_bytes,
            active: ledger.active,
            source_slots_in_use: ledger.source_slots_in_use,
            queued: ledger.queued,
            closed,
            lanes_taken: device.lanes_taken,
            streams_out: streams.checked_out,
            streams_unusable: if lost { 0 } else { streams.retired },
            cache: [
                cache.entries as u64,
                cache.entries_in_use as u64,
                cache.hits,
                cache.loads,
                cache.failures,
                cache.evictions,
            ],
            cache_bytes_are_entries: lost || cache.charged_bytes == cache.entries as u64 * super::world::ENTRY_BYTES,
            has_stray_memory: !lost && ledger.active == 0 && device.memory.in_use_bytes > cache.charged_bytes,
        }
    });
    Services { counters, queued_by_class: admission.queued_by_class, devices: devices.collect() }
}

fn due_services(plain: &Plain, caches: &[PlainCache]) -> Services {
    let mut queued_by_class = [0; 3];
    plain.waiting().for_each(|(_, request)| queued_by_class[request.asked.class] += 1);
    let devices = plain.devices.iter().zip(caches).enumerate().map(|(index, (device, cache))| {
        let active = device.held.len();
        let running = plain.active().filter(|attempt| attempt.placed.is_some_and(|placed| placed.device == index));
        let running = running.count();
        DeviceSeen {
            committed_bytes: device.committed(),
            active,
            source_slots_in_use: active,
            queued: plain.waiting().filter(|(_, request)| request.devices.contains(&index)).count(),
            closed: match (device.lost, device.quarantined) {
                (true, _) => Some("faulted"),
                (false, true) => Some("quarantined"),
                (false, false) => None,
            },
            lanes_taken: running,
            // The root and one for a source.
            streams_out: running * 2,
            streams_unusable: 0,
            cache: [
                cache.len() as u64,
                cache.in_use() as u64,
                cache.hits,
                cache.loads,
                cache.failures,
                cache.evictions,
            ],
            cache_bytes_are_entries: true,
            has_stray_memory: false,
        }
    });
    Services { counters: plain.counters, queued_by_class, devices: devices.collect() }
}

/// Hold the report of attempt `index` against the model.
pub(super) fn check_report(plain: &Plain, index: usize, report: &QueryAttemptReport) {
    let attempt = &plain.attempts[index];
    let end = attempt.end.expect("only what has ended reports");
    assert_eq!(report.attempt_id, index as u64 + 1);
    assert_eq!((report.outcome, report.backend_closing), (end.outcome, end.was_closing));
    let disposition = match (attempt.used, attempt.planned_at) {
        (true, _) => AttemptDisposition::Native,
        (false, Some(_)) => AttemptDisposition::HostOnly,
        (false, None) => AttemptDisposition::Unplanned,
    };
    assert_eq!(report.disposition, disposition);
    let placed = attempt.placed;
    assert_eq!(report.device_ordinal, placed.map(|placed| placed.device));
    assert_eq!(report.granted_bytes, placed.map_or(0, |placed| placed.bytes));
    assert_eq!(report.queue_wait, placed.map_or(Duration::ZERO, |placed| placed.wait));
    assert_eq!(report.total, end.at - attempt.begun_at, "virtual time stands still within a step");
    assert_eq!(report.planning, attempt.planned_at.map_or(Duration::ZERO, |at| at - attempt.begun_at));
    let reason = report.error.as_ref().and_then(|error| error.reason());
    let due = match end.outcome {
        AttemptOutcome::Failed => Some("test_failure"),
        _ => end.lost.then_some("device_lost"),
    };
    assert_eq!(reason, due);
}
