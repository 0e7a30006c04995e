//! Files that are read, and files that are refused: misspelt, mistyped and hostile ones.

use super::*;
use crate::lifecycle::config::SourceSchedulerPolicy;

const DEVICE: &str = "[[devices]]\ndevice_ordinal = 0\nmemory_ownership = \"whole_device_exclusive\"\n";

fn parse(text: &str) -> QueryResult<GpuBackendConfigFile> {
    GpuBackendConfigFile::parse("backend.toml", text)
}

fn refused(text: &str) -> QueryError {
    let error = parse(text).expect_err("the file is wrong");
    assert_eq!((error.code(), error.reason()), (QueryErrorCode::InvalidConfiguration, Some("invalid_config_file")));
    assert!(error.message().starts_with("backend.toml") && !error.message().contains('\n'), "{error}");
    assert!(error.message().len() < 2000, "an error repeats a part of the file only: {}", error.message().len());
    error
}

/// B-22, B-28: every field reaches its declaration.
#[test]
fn a_full_file_declares_what_it_says() {
    let text = r#"
backend = "cuda"
attempt_completion_queue_capacity = 5

[[devices]]
device_ordinal = 2
memory_ownership = { static_partition = { allocation_limit_bytes = 4096 } }
device_capabilities = ["f16"]
memory_limit = { explicit = { limit_bytes = 2048 } }
backend_reserve_bytes = 1
cache_cap_bytes = 2
default_query_limit_bytes = 3
source_work_per_attempt = 4
max_active_attempts = 5
installation_bounds = { stream_pool_size = 30, worker_count = 9, lane_count = 8 }
install_telemetry = false

[[devices]]
device_ordinal = 0
memory_ownership = "whole_device_exclusive"
memory_limit = { automatic = { headroom_bytes = 7, fraction = 0.5 } }

[queue]
max_queued_requests = 3
default_wait_ms = 250

[execution]
source_scheduler_policy = { prefetch = 7 }
"#;
    let file = parse(text).unwrap();
    assert_eq!(file.backend(), BackendChoice::Kind(BackendKind::Cuda));
    let validated = file.config().clone().validate().unwrap();
    let profile = GpuBackendDeviceProfile::new(2)
        .with_device_capabilities(DeviceCapabilities::only(["f16"]))
        .with_memory_limit(GpuDeviceMemoryLimit::Explicit { limit_bytes: 2048 })
        .with_backend_reserve_bytes(1)
        .with_cache_cap_bytes(2)
        .with_default_query_limit_bytes(3)
        .with_source_work_per_attempt(4)
        .with_max_active_attempts(5)
        .with_installation_bounds(GpuBackendDeviceInstallationBounds::new(30, 9, 8))
        .with_telemetry(false);
    let partition = GpuMemoryOwnership::StaticPartition { allocation_limit_bytes: 4096 };
    let automatic = GpuDeviceMemoryLimit::Automatic {
        headroom_bytes: 7,
        fallback_bytes: 268_435_456,
        fraction: GpuMemoryFraction::new(0.5).ok(),
    };
    let first = GpuBackendDeviceProfile::new(0).with_memory_limit(automatic);
    let expected = [
        GpuBackendDeviceConfig::new(first, GpuMemoryOwnership::WholeDeviceExclusive),
        GpuBackendDeviceConfig::new(profile, partition),
    ];
    assert_eq!(validated.devices().cloned().collect::<Vec<_>>(), expected);
    assert_eq!(validated.queue_bounds(), &QueueBounds::new(3, Duration::from_millis(250)));
    assert_eq!(validated.execution_config().source_scheduler_policy(), SourceSchedulerPolicy::new(7));
    assert_eq!(validated.attempt_completion_queue_capacity(), Some(5));
}

/// B-12, B-15, B-22, B-31: what a file leaves out is the default, but for the ownership.
#[test]
fn a_short_file_has_the_defaults() {
    for text in [DEVICE.to_owned(), format!("backend = \"auto\"\n{DEVICE}")] {
        let file = parse(&text).unwrap();
        assert_eq!(file.backend(), BackendChoice::Auto);
        let validated = file.config().clone().validate().unwrap();
        assert_eq!(validated.devices().next().unwrap().profile(), &GpuBackendDeviceProfile::new(0));
        assert_eq!(
            (validated.queue_bounds(), validated.execution_config()),
            (&QueueBounds::default(), &QueryExecutionConfig::default())
        );
    }
    let error = refused("[[devices]]\ndevice_ordinal = 0\n");
    assert!(error.message().contains("missing field `memory_ownership`"), "{error}");
    // An empty file is a file without devices, which validation refuses.
    let error = parse("").unwrap().config().clone().validate().unwrap_err();
    assert_eq!(error.reason(), Some("no_devices"), "V-1");
}

