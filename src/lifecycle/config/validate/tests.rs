//! Every row of the table of rules, and that the earlier of two broken rules is the one reported.

use std::time::Duration;

use super::*;
use crate::lifecycle::config::{GpuBackendDeviceProfile, GpuMemoryOwnership, SourceSchedulerPolicy};
use crate::lifecycle::error::{QueryError, operation};

/// A declaration that is valid until a test breaks it.
#[derive(Clone)]
struct Draft {
    ordinal: usize,
    attempts: usize,
    sources: usize,
    bounds: Option<(usize, usize, usize)>,
    default: Option<u64>,
    limit: GpuDeviceMemoryLimit,
    reserve: u64,
    partition: Option<u64>,
    more: Vec<(usize, usize)>,
    empty: bool,
    twice: bool,
    refused_natively: bool,
    prefetch: usize,
    queue: usize,
}

impl Draft {
    fn new() -> Self {
        Self {
            ordinal: 0,
            attempts: 2,
            sources: 1,
            bounds: None,
            default: None,
            limit: GpuDeviceMemoryLimit::default(),
            reserve: 0,
            partition: None,
            more: Vec::new(),
            empty: false,
            twice: false,
            refused_natively: false,
            prefetch: 2,
            queue: 1,
        }
    }

    fn with(change: impl Fn(&mut Self)) -> Self {
        let mut draft = Self::new();
        change(&mut draft);
        draft
    }

    fn device(&self) -> GpuBackendDeviceConfig {
        let mut profile = GpuBackendDeviceProfile::new(self.ordinal)
            .with_max_active_attempts(self.attempts)
            .with_source_work_per_attempt(self.sources)
            .with_memory_limit(self.limit)
            .with_backend_reserve_bytes(self.reserve);
        if let Some((streams, workers, lanes)) = self.bounds {
            let bounds = GpuBackendDeviceInstallationBounds::new(streams, workers, lanes);
            profile = profile.with_installation_bounds(bounds);
        }
        if let Some(bytes) = self.default {
            profile = profile.with_default_query_limit_bytes(bytes);
        }
        let ownership = match self.partition {
            None => GpuMemoryOwnership::WholeDeviceExclusive,
            Some(allocation_limit_bytes) => GpuMemoryOwnership::StaticPartition { allocation_limit_bytes },
        };
        GpuBackendDeviceConfig::new(profile, ownership)
    }

    fn validate(&self) -> QueryResult<ValidatedGpuBackendConfig> {
        let whole = GpuMemoryOwnership::WholeDeviceExclusive;
        let mut devices: Vec<_> = self
            .more
            .iter()
            .map(|(ordinal, attempts)| {
                GpuBackendDeviceConfig::new(
                    GpuBackendDeviceProfile::new(*ordinal).with_max_active_attempts(*attempts),
                    whole,
                )
            })
            .collect();
        devices.push(self.device());
        devices.extend(self.twice.then(|| self.device()));
        if self.empty {
            devices.clear();
        }
        let execution =
            QueryExecutionConfig::default().with_source_scheduler_policy(SourceSchedulerPolicy::new(self.prefetch));
        let queue = QueueBounds::new(self.queue, Duration::from_secs(1));
        GpuBackendConfig::new(devices, execution, queue).validate_with(&|_, options| {
            options.validate()?;
            if self.refused_natively { Err(ServerError::unsupported("a cap", "use none")) } else { Ok(()) }
        })
    }

    fn refusal(&self) -> QueryError {
        self.validate().expect_err("the declaration is broken")
    }
}

const AUTOMATIC_ZERO: GpuDeviceMemoryLimit =
    GpuDeviceMemoryLimit::Automatic { headroom_bytes: 5, fallback_bytes: 0, fraction: None };
const AUTOMATIC_9: GpuDeviceMemoryLimit =
    GpuDeviceMemoryLimit::Automatic { headroom_bytes: 5, fallback_bytes: 9, fraction: None };

const fn explicit(limit_bytes: u64) -> GpuDeviceMemoryLimit {
    GpuDeviceMemoryLimit::Explicit { limit_bytes }
}

type Change = fn(&mut Draft);

/// One way to break one rule: its row, what it changes, how, and the refusal.
struct Row {
    id: &'static str,
    touches: &'static [&'static str],
    change: Change,
    field: &'static str,
    reason: &'static str,
    facts: &'static [(&'static str, &'static str)],
    tail: &'static str,
}

const fn row(
    id: &'static str,
    touches: &'static [&'static str],
    change: Change,
    (field, reason): (&'static str, &'static str),
    facts: &'static [(&'static str, &'static str)],
    tail: &'static str,
) -> Row {
    Row { id, touches, change, field, reason, facts, tail }
}

