//! A backend's configuration as a TOML file. The fields are those of the declarations, and what is not one is refused, so
//! that a misspelt limit is never a default.

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::time::Duration;

use serde::Deserialize;
use serde::de::Error as _;

use crate::lifecycle::config::{
    DeviceCapabilities, GpuBackendConfig, GpuBackendDeviceConfig, GpuBackendDeviceInstallationBounds,
    GpuBackendDeviceProfile, GpuDeviceMemoryLimit, GpuMemoryFraction, GpuMemoryOwnership, QueryExecutionConfig,
    QueueBounds,
};
use crate::lifecycle::error::{QueryError, QueryErrorCode, QueryResult, operation};
use crate::lifecycle::inventory::BackendKind;

/// Characters of the parser's message that an error repeats: it may quote the file.
const QUOTED_CHARS_MAX: usize = 300;

/// A configuration file that was read. Its declarations are not validated yet.
#[derive(Clone, Debug)]
pub struct GpuBackendConfigFile {
    name: String,
    backend: BackendChoice,
    config: GpuBackendConfig,
    /// Ordinal and line of each device.
    lines: Vec<(usize, usize)>,
}

/// Which backend a file asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BackendChoice {
    /// The best that is there.
    #[default]
    Auto,
    /// This one.
    Kind(BackendKind),
}

impl GpuBackendConfigFile {
    /// The longest text that is read, in bytes.
    pub const TEXT_BYTES_MAX: usize = 1 << 20;

    /// Read the text of the file called `name`, which errors repeat.
    ///
    /// # Errors
    ///
    /// `invalid_config_file` with the `line`, the `field` and what was expected there.
    pub fn parse(name: &str, text: &str) -> QueryResult<Self> {
        if text.len() > Self::TEXT_BYTES_MAX {
            let problem =
                format!("it has {} bytes; the largest accepted file has {}", text.len(), Self::TEXT_BYTES_MAX);
            return Err(refusal(name, None, None, &problem));
        }
        let refused = |field: Option<&str>, error: &toml::de::Error| {
            let line = error.span().map(|span| line_of(text, &span));
            refusal(name, line, field, error.message())
        };
        let parser = toml::Deserializer::parse(text).map_err(|error| refused(None, &error))?;
        let file: FileText = serde_path_to_error::deserialize(parser).map_err(|error| {
            let path = error.path().to_string();
            refused(Some(path.as_str()).filter(|path| *path != "."), error.inner())
        })?;
        let breaks: Vec<usize> =
            text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
        // Each device is looked up, not counted to: a file may have as many as fit in it.
        let line = |span: Range<usize>| breaks.partition_point(|at| *at < span.start) + 1;
        let lines =
            file.devices.iter().map(|device| (*device.device_ordinal.get_ref(), line(device.device_ordinal.span())));
        let (name, backend, lines) = (name.to_owned(), file.backend, lines.collect());
        Ok(Self { name, backend, config: file.declared(), lines })
    }

    /// The backend it asks for.
    pub fn backend(&self) -> BackendChoice {
        self.backend
    }

    /// What it declares.
    pub fn config(&self) -> &GpuBackendConfig {
        &self.config
    }

    /// An error about one of its devices, with the `file` and the `line` on which that device is declared.
    pub fn located(&self, error: QueryError) -> QueryError {
        let ordinal: Option<usize> = error.fact_value("device_ordinal").and_then(|ordinal| ordinal.parse().ok());
        let line = self.lines.iter().find(|(known, _)| Some(*known) == ordinal).map(|(_, line)| *line);
        let error = error.with_fact("file", &self.name);
        match line {
            Some(line) => error.with_fact("line", line),
            None => error,
        }
    }
}

fn refusal(name: &str, line: Option<usize>, field: Option<&str>, problem: &str) -> QueryError {
    let place = line.map_or_else(|| name.to_owned(), |line| format!("{name} line {line}"));
    let subject = field.map_or_else(String::new, |field| format!("`{}`: ", one_line(field)));
    let message =
        format!("{place}: {subject}{}; correct it, docs/BACKEND.md lists the fields of the file", one_line(problem));
    let error = QueryError::new(QueryErrorCode::InvalidConfiguration, operation::BUILD, message);
    let error = match field {
        Some(field) => error.with_fact("field", one_line(field)),
        None => error,
    };
    let error = error.with_reason("invalid_config_file").with_fact("file", name);
    match line {
        Some(line) => error.with_fact("line", line),
        None => error,
    }
}

