//! A service in small: 1,000 jobs of mixed sizes from 16 threads through one backend. Each job captures a graph and replays
//! it within its grant; some have too short a deadline, some are cancelled while they wait. Prints the metrics at the end.
//!
//! `cargo run --example serve_jobs [BACKEND]`, where BACKEND is `wgpu` or `sim`, which is the default.

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use graphreel::lifecycle::config::{
    BackendChoice, GpuBackendConfig, GpuBackendDeviceConfig, GpuBackendDeviceProfile, GpuDeviceMemoryLimit,
    GpuMemoryOwnership, QueryExecutionConfig, QueueBounds,
};
use graphreel::lifecycle::{
    AdmissionClass, AttemptOutcome, BackendKind, BeginAttemptRequest, CancellationToken, GpuBackendCore,
    GpuBackendSession, QueryAdmissionRequest, QueryContext, QueryResult,
};
use graphreel::{ServerError, Wgsl};

const THREADS: usize = 16;
const JOBS: usize = 1_000;
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

/// How the jobs ended.
#[derive(Debug, Default)]
struct Tally {
    done: AtomicUsize,
    expired: AtomicUsize,
    cancelled: AtomicUsize,
    other: AtomicUsize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "sim".to_owned());
    let kind = BackendKind::from_name(&name).ok_or_else(|| format!("no backend is called `{name}`"))?;
    run(kind)
}

/// Run all jobs on a backend of `kind`, and close it.
pub fn run(kind: BackendKind) -> Result<(), Box<dyn Error>> {
    let factory = graphreel_backends::factory(BackendChoice::Kind(kind))?;
    let profile = GpuBackendDeviceProfile::new(0)
        .with_memory_limit(GpuDeviceMemoryLimit::Explicit { limit_bytes: SHARE_BYTES })
        .with_derived_installation_bounds(4);
    let device = GpuBackendDeviceConfig::new(profile, GpuMemoryOwnership::WholeDeviceExclusive);
    let queue = QueueBounds::new(JOBS, Duration::from_secs(60));
    let config = GpuBackendConfig::new(vec![device], QueryExecutionConfig::default(), queue).validate()?;
    let core = GpuBackendCore::new(config, &*factory)?;
    let (next, tally) = (AtomicUsize::new(0), Tally::default());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            let session = core.session_capability();
            scope.spawn(|| {
                let session = session;
                loop {
                    let job = next.fetch_add(1, Ordering::Relaxed);
                    if job >= JOBS {
                        break;
                    }
                    tally.count(&serve(&session, job));
                }
            });
        }
    });
    println!("{tally:?}");
    println!("{}", core.prometheus_text());
    let closed = core.close_and_wait(Duration::from_secs(30))?;
    println!("closed: {closed:?}");
    let counted = tally.total();
    let counters = core.session_capability().attempt_counters_snapshot();
    if counted != JOBS || counters.reports_ready != JOBS as u64 || tally.other.into_inner() > 0 {
        return Err(
            format!("{counted} of {JOBS} jobs ended as they should, {} reported", counters.reports_ready).into()
        );
    }
    Ok(())
}

/// One job: admit, work, report.
fn serve(session: &GpuBackendSession, job: usize) -> QueryResult {
    let begin = session.begin_attempt(BeginAttemptRequest::default().with_name(format!("job {job}")))?;
    let cancel = CancellationToken::new();
    let words = 1_024 << (job % 7);
    let mut request = QueryAdmissionRequest::new(begin.owner.admission_binding())
        .with_byte_limit(4 * words as u64 + (1 << 20))
        .with_cancellation(cancel.clone())
        .with_class([AdmissionClass::Normal, AdmissionClass::High, AdmissionClass::Low][job % 3]);
    if job % 20 == 7 {
        request = request.with_wait(Duration::from_micros(50));
    }
    let admission = session.admit_async_with_request(request);
    if job % 20 == 13 {
        cancel.cancel();
    }
    let handle = match admission.wait() {
        Ok(handle) => handle,
        Err(error) => {
            begin.owner.commit_terminal(AttemptOutcome::Rejected)?;
            return Err(error);
        }
    };
    let context = handle.acquire_context()?;
    match work(&context, words, job as u32) {
        Ok(()) => begin.owner.commit_terminal(AttemptOutcome::Succeeded),
        Err(error) => begin.owner.commit_failed(error.into()),
    }
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
    fn count(&self, ended: &QueryResult) {
        let reason = ended.as_ref().err().map(|error| error.reason().unwrap_or("none").to_owned());
        let counter = match reason.as_deref() {
            None => &self.done,
            Some("admission_wait_elapsed") => &self.expired,
            Some("admission_cancelled") => &self.cancelled,
            Some(_) => &self.other,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn total(&self) -> usize {
        [&self.done, &self.expired, &self.cancelled].iter().map(|counter| counter.load(Ordering::Relaxed)).sum()
    }
}