/// Rows up to the bounds.
#[rustfmt::skip]
const EARLY: [Row; 14] = [
    row("V-1", &["empty"], |d| d.empty = true, ("devices", "no_devices"), &[], "are missing"),
    row("V-1", &["twice"], |d| d.twice = true, ("device_ordinal", "duplicate_device_ordinal"), &[], "is declared more than once"),
    row("V-3", &["ordinal"], |d| d.ordinal = 64, ("device_ordinal", "backend_metrics_device_ordinal_out_of_range"),
        &[("device_ordinal", "64"), ("device_capacity", "64")], "exceeds the fixed metrics device capacity"),
    row("V-4", &["attempts", "sources"], |d| (d.attempts, d.sources) = (usize::MAX, 2), ("source_work_per_attempt", "aux_source_work_overflow"), &[], "overflowed"),
    row("V-4", &["attempts", "sources"], |d| d.attempts = usize::MAX, ("stream_pool_size", "required_slot_overflow"), &[], "overflowed"),
    row("V-4", &["attempts", "sources"], |d| (d.attempts, d.sources) = (usize::MAX, 0), ("worker_count", "required_worker_overflow"), &[], "overflowed"),
    row("V-5", &["attempts", "sources", "bounds"], |d| d.bounds = Some((3, 3, 2)), ("stream_pool_size", "stream_pool_below_required_formula"),
        &[("stream_pool_size", "3"), ("required_slot_capacity", "4"), ("max_active_attempts", "2"), ("source_work_per_attempt", "1")],
        "must cover root + auxiliary work of every active attempt"),
    row("V-6", &["attempts"], |d| d.attempts = 0, ("max_active_attempts", "zero"), &[], "must be greater than zero"),
    row("V-7", &["sources"], |d| d.sources = 0, ("source_work_per_attempt", "zero"), &[], "must be greater than zero"),
    row("V-9", &["bounds"], |d| d.bounds = Some((4, 0, 2)), ("worker_count", "zero"), &[], "must be greater than zero"),
    row("V-10", &["bounds"], |d| d.bounds = Some((4, 3, 0)), ("lane_count", "zero"), &[], "must be greater than zero"),
    row("V-11", &["default"], |d| d.default = Some(0), ("default_query_limit_bytes", "zero"), &[], "must be greater than zero"),
    row("V-12", &["attempts", "bounds"], |d| d.bounds = Some((4, 2, 2)), ("worker_count", "worker_count_below_active_limit_and_lifecycle_reserve"),
        &[("installation_bound", "2"), ("max_active_attempts", "2"), ("reserved_lifecycle_workers", "1")], "must cover active slots plus the lifecycle worker"),
    row("V-14", &["attempts", "bounds"], |d| d.bounds = Some((4, 3, 1)), ("lane_count", "installation_bound_below_active_limit"),
        &[("installation_bound", "1"), ("max_active_attempts", "2")], "must cover every active slot"),
];

/// Rows from the memory limit on.
#[rustfmt::skip]
const LATE: [Row; 11] = [
    row("V-15", &["limit"], |d| d.limit = AUTOMATIC_ZERO, ("memory_limit.fallback_bytes", "zero"), &[], "must be greater than zero"),
    row("V-16", &["limit", "reserve"], |d| (d.limit, d.reserve) = (AUTOMATIC_9, 9), ("backend_reserve_bytes", "reserve_exhausts_fallback"),
        &[("fallback_bytes", "9")], "is 9 bytes (0.00 GiB), at or above the automatic fallback capacity of 9 bytes (0.00 GiB); the largest accepted value is 8 bytes (0.00 GiB)"),
    row("V-17", &["limit"], |d| d.limit = explicit(0), ("memory_limit_bytes", "zero"), &[], "must be greater than zero"),
    row("V-18", &["limit", "reserve"], |d| (d.limit, d.reserve) = (explicit(9), 10), ("backend_reserve_bytes", "reserve_exhausts_explicit_limit"),
        &[("limit_bytes", "9")], "is 10 bytes (0.00 GiB), at or above memory_limit_bytes of 9 bytes (0.00 GiB); the largest accepted value is 8 bytes (0.00 GiB)"),
    row("V-19", &["partition"], |d| d.partition = Some(0), (PARTITION, "zero"), &[], "must be greater than zero"),
    row("V-21", &["partition", "reserve", "limit"], |d| (d.partition, d.reserve) = (Some(9), 9), ("backend_reserve_bytes", "reserve_exhausts_static_partition"),
        &[("allocation_limit_bytes", "9")], "is 9 bytes (0.00 GiB), at or above the static partition of 9 bytes (0.00 GiB); the largest accepted value is 8 bytes (0.00 GiB)"),
    row("V-22", &["partition", "limit"], |d| (d.partition, d.limit) = (Some(9), explicit(10)), ("memory_limit_bytes", "limit_exceeds_static_partition"),
        &[("allocation_limit_bytes", "9")], "is 10 bytes (0.00 GiB), above the static partition of 9 bytes (0.00 GiB); the largest accepted value is 9 bytes (0.00 GiB)"),
    row("V-23", &["native"], |d| d.refused_natively = true, ("device_memory_manager_options", "invalid_device_memory_manager_options"),
        &[("native_message", "a cap is not supported: use none")], "are refused by the native layer"),
    row("V-24", &["more"], |d| d.more = vec![(2, usize::MAX / 2), (1, usize::MAX / 2)], ("max_active_attempts", "derived_global_max_overflow"), &[], "derived global maximum overflowed"),
    row("V-26", &["prefetch"], |d| d.prefetch = usize::MAX, ("source_scheduler_policy.prefetch", "out_of_range"), &[], "is "),
    row("V-27", &["queue"], |d| d.queue = 0, ("max_queued_requests", "zero"), &[], "must be greater than zero"),
];