/// A text of the parser's on one line, cut where a file made it long.
fn one_line(text: &str) -> String {
    let mut line: String = text.chars().take(QUOTED_CHARS_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(QUOTED_CHARS_MAX).is_some() {
        line.push_str("..");
    }
    line
}

/// The line of a place in the text, from 1.
fn line_of(text: &str, span: &Range<usize>) -> usize {
    text.bytes().take(span.start).filter(|byte| *byte == b'\n').count() + 1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText {
    #[serde(default, deserialize_with = "backend_choice")]
    backend: BackendChoice,
    #[serde(default)]
    devices: Vec<DeviceText>,
    #[serde(default)]
    queue: QueueText,
    #[serde(default)]
    execution: QueryExecutionConfig,
    attempt_completion_queue_capacity: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeviceText {
    device_ordinal: toml::Spanned<usize>,
    memory_ownership: GpuMemoryOwnership,
    device_capabilities: Option<Vec<String>>,
    memory_limit: Option<LimitText>,
    backend_reserve_bytes: Option<u64>,
    cache_cap_bytes: Option<u64>,
    default_query_limit_bytes: Option<u64>,
    source_work_per_attempt: Option<usize>,
    max_active_attempts: Option<usize>,
    installation_bounds: Option<GpuBackendDeviceInstallationBounds>,
    install_telemetry: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum LimitText {
    Automatic {
        headroom_bytes: Option<u64>,
        fallback_bytes: Option<u64>,
        #[serde(default, deserialize_with = "fraction")]
        fraction: Option<GpuMemoryFraction>,
    },
    Explicit {
        limit_bytes: u64,
    },
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct QueueText {
    max_queued_requests: Option<usize>,
    default_wait_ms: Option<u64>,
}

fn backend_choice<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<BackendChoice, D::Error> {
    let name = String::deserialize(deserializer)?;
    if name == "auto" {
        return Ok(BackendChoice::Auto);
    }
    let kind = BackendKind::from_name(&name);
    kind.map(BackendChoice::Kind).ok_or_else(|| {
        let names = BackendKind::ALL.map(BackendKind::as_str).join(", ");
        D::Error::custom(format!("unknown backend `{}`, expected one of auto, {names}", one_line(&name)))
    })
}

fn fraction<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<GpuMemoryFraction>, D::Error> {
    let value = f64::deserialize(deserializer)?;
    GpuMemoryFraction::new(value).map(Some).map_err(|error| D::Error::custom(error.message()))
}

impl FileText {
    fn declared(self) -> GpuBackendConfig {
        let default = QueueBounds::default();
        let requests = self.queue.max_queued_requests.unwrap_or(default.max_queued_requests());
        let wait = self.queue.default_wait_ms.map_or(default.default_wait(), Duration::from_millis);
        let devices = self.devices.into_iter().map(DeviceText::declared).collect();
        let config = GpuBackendConfig::new(devices, self.execution, QueueBounds::new(requests, wait));
        match self.attempt_completion_queue_capacity {
            Some(capacity) => config.with_attempt_completion_queue_capacity(capacity),
            None => config,
        }
    }
}

impl DeviceText {
    fn declared(self) -> GpuBackendDeviceConfig {
        let default = GpuBackendDeviceProfile::new(self.device_ordinal.into_inner());
        let (sources, attempts) = (default.source_work_per_attempt(), default.max_active_attempts());
        let telemetry = default.install_telemetry();
        let mut profile = default
            .with_memory_limit(self.memory_limit.map(LimitText::declared).unwrap_or_default())
            .with_backend_reserve_bytes(self.backend_reserve_bytes.unwrap_or(0))
            .with_cache_cap_bytes(self.cache_cap_bytes.unwrap_or(0))
            .with_source_work_per_attempt(self.source_work_per_attempt.unwrap_or(sources))
            .with_max_active_attempts(self.max_active_attempts.unwrap_or(attempts))
            .with_telemetry(self.install_telemetry.unwrap_or(telemetry));
        if let Some(names) = self.device_capabilities {
            profile = profile.with_device_capabilities(DeviceCapabilities::only(names));
        }
        if let Some(bytes) = self.default_query_limit_bytes {
            profile = profile.with_default_query_limit_bytes(bytes);
        }
        if let Some(bounds) = self.installation_bounds {
            profile = profile.with_installation_bounds(bounds);
        }
        GpuBackendDeviceConfig::new(profile, self.memory_ownership)
    }
}

impl LimitText {
    fn declared(self) -> GpuDeviceMemoryLimit {
        match self {
            Self::Automatic { headroom_bytes, fallback_bytes, fraction } => GpuDeviceMemoryLimit::Automatic {
                headroom_bytes: headroom_bytes.unwrap_or(GpuDeviceMemoryLimit::DEFAULT_HEADROOM_BYTES),
                fallback_bytes: fallback_bytes.unwrap_or(GpuDeviceMemoryLimit::DEFAULT_FALLBACK_BYTES),
                fraction,
            },
            Self::Explicit { limit_bytes } => GpuDeviceMemoryLimit::Explicit { limit_bytes },
        }
    }
}
