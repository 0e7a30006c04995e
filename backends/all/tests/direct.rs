//! A device in direct use and a backend of the same process refuse each other by name, whatever the backend's kind, and each
//! can opt out (B-56).

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::time::Duration;

use graphreel::device::Device;
use graphreel::lifecycle::config::{
    BackendChoice, GpuBackendConfig, GpuBackendDeviceConfig, GpuBackendDeviceProfile, GpuDeviceMemoryLimit,
    GpuMemoryOwnership, QueryExecutionConfig, QueueBounds,
};
use graphreel::lifecycle::{BackendKind, GpuBackendCore, QueryErrorCode, QueryResult, one_claiming_test};
use graphreel::{Config, ServerError};
use graphreel_backends::{OpenOptions, Select, list, open, open_with};

fn config() -> GpuBackendConfig {
    let profile = GpuBackendDeviceProfile::new(0)
        .with_memory_limit(GpuDeviceMemoryLimit::Explicit { limit_bytes: 32 << 20 })
        .with_max_active_attempts(1);
    let device = GpuBackendDeviceConfig::new(profile, GpuMemoryOwnership::WholeDeviceExclusive);
    GpuBackendConfig::new(vec![device], QueryExecutionConfig::default(), QueueBounds::default())
}

fn build(config: GpuBackendConfig) -> QueryResult<GpuBackendCore> {
    build_of(BackendKind::Sim, config)
}

fn build_of(kind: BackendKind, config: GpuBackendConfig) -> QueryResult<GpuBackendCore> {
    let factory = graphreel_backends::factory(BackendChoice::Kind(kind)).unwrap();
    GpuBackendCore::new(config.validate().unwrap(), &*factory)
}

/// The kinds of devices that can be opened here, as they are selected: all that `GRAPHREEL_REQUIRE` names are among them.
fn openable() -> Vec<Select> {
    let found = list().into_iter().filter(|report| report.absent.is_none());
    let found: Vec<Select> = found.map(|report| Select::Backend(report.name.to_owned())).collect();
    let required = std::env::var("GRAPHREEL_REQUIRE").unwrap_or_default();
    let known = ["cuda", "hip", "sim", "wgpu"];
    for name in required.split(',').map(str::trim).filter(|name| known.contains(name)) {
        assert!(
            found.contains(&Select::Backend(name.to_owned())),
            "GRAPHREEL_REQUIRE names {name}, which has no device"
        );
    }
    found
}

/// The kinds of backends that can be built here.
fn buildable() -> Vec<BackendKind> {
    let found = |kind: &BackendKind| {
        let factory = graphreel_backends::factory(BackendChoice::Kind(*kind));
        factory.is_ok_and(|factory| factory.inventory().facts(0).is_ok())
    };
    [BackendKind::Cuda, BackendKind::Hip, BackendKind::Wgpu, BackendKind::Sim].into_iter().filter(found).collect()
}

fn usable(device: &Device) {
    let buffer = device.upload(&[5_u32; 4]).unwrap();
    assert_eq!(buffer.read::<u32>().unwrap(), [5; 4]);
}

fn close(core: &GpuBackendCore) {
    core.close_and_wait(Duration::from_secs(20)).unwrap();
}

/// B-56, B-60: a backend is not built while a device is open directly, whatever the two vendors.
#[test]
fn a_device_in_direct_use_refuses_a_backend() {
    let _one = one_claiming_test();
    let kinds = buildable();
    for (select, kind) in openable().iter().flat_map(|select| kinds.iter().map(move |kind| (select, *kind))) {
        let device = open(select).unwrap();
        let second = device.clone();
        let error = build_of(kind, config()).unwrap_err();
        assert_eq!((error.code(), error.reason()), (QueryErrorCode::ServiceOverloaded, Some("device_in_direct_use")));
        let holder = error.fact_value("holder").unwrap().to_owned();
        let info = device.info();
        assert!(holder.contains(&info.backend) && holder.contains(&info.name), "{holder}");
        assert!(error.message().contains(&holder) && error.message().contains("unleased()"), "{error}");
        drop(device);
        assert!(build_of(kind, config()).is_err(), "{select:?}, {kind}: a handle is left");
        usable(&second);
        drop(second);
        close(&build_of(kind, config()).unwrap());
    }
}

/// B-56: what a device was held for goes with its retirement, not with its last handle.
#[test]
fn a_device_that_is_retired_is_in_use_no_more() {
    let _one = one_claiming_test();
    for select in openable() {
        let device = open(&select).unwrap();
        let buffer = device.upload(&[1_u32; 4]).unwrap();
        assert!(device.retire("it is not needed") && !device.retire("it is not needed"));
        close(&build(config()).unwrap());
        assert!(buffer.read::<u32>().unwrap_err().is_closed());
    }
}

/// B-56, B-59: no device is opened directly while a backend lives or drains, and the listing says why.
#[test]
fn a_backend_refuses_direct_use() {
    let _one = one_claiming_test();
    let selects = openable();
    for kind in buildable() {
        let core = build_of(kind, config()).unwrap();
        for select in &selects {
            let error = open(select).unwrap_err();
            assert!(matches!(&error, ServerError::DevicesOwned { ordinals, .. } if ordinals[..] == [0]), "{error}");
            assert!(error.to_string().contains("OpenOptions::unleased()"), "{error}");
        }
        let reports = list();
        let problems = reports.iter().flat_map(|report| &report.devices).map(|device| device.problem.as_deref());
        for problem in problems {
            let owned = problem.is_some_and(|why| why.contains("a backend of this process owns the devices"));
            assert!(owned, "{kind}: {problem:?}");
        }
        close(&core);
        for select in &selects {
            usable(&open(select).unwrap());
        }
    }
}

/// B-56: who opts out is refused by nobody and refuses nobody, on either side.
#[test]
fn either_side_can_opt_out() {
    let _one = one_claiming_test();
    for select in openable() {
        let unleased = open_with(&select, OpenOptions::from(Config::default()).unleased()).unwrap();
        let core = build(config()).unwrap();
        let beside = open_with(&select, OpenOptions::default().unleased()).unwrap();
        usable(&beside);
        drop((unleased, beside));
        assert!(open(&select).is_err(), "its drop frees no other's claim");
        close(&core);
        let direct = open(&select).unwrap();
        let unleased = build(config().unleased()).unwrap();
        usable(&direct);
        close(&unleased);
        assert_eq!(build(config()).unwrap_err().reason(), Some("device_in_direct_use"));
    }
}

/// B-56: many hold devices directly at once, and one that fails to open holds nothing.
#[test]
fn direct_users_are_many() {
    let _one = one_claiming_test();
    for select in openable() {
        let held: Vec<Device> = (0..3).map(|_| open(&select).unwrap()).collect();
        assert_eq!(build(config()).unwrap_err().fact_value("holders"), Some("3"));
        drop(held);
    }
    assert!(open(&Select::Name("no device is called this".to_owned())).is_err());
    close(&build(config()).unwrap());
}