/// Rows of the whole backend, which name no device.
const BACKEND_SCOPED: [&str; 3] = ["V-24", "V-26", "V-27"];

fn table() -> impl Iterator<Item = &'static Row> {
    EARLY.iter().chain(&LATE)
}

/// XB-1, B-32, B-3: V-1, V-3 to V-7, V-9 to V-12, V-14 to V-19, V-21 to V-24, V-26, V-27.
#[test]
fn each_rule_refuses_with_its_field_reason_and_facts() {
    Draft::new().validate().unwrap();
    for row in table() {
        let error = Draft::with(row.change).refusal();
        let native = row.id == "V-23";
        let code = if native { QueryErrorCode::UnsupportedOperation } else { QueryErrorCode::InvalidConfiguration };
        assert_eq!((error.code(), error.operation()), (code, operation::BUILD), "{}: {error}", row.id);
        assert_eq!((error.fact_value("field"), error.reason()), (Some(row.field), Some(row.reason)), "{}", row.id);
        assert_eq!(error.facts().filter(|(key, _)| *key == "reason").count(), 1, "{}: {error}", row.id);
        let of_device = row.reason != "no_devices" && !BACKEND_SCOPED.contains(&row.id);
        let head = match error.fact_value("device_ordinal") {
            Some(ordinal) => format!("device {ordinal} {} {}", row.field, row.tail),
            None => format!("{} {}", row.field, row.tail),
        };
        assert_eq!(error.fact_value("device_ordinal").is_some(), of_device, "{}: {error}", row.id);
        assert!(error.message().starts_with(&head), "{}: {error}", row.id);
        for (key, value) in row.facts {
            assert_eq!(error.fact_value(key), Some(*value), "{}: {error}", row.id);
        }
    }
}

/// XB-1, B-32: of two broken rules the earlier is reported.
#[test]
fn the_earlier_of_two_broken_rules_is_reported() {
    let rows: Vec<&Row> = table().collect();
    let mut pairs = 0;
    for (index, earlier) in rows.iter().enumerate() {
        for later in &rows[index + 1..] {
            if earlier.touches.iter().any(|slot| later.touches.contains(slot)) {
                continue;
            }
            for order in [[earlier, later], [later, earlier]] {
                let mut draft = Draft::new();
                order.iter().for_each(|row| (row.change)(&mut draft));
                let error = draft.refusal();
                let found = (error.fact_value("field"), error.reason());
                assert_eq!(found, (Some(earlier.field), Some(earlier.reason)), "{} before {}", earlier.id, later.id);
            }
            pairs += 1;
        }
    }
    assert!(pairs > 200, "only {pairs} pairs were tried");
}

