//! The memory manager: one for each device, under its cap, and closed for good.

use std::time::{Duration, Instant};

use graphreel::lifecycle::config::MemoryManagerOptions;
use graphreel::lifecycle::parts::{DeviceContext, DeviceMemoryManager, granted_account};
use graphreel::lifecycle::{DeviceTelemetrySnapshot, QueryErrorCode, QueryResult, ServerFactory, TelemetryState};
use graphreel::{Config, ServerError};
use graphreel_sim::SimOptions;

use super::rig::{PATIENCE, Rig, SimFactory};

const CAP: usize = 1 << 20;

fn install(factory: &SimFactory, ordinal: usize, options: MemoryManagerOptions) -> QueryResult<DeviceMemoryManager> {
    DeviceMemoryManager::install(factory, ordinal, options, Config::default(), 3)
}

/// B-176, B-177, B-204.
#[test]
fn one_manager_for_each_device_under_its_cap() {
    let factory = SimFactory::new(SimOptions::default());
    let manager = install(&factory, 10, MemoryManagerOptions::new(Some(CAP))).unwrap();
    let opened = factory.opened.lock()[0].clone();
    assert_eq!((opened.memory_limit, opened.max_exclusive_streams), (Some(CAP as u64), 3));
    let effective = manager.installation().effective_options.unwrap();
    assert_eq!(effective.allocation_limit_bytes, Some(CAP));
    assert_eq!((manager.device_ordinal(), manager.device().info().backend.as_str()), (10, "sim"));
    let error = install(&factory, 10, MemoryManagerOptions::default()).unwrap_err();
    assert_eq!(error.reason(), Some("device_memory_manager_already_installed"));
    assert_eq!(factory.opened.lock().len(), 1, "the second one was opened");
    let other = install(&factory, 11, MemoryManagerOptions::default()).unwrap();
    assert_eq!(other.installation().effective_options, Some(MemoryManagerOptions::default()));
    let clone = manager.clone();
    drop(manager);
    install(&factory, 10, MemoryManagerOptions::default()).unwrap_err();
    drop(clone);
    drop((install(&factory, 10, MemoryManagerOptions::default()).unwrap(), other));
}

/// B-176: an allocation above the cap is refused and leaves nothing.
#[test]
fn the_cap_is_hard() {
    let factory = SimFactory::new(SimOptions::default());
    let manager = install(&factory, 12, MemoryManagerOptions::new(Some(CAP))).unwrap();
    let account = granted_account("test", None);
    let held = manager.device().alloc_charged(CAP as u64 / 2, &account).unwrap();
    let before = manager.device().memory_usage();
    let error = manager.device().alloc_charged(CAP as u64, &account).unwrap_err();
    assert!(matches!(error, ServerError::OutOfMemory(_)), "{error}");
    assert_eq!(manager.device().memory_usage(), before);
    drop(held);
}

/// B-176, B-9: what cannot be installed leaves the device to the next one.
#[test]
fn an_installation_that_fails_takes_no_place() {
    let factory = SimFactory::new(SimOptions::default());
    for (bytes, code) in [(0, QueryErrorCode::InvalidConfiguration), (2 << 30, QueryErrorCode::UnsupportedOperation)] {
        let error = install(&factory, 13, MemoryManagerOptions::new(Some(bytes))).unwrap_err();
        assert_eq!(error.reason(), Some("invalid_device_memory_manager_options"));
        assert_eq!((error.code(), error.fact_value("device_ordinal")), (code, Some("13")));
    }
    let mut refusing = SimFactory::new(SimOptions::default());
    refusing.refuses = Some(ServerError::unsupported("the device", "it is not there"));
    let error = install(&refusing, 13, MemoryManagerOptions::default()).unwrap_err();
    assert_eq!((error.code(), error.reason()), (QueryErrorCode::UnsupportedOperation, None));
    assert!(factory.opened.lock().is_empty(), "a refused one was opened");
    drop(install(&factory, 13, MemoryManagerOptions::default()).unwrap());
}

/// B-177: what callers kept does not reach the device once another may be on it.
#[test]
fn the_last_manager_closes_the_device() {
    let rig = Rig::new(14, SimOptions::default(), 1);
    let (device, probe, buffer) = (rig.device.clone(), rig.probe.clone(), rig.buffer());
    buffer.fill(1).unwrap();
    let context = DeviceContext::create(&rig.manager).unwrap();
    drop(rig);
    let end = Instant::now() + PATIENCE;
    while probe.live().total() > 0 && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(probe.live().total(), 0, "it was not given back: {}", probe.live());
    let calls = probe.calls();
    assert!(buffer.fill(0).unwrap_err().is_closed());
    assert!(context.device().sync().unwrap_err().is_closed());
    assert_eq!(probe.calls(), calls, "a closed device was asked");
    drop((device, buffer, context));
    probe.check().unwrap();
}

/// B-175: no context over a device that is gone.
#[test]
fn a_context_needs_a_device() {
    let rig = Rig::new(15, SimOptions::default(), 1);
    let context = DeviceContext::create(&rig.manager).unwrap();
    assert_eq!((context.device_ordinal(), context.device().lost().is_none()), (15, true));
    rig.probe.lose("gone");
    rig.buffer_fails();
    let error = DeviceContext::create(&rig.manager).unwrap_err();
    assert_eq!(error.fact_value("device_ordinal"), Some("15"));
}

impl Rig {
    fn buffer_fails(&self) {
        self.device.alloc_charged(256, &self.account).unwrap_err();
    }
}

/// B-184.
#[test]
fn a_device_without_telemetry_is_looked_at_all_the_same() {
    let factory = SimFactory::new(SimOptions::default());
    let source = factory.telemetry(0);
    let snapshot = DeviceTelemetrySnapshot::of(0, source.as_deref());
    assert!(matches!(snapshot.state, TelemetryState::Unavailable { .. }));
}