#[test]
fn a_wrong_field_is_named_with_its_line_and_what_was_expected() {
    #[rustfmt::skip]
    let wrong = [
        (format!("{DEVICE}cache_cap_byte = 1\n"), Some("devices[0].cache_cap_byte"), 4, "expected one of"),
        (format!("{DEVICE}cache_cap_bytes = \"1 GiB\"\n"), Some("devices[0].cache_cap_bytes"), 4, "expected u64"),
        (format!("{DEVICE}cache_cap_bytes = -1\n"), Some("devices[0].cache_cap_bytes"), 4, "expected u64"),
        (format!("{DEVICE}install_telemetry = 1\n"), Some("devices[0].install_telemetry"), 4, "expected a boolean"),
        (format!("{DEVICE}memory_limit = {{ automatic = {{ fraction = nan }} }}\n"), Some("devices[0].memory_limit.automatic.fraction"), 4, "(0, 1]"),
        (format!("{DEVICE}memory_limit = {{ automatic = {{ fraction = 1.5 }} }}\n"), Some("devices[0].memory_limit.automatic.fraction"), 4, "(0, 1]"),
        (format!("{DEVICE}memory_limit = {{ explicit = {{ limit = 1 }} }}\n"), Some("devices[0].memory_limit.explicit"), 4, "limit, available keys: limit_bytes"),
        (format!("{DEVICE}memory_limit = {{ all = {{}} }}\n"), Some("devices[0].memory_limit"), 4, "expected `automatic` or `explicit`"),
        (format!("{DEVICE}\n[queue]\ndefault_wait = 3\n"), Some("queue.default_wait"), 6, "`default_wait_ms`"),
        (format!("{DEVICE}\n[execution]\nsource_scheduler_policy = {{ prefetch = \"x\" }}\n"), Some("execution.source_scheduler_policy.prefetch"), 6, "expected usize"),
        (format!("\nbackend = \"metal\"\n{DEVICE}"), Some("backend"), 2, "expected one of auto, cuda, hip, wgpu, sim"),
        (format!("{DEVICE}\nbackend ="), None, 5, ""),
        (format!("{DEVICE}device_ordinal = 1\n"), None, 4, "duplicate"),
    ];
    for (text, field, line, expected) in wrong {
        let error = refused(&text);
        assert_eq!(error.fact_value("field"), field, "{error}");
        assert_eq!(error.fact_value("line"), Some(line.to_string().as_str()), "{error}");
        assert!(error.message().starts_with(&format!("backend.toml line {line}: ")), "{error}");
        assert!(error.message().contains(expected), "{error}");
    }
}

#[test]
fn hostile_files_are_refused() {
    let deep = 100_000;
    let texts = [
        "devices = 3".to_owned(),
        "devices = [1, 2]".to_owned(),
        "[devices]\ndevice_ordinal = 0".to_owned(),
        "queue = []".to_owned(),
        format!("{DEVICE}cache_cap_bytes = 99999999999999999999999999999999999999999"),
        format!("{DEVICE}cache_cap_bytes = 1e300"),
        format!("{DEVICE}cache_cap_bytes = {}", "9".repeat(100_000)),
        format!("{DEVICE}memory_limit = {}1{}", "[".repeat(deep), "]".repeat(deep)),
        format!("{DEVICE}memory_limit = {}", "{ a = ".repeat(deep)),
        format!("a{} = 1", ".a".repeat(deep)),
        format!("[{}a]", "a.".repeat(deep)),
        format!("{} = 1", "x".repeat(500_000)),
        format!("\"{}\" = 1", "\\n".repeat(200_000)),
        format!("backend = \"{}\"", "x".repeat(500_000)),
        format!("# {}", "x".repeat(GpuBackendConfigFile::TEXT_BYTES_MAX)),
        "\u{0}\u{feff}\u{202e}".to_owned(),
        "[[[[[[".to_owned(),
        "backend = 1979-05-27T07:32:00Z".to_owned(),
    ];
    for text in &texts {
        refused(text);
    }
    // What is right until somewhere is wrong there, at whatever byte it ends.
    let whole = format!("backend = \"sim\"\n{DEVICE}memory_limit = {{ explicit = {{ limit_bytes = 9 }} }}\n");
    for end in 0..whole.len() {
        let _ = parse(&whole[..end]);
    }
}

/// B-32: what validation refuses about a device is found in the file.
#[test]
fn a_refused_device_is_located() {
    let second =
        "\n[[devices]]\ndevice_ordinal = 3\nmax_active_attempts = 0\nmemory_ownership = \"whole_device_exclusive\"\n";
    let file = parse(&format!("{DEVICE}{second}")).unwrap();
    let error = file.located(file.config().clone().validate().unwrap_err());
    assert_eq!((error.reason(), error.fact_value("field")), (Some("zero"), Some("max_active_attempts")));
    assert_eq!((error.fact_value("file"), error.fact_value("line")), (Some("backend.toml"), Some("6")));
    let file = parse("[queue]\nmax_queued_requests = 0").unwrap();
    let error = file.located(file.config().clone().validate().unwrap_err());
    assert_eq!((error.fact_value("file"), error.fact_value("line")), (Some("backend.toml"), None));
}