/// XB-1, B-35: pairs that share a field.
#[test]
fn the_earlier_of_two_rules_on_one_field_is_reported() {
    #[rustfmt::skip]
    let pairs: [(Change, &str, &str); 8] = [
        (|d| d.bounds = Some((0, 3, 2)), "stream_pool_size", "stream_pool_below_required_formula"),
        (|d| d.bounds = Some((3, 0, 0)), "stream_pool_size", "stream_pool_below_required_formula"),
        (|d| (d.attempts, d.sources) = (0, 0), "max_active_attempts", "zero"),
        (|d| (d.attempts, d.bounds) = (0, Some((0, 0, 0))), "max_active_attempts", "zero"),
        (|d| d.bounds = Some((4, 0, 0)), "worker_count", "zero"),
        (|d| d.bounds = Some((4, 2, 1)), "worker_count", "worker_count_below_active_limit_and_lifecycle_reserve"),
        (|d| (d.partition, d.limit, d.reserve) = (Some(9), explicit(20), 9), "backend_reserve_bytes", "reserve_exhausts_static_partition"),
        (|d| (d.partition, d.limit, d.reserve) = (Some(9), explicit(9), 9), "backend_reserve_bytes", "reserve_exhausts_explicit_limit"),
    ];
    for (change, field, reason) in pairs {
        let error = Draft::with(change).refusal();
        assert_eq!((error.fact_value("field"), error.reason()), (Some(field), Some(reason)));
    }
}

/// V-2, B-32, B-35: all rules of the lowest ordinal come before those of the next.
#[test]
fn devices_are_checked_in_the_order_of_their_ordinals() {
    let draft = Draft::with(|d| {
        (d.ordinal, d.reserve, d.partition) = (5, 9, Some(9));
        d.more = vec![(9, 0), (7, 0)];
    });
    assert_eq!(draft.refusal().reason(), Some("reserve_exhausts_static_partition"));
    let draft = Draft::with(|d| (d.ordinal, d.default, d.more) = (5, Some(0), vec![(9, 0), (3, 0)]));
    assert_eq!(draft.refusal().message(), "device 3 max_active_attempts must be greater than zero");
    let draft = Draft::with(|d| (d.ordinal, d.more) = (70, vec![(90, 1), (66, 1)]));
    assert_eq!(draft.refusal().fact_value("device_ordinal"), Some("66"), "V-3");
}

/// V-8, V-13, V-25, B-34: rules that no declaration reaches today.
#[test]
fn rules_behind_other_rules_hold_too() {
    let device = Draft::new().device();
    let error = check_positive(&device, GpuBackendDeviceInstallationBounds::new(0, 3, 2)).unwrap_err();
    assert_eq!((error.fact_value("field"), error.reason()), (Some("stream_pool_size"), Some("zero")));
    let error = check_active_limit(&device, GpuBackendDeviceInstallationBounds::new(1, 3, 1)).unwrap_err();
    let found = (error.fact_value("field"), error.reason());
    assert_eq!(found, (Some("stream_pool_size"), Some("installation_bound_below_active_limit")));
    let error = check_global_maximum([0, 0].into_iter()).unwrap_err();
    assert_eq!(error.message(), "max_active_attempts derived global maximum must be positive");
    assert_eq!((error.reason(), error.fact_value("device_ordinal")), (Some("zero"), None));
    assert_eq!(check_global_maximum([usize::MAX - 2, 2].into_iter()).unwrap(), usize::MAX);
}

/// V-20, B-34: on a machine of 64 bits only a narrower type refuses.
#[test]
fn a_partition_fits_the_native_size_type() {
    assert_eq!(native_size::<u32>(1, u64::from(u32::MAX)).unwrap(), u32::MAX);
    let error = native_size::<u32>(1, u64::from(u32::MAX) + 1).unwrap_err();
    assert_eq!((error.fact_value("field"), error.reason()), (Some(PARTITION), Some("out_of_range")));
    assert_eq!(error.fact_value("allocation_limit_bytes"), Some("4294967296"));
    assert!(error.message().contains("does not fit the native size type"), "{error}");
}

/// V-23, B-176: the native layer sees each device's partition, and its refusal is a wrong configuration.
#[test]
fn the_native_layer_is_asked_about_each_device() {
    let seen = std::cell::RefCell::new(Vec::new());
    let devices = vec![Draft::with(|d| (d.ordinal, d.partition) = (3, Some(9))).device(), Draft::new().device()];
    let config = GpuBackendConfig::new(devices, QueryExecutionConfig::default(), QueueBounds::default());
    let error = config
        .validate_with(&|ordinal, options| {
            seen.borrow_mut().push((ordinal, options.allocation_limit_bytes));
            let refused = ServerError::InvalidSize { bytes: 9, problem: "too small".into() };
            if ordinal == 3 { Err(refused) } else { Ok(()) }
        })
        .unwrap_err();
    assert_eq!(seen.into_inner(), [(0, None), (3, Some(9))]);
    assert_eq!(error.code(), QueryErrorCode::InvalidConfiguration);
    assert_eq!(error.fact_value("device_ordinal"), Some("3"));
    assert_eq!(error.fact_value("native_message"), Some("cannot allocate 9 bytes: too small"));
    assert!(std::error::Error::source(&error).is_some());
}

