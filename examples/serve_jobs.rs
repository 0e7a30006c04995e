//! A service in small: jobs of mixed sizes and classes from 16 threads through one backend, which runs four at a time. Each job
//! captures a graph, replays it within its grant and checks the result; one in twenty has hardly any time to wait, and one in
//! twenty is called off. Prints how the jobs ended, a table of what the backend counted, and its metrics for Prometheus.
//!
//! `cargo run --example serve_jobs [BACKEND [JOBS]]`: BACKEND is `wgpu` or `sim`, which is the default, JOBS is 1,000.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use std::error::Error;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use graphreel::lifecycle::config::{
    BackendChoice, GpuBackendConfig, GpuBackendDeviceConfig, GpuBackendDeviceProfile, GpuDeviceMemoryLimit,
    GpuMemoryOwnership, QueryExecutionConfig, QueueBounds,
};
use graphreel::lifecycle::{
    AdmissionClass, AttemptBegin, AttemptOutcome, BackendKind, BeginAttemptRequest, CancellationToken, GpuBackendCore,
    GpuBackendSession, QueryAdmissionRequest, QueryContext, QueryHandle, QueryResult,
};
use graphreel::{ServerError, Wgsl};

/// Threads that bring jobs.
const THREADS: usize = 16;

/// Attempts that are on the device at once.
const ACTIVE: usize = 4;

/// What they share: enough for each to have the largest job, so that slots run out before bytes do.
const SHARE_BYTES: u64 = 64 << 20;

const SCALE: &str = "
@group(0) @binding(0) var<storage, read_write> values: array<u32>;

@compute @workgroup_size(64)
fn scale(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&values) {
        values[id.x] = values[id.x] * 3u + 1u;
    }
}
";

/// What a job is granted beside its values.
const SPARE_BYTES: u64 = 1 << 20;

/// Of each twenty, the job that may wait for 50 microseconds alone, and the one that is called off as soon as it asked.
const HURRIED: usize = 7;
const CALLED_OFF: usize = 13;

/// How the jobs ended. A hurried job, or one that is called off, may also be done: it was placed at once.
#[derive(Debug, Default)]
struct Tally {
    done: AtomicUsize,
    expired: AtomicUsize,
    cancelled: AtomicUsize,
    other: AtomicUsize,
    first_other: Mutex<Option<String>>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "sim".to_owned());
    let kind = BackendKind::from_name(&name).ok_or_else(|| format!("no backend is called `{name}`"))?;
    let jobs = arguments.next().map_or(Ok(1_000), |jobs| jobs.parse())?;
    run(kind, jobs)
}

