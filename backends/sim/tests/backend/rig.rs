//! What the tests build and run over: simulators with small shares, and one claim at a time.

use std::time::{Duration, Instant};

use graphreel::Config;
use graphreel::lifecycle::config::{
    GpuBackendConfig, GpuBackendDeviceConfig, GpuBackendDeviceProfile, GpuDeviceMemoryLimit, GpuMemoryOwnership,
    QueryExecutionConfig, QueueBounds, ValidatedGpuBackendConfig,
};
use graphreel::lifecycle::{
    AttemptBegin, BeginAttemptRequest, GpuBackendCore, GpuBackendSession, QueryAdmissionRequest, QueryHandle,
    QueryResult,
};
use graphreel_sim::{SimFactory, SimOptions};

/// Far longer than anything here takes.
pub(crate) const LONG: Duration = Duration::from_secs(20);

pub(crate) const MIB: u64 = 1 << 20;

/// What queries of one device share.
pub(crate) const SHARE: u64 = 16 * MIB;

/// A device whose queries share [`SHARE`], in grants of 4 MiB.
pub(crate) fn profile(ordinal: usize) -> GpuBackendDeviceProfile {
    GpuBackendDeviceProfile::new(ordinal)
        .with_memory_limit(GpuDeviceMemoryLimit::Explicit { limit_bytes: SHARE })
        .with_default_query_limit_bytes(4 * MIB)
}

pub(crate) fn config(profiles: Vec<GpuBackendDeviceProfile>) -> GpuBackendConfig {
    let bind = |profile| GpuBackendDeviceConfig::new(profile, GpuMemoryOwnership::WholeDeviceExclusive);
    let devices = profiles.into_iter().map(bind).collect();
    let queue = QueueBounds::new(64, Duration::from_secs(10));
    GpuBackendConfig::new(devices, QueryExecutionConfig::default(), queue)
}

pub(crate) fn valid(profiles: Vec<GpuBackendDeviceProfile>) -> ValidatedGpuBackendConfig {
    config(profiles).validate().unwrap()
}

/// Simulators 0 to `count`.
pub(crate) fn simulators(count: usize) -> SimFactory {
    SimFactory::new((0..count).map(|ordinal| (ordinal, SimOptions { hazards: true, ..SimOptions::default() })))
}

/// A backend over `count` devices.
pub(crate) fn built(count: usize) -> (GpuBackendCore, SimFactory) {
    let factory = simulators(count);
    let core = GpuBackendCore::new(valid((0..count).map(profile).collect()), &factory).unwrap();
    (core, factory)
}

/// An attempt with its admission.
pub(crate) fn admitted(session: &GpuBackendSession) -> (AttemptBegin, QueryHandle) {
    admit(session, |request| request).unwrap()
}

pub(crate) fn admit(
    session: &GpuBackendSession,
    ask: impl FnOnce(QueryAdmissionRequest) -> QueryAdmissionRequest,
) -> QueryResult<(AttemptBegin, QueryHandle)> {
    let begin = session.begin_attempt(BeginAttemptRequest::default())?;
    let request = ask(QueryAdmissionRequest::new(begin.owner.admission_binding()));
    let handle = session.admit_query_with_request(request)?;
    Ok((begin, handle))
}

/// Close, and hold every simulator against its rules: no misuse, nothing left.
pub(crate) fn close(core: GpuBackendCore, factory: &SimFactory) {
    let closed = core.close_and_wait(LONG).unwrap();
    assert!(closed.gpu_resource_quiescent && closed.observation_quiescent, "{closed:?}");
    clean(factory);
}

/// No misuse of a simulator, and nothing left on it.
pub(crate) fn clean(factory: &SimFactory) {
    for probe in (0..8).filter_map(|ordinal| factory.probe(ordinal)) {
        probe.check().unwrap();
        assert_eq!(probe.live().total(), 0, "{}", probe.live());
    }
}

/// The defaults of the servers.
pub(crate) fn server() -> Config {
    Config::default()
}

/// Wait until the claim is free.
pub(crate) fn claimable() {
    let until = Instant::now() + Duration::from_secs(5);
    loop {
        match graphreel::lifecycle::claim_live_backend(&[usize::MAX - 4]) {
            Ok(_) => return,
            Err(error) => assert!(Instant::now() < until, "the claim is still held after 5 s: {error}"),
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