/// TB-6, TB-7, V-6, V-11, B-6.
#[test]
fn zeros_are_refused_by_field() {
    let error = Draft::with(|d| d.attempts = 0).refusal();
    assert_eq!(error.message(), "device 0 max_active_attempts must be greater than zero");
    assert_eq!((error.fact_value("field"), error.reason()), (Some("max_active_attempts"), Some("zero")));
    let error = Draft::with(|d| d.default = Some(0)).refusal();
    assert_eq!((error.fact_value("field"), error.reason()), (Some("default_query_limit_bytes"), Some("zero")));
}

/// TB-9, V-16, B-33, B-5.
#[test]
fn a_reserve_that_takes_the_fallback_is_refused_with_the_largest_value() {
    let error = Draft::with(|d| d.reserve = 268_435_456).refusal();
    assert_eq!(error.reason(), Some("reserve_exhausts_fallback"));
    let text = "device 0 backend_reserve_bytes is 268435456 bytes (0.25 GiB), at or above the automatic fallback \
                capacity of 268435456 bytes (0.25 GiB); the largest accepted value is 268435455 bytes (0.24 GiB)";
    assert_eq!(error.message(), text);
    Draft::with(|d| d.reserve = 268_435_455).validate().unwrap();
}

/// TB-10, V-22, B-33.
#[test]
fn a_limit_above_its_partition_is_refused_with_the_largest_value() {
    let error = Draft::with(|d| (d.limit, d.partition) = (explicit(100 << 30), Some(95 << 30))).refusal();
    assert_eq!(error.reason(), Some("limit_exceeds_static_partition"));
    let text = "device 0 memory_limit_bytes is 107374182400 bytes (100.00 GiB), above the static partition of \
                102005473280 bytes (95.00 GiB); the largest accepted value is 102005473280 bytes (95.00 GiB)";
    assert_eq!(error.message(), text);
    Draft::with(|d| (d.limit, d.partition) = (explicit(95 << 30), Some(95 << 30))).validate().unwrap();
}

/// TB-11, TB-12, B-21, B-25: the prefetch of execution changes nothing that is installed.
#[test]
fn bounds_are_resolved_from_the_device_alone() {
    for prefetch in [2, 7] {
        let validated = Draft::with(|d| d.prefetch = prefetch).validate().unwrap();
        let device = &validated.validated_devices()[0];
        assert_eq!(device.installation_bounds(), GpuBackendDeviceInstallationBounds::new(4, 3, 2));
        assert_eq!(device.config().source_work_per_attempt(), 1);
        assert_eq!(validated.execution_config().source_scheduler_policy().prefetch(), prefetch);
    }
}

/// B-28, B-29, B-30, B-37.
#[test]
fn a_validated_configuration_is_sorted_and_resolved() {
    let draft = Draft::with(|d| {
        (d.ordinal, d.partition, d.bounds) = (4, Some(1 << 30), Some((9, 8, 7)));
        d.more = vec![(9, 1), (2, 3)];
    });
    let validated = draft.validate().unwrap();
    assert_eq!((validated.ordinals(), validated.devices().len()), (vec![2, 4, 9], 3));
    let limits: Vec<_> = validated.validated_devices().iter().map(|device| device.allocation_limit_bytes()).collect();
    assert_eq!(limits, [None, Some(1 << 30), None]);
    assert_eq!(validated.validated_devices()[1].memory_manager_options(), MemoryManagerOptions::new(Some(1 << 30)));
    let bounds: Vec<_> = validated.validated_devices().iter().map(|device| device.installation_bounds()).collect();
    let expected = [(6, 4, 3), (9, 8, 7), (2, 2, 1)];
    assert_eq!(bounds, expected.map(|(s, w, l)| GpuBackendDeviceInstallationBounds::new(s, w, l)));
    assert_eq!(validated.queue_bounds(), &QueueBounds::new(1, Duration::from_secs(1)));
    assert_eq!((validated.attempt_completion_queue_capacity(), validated.is_leased()), (None, true));

    let config = GpuBackendConfig::new(vec![draft.device()], QueryExecutionConfig::default(), QueueBounds::default());
    let capacity = |config: GpuBackendConfig| config.validate().unwrap().attempt_completion_queue_capacity();
    assert_eq!(capacity(config.clone().with_attempt_completion_queue_capacity(0)), None);
    assert_eq!(capacity(config.clone().with_attempt_completion_queue_capacity(2)), Some(2));
    assert!(!config.unleased().validate().unwrap().is_leased());
}