/// Run `jobs` jobs on a backend of `kind`, and close it.
pub(crate) fn run(kind: BackendKind, jobs: usize) -> Result<(), Box<dyn Error>> {
    let core = build(kind)?;
    let (next, tally) = (AtomicUsize::new(0), Tally::default());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            // A session is what code is given that uses the devices; it keeps none of them owned.
            let session = core.session_capability();
            let (next, tally) = (&next, &tally);
            scope.spawn(move || {
                let mut job = next.fetch_add(1, Ordering::Relaxed);
                while job < jobs {
                    tally.count(job, &serve(&session, job));
                    job = next.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    report(&core, &tally);
    // Every attempt has ended, so this waits for little; behind it the device is free for another backend.
    core.close_and_wait(Duration::from_secs(30))?;
    // Counters outlive the devices.
    let reported = core.session_capability().attempt_counters_snapshot().reports_ready;
    if tally.expected() != jobs || reported != jobs as u64 {
        let first = tally.first_other.lock().map_or(None, |first| first.clone()).unwrap_or_default();
        return Err(
            format!("of {jobs} jobs {} ended as they should, {reported} reported; {first}", tally.expected()).into()
        );
    }
    Ok(())
}

/// A backend over the first device of `kind`.
fn build(kind: BackendKind) -> Result<GpuBackendCore, Box<dyn Error>> {
    let factory = graphreel_backends::factory(BackendChoice::Kind(kind))?;
    let profile = GpuBackendDeviceProfile::new(0)
        .with_memory_limit(GpuDeviceMemoryLimit::Explicit { limit_bytes: SHARE_BYTES })
        .with_derived_installation_bounds(ACTIVE);
    // The promise that nobody else has the device's memory is the deployment's to make.
    let device = GpuBackendDeviceConfig::new(profile, GpuMemoryOwnership::WholeDeviceExclusive);
    let queue = QueueBounds::new(THREADS, Duration::from_secs(60));
    let config = GpuBackendConfig::new(vec![device], QueryExecutionConfig::default(), queue).validate()?;
    Ok(GpuBackendCore::new(config, &*factory)?)
}

/// One job: begin, be admitted, work, end, and wait for the report, behind which the grant is given back.
fn serve(session: &GpuBackendSession, job: usize) -> QueryResult {
    let attempt = session.begin_attempt(BeginAttemptRequest::default().with_name(format!("job {job}")))?;
    let ended = admitted(session, &attempt, job).and_then(|handle| {
        let context = handle.acquire_context()?;
        Ok(work(&context, words(job), job as u32)?)
    });
    match &ended {
        Ok(()) => attempt.owner.commit_terminal(AttemptOutcome::Succeeded)?,
        // The error says whether the attempt failed, was cancelled or was rejected.
        Err(error) => attempt.owner.commit_failed(error.clone())?,
    }
    let report = attempt.completion.wait_timeout(Duration::from_secs(60));
    report.map_or_else(|| Err(ServerError::unsupported("this device", "an attempt has no report").into()), |_| ended)
}

/// Ask for the device and wait, as long as the queue's default says or, for a job in a hurry, hardly at all.
fn admitted(session: &GpuBackendSession, attempt: &AttemptBegin, job: usize) -> QueryResult<QueryHandle> {
    let cancel = CancellationToken::new();
    let request = QueryAdmissionRequest::new(attempt.owner.admission_binding())
        .with_byte_limit(4 * words(job) as u64 + SPARE_BYTES)
        .with_cancellation(cancel.clone())
        .with_class([AdmissionClass::Normal, AdmissionClass::High, AdmissionClass::Low][job % 3]);
    let request = if job % 20 == HURRIED { request.with_wait(Duration::from_micros(50)) } else { request };
    // The request is in the queue, or placed, when this returns; the wait may be an `.await` as well.
    let admission = session.admit_async_with_request(request);
    if job % 20 == CALLED_OFF {
        cancel.cancel();
    }
    admission.wait()
}

/// Jobs come in seven sizes.
fn words(job: usize) -> usize {
    1_024 << (job % 7)
}

/// Capture two kernels as a graph, replay it twice, and check the result.
fn work(context: &QueryContext, words: usize, seed: u32) -> Result<(), ServerError> {
    let scale = context.kernel(Wgsl::new(SCALE).entry("scale"))?;
    let buffer = context.upload(&vec![seed; words])?;
    let groups = [(words as u32).div_ceil(64), 1, 1];
    let (graph, ()) = context.capture(|c| {
        c.launch(&scale, groups, (&buffer,))?;
        c.launch(&scale, groups, (&buffer,))
    })?;
    graph.replay_on_stream(context.stream())?.wait()?;
    graph.replay_on_stream(context.stream())?.wait()?;
    let expected = (0..4).fold(seed, |value, _| value.wrapping_mul(3).wrapping_add(1));
    let result = context.stream().read::<u32>(&buffer)?;
    if result.iter().any(|value| *value != expected) {
        return Err(ServerError::unsupported("this device", "its result is wrong"));
    }
    Ok(())
}

impl Tally {
    fn count(&self, job: usize, ended: &QueryResult) {
        let counter = match ended.as_ref().map_err(|error| error.reason()) {
            Ok(()) => &self.done,
            Err(Some("admission_wait_elapsed")) if job % 20 == HURRIED => &self.expired,
            Err(Some("admission_cancelled")) if job % 20 == CALLED_OFF => &self.cancelled,
            Err(_) => &self.other,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        if let (true, Err(error), Ok(mut first)) = (std::ptr::eq(counter, &self.other), ended, self.first_other.lock())
        {
            first.get_or_insert_with(|| format!("job {job}: {error}"));
        }
    }

    /// Jobs that ended in one of the ways that they may.
    fn expected(&self) -> usize {
        [&self.done, &self.expired, &self.cancelled].iter().map(|counter| counter.load(Ordering::Relaxed)).sum()
    }
}

/// Print how the jobs ended, what the backend counted, and its metrics.
fn report(core: &GpuBackendCore, tally: &Tally) {
    let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
    println!(
        "{} jobs done, {} out of time, {} called off, {} otherwise",
        count(&tally.done),
        count(&tally.expired),
        count(&tally.cancelled),
        count(&tally.other),
    );
    if let Ok(seen) = core.session_capability().diagnostics() {
        let admission = &seen.admission.counters;
        println!("\n{:<28}{:>10}", "requests", admission.submitted);
        for (what, number) in [
            ("placed at once", admission.placed_at_once),
            ("refused at once", admission.refused_at_once),
            ("queued", admission.queued_total),
            ("granted from the queue", admission.granted.saturating_sub(admission.placed_at_once)),
            ("expired", admission.expired),
            ("cancelled", admission.cancelled),
            ("passed by, at most", admission.overtakes_max),
        ] {
            println!("  {what:<26}{number:>10}");
        }
        for device in &seen.devices {
            println!(
                "{:<28}{:>10}",
                format!("device {}", device.facts.device),
                device.facts.model_name.as_deref().unwrap_or("")
            );
            println!("  {:<26}{:>10}", "replays", device.counters.replays);
        }
    }
    println!("\n{}", core.prometheus_text());
}
