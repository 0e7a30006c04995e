//! `graphreel serve-check`: what a backend's configuration would install on this machine, and every reason for which it would
//! be refused. It claims nothing and opens nothing.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use graphreel::lifecycle::config::GpuBackendConfigFile;
use graphreel::lifecycle::{PlannedDevice, Preflight, QueryError, bytes_with_gib, preflight};
use serde::{Serialize, Serializer};

use crate::args::ServeCheckArgs;
use crate::failure::Failure;
use crate::output::{self, Json};

/// The object of `serve-check --json`.
#[derive(Serialize)]
struct Report {
    schema: &'static str,
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    backend: Option<&'static str>,
    accepted: bool,
    devices: Vec<Device>,
    refusals: Vec<Refusal>,
}

/// A device as it would be installed.
#[derive(Serialize)]
struct Device {
    device_ordinal: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    model_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uuid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pci_bus_id: Option<String>,
    visible_total_bytes: u64,
    visible_total_bytes_provenance: &'static str,
    owned_capacity_bytes: u64,
    resolved_limit_bytes: u64,
    backend_reserve_bytes: u64,
    cache_cap_bytes: u64,
    query_share_bytes: u64,
    default_query_limit_bytes: u64,
    max_active_attempts: usize,
    source_work_per_attempt: usize,
    stream_pool_size: usize,
    worker_count: usize,
    lane_count: usize,
}

/// A reason for which a build would refuse.
#[derive(Serialize)]
struct Refusal {
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    message: String,
    /// In the error's order.
    #[serde(serialize_with = "as_object")]
    facts: Vec<(&'static str, String)>,
}

fn as_object<S: Serializer>(facts: &[(&'static str, String)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(facts.iter().map(|(key, value)| (key, value)))
}

impl Refusal {
    fn fact(&self, wanted: &str) -> Option<&str> {
        self.facts.iter().find(|(key, _)| *key == wanted).map(|(_, value)| value.as_str())
    }
}

/// Run the command.
///
/// # Errors
///
/// `Refused` with the number of reasons, each of which is printed; a file that cannot be read; output that cannot be written.
pub(crate) fn run(args: ServeCheckArgs) -> Result<(), Failure> {
    let json = Json::new(args.json.json);
    json.check()?;
    let path = args.file.display().to_string();
    let report = examine(&args.file, &path)?;
    let told = json.put(&report).and_then(|()| match json.leaves_stdout() {
        true => output::print(&describe(&report)),
        false => Ok(()),
    });
    match (told, report.refusals.len()) {
        // A configuration is refused whether or not somebody reads why: a script that looks at the code must not go on.
        (Ok(()) | Err(Failure::Closed), reasons @ 1..) => Err(Failure::Refused { path, reasons }),
        (told, _) => told,
    }
}

/// The file's text, when it is one of bearable length.
fn read(file: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    let length = File::open(file)?.take(GpuBackendConfigFile::TEXT_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    if length > GpuBackendConfigFile::TEXT_BYTES_MAX {
        return Err(io::Error::other(format!(
            "it is longer than {} MiB, the most that a configuration may have",
            GpuBackendConfigFile::TEXT_BYTES_MAX >> 20
        )));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is not text in UTF-8"))
}

fn examine(file: &Path, path: &str) -> Result<Report, Failure> {
    let text = read(file).map_err(|source| Failure::Read { path: path.to_owned(), source })?;
    let report = |backend, found: Preflight, located: &dyn Fn(QueryError) -> QueryError| Report {
        schema: "graphreel.serve-check/1",
        file: path.to_owned(),
        backend,
        accepted: found.refusals.is_empty(),
        devices: found.devices.iter().map(device).collect(),
        refusals: found.refusals.into_iter().map(|error| refusal(&located(error))).collect(),
    };
    let alone = |error: QueryError| report(None, Preflight::refused(error), &|error| error);
    let file = match GpuBackendConfigFile::parse(path, &text) {
        Ok(file) => file,
        Err(error) => return Ok(alone(error)),
    };
    let factory = match graphreel_backends::factory(file.backend()) {
        Ok(factory) => factory,
        Err(error) => return Ok(alone(file.located(error))),
    };
    let found = preflight(file.config(), &*factory);
    Ok(report(Some(factory.kind().as_str()), found, &|error| file.located(error)))
}

fn device(planned: &PlannedDevice) -> Device {
    let PlannedDevice { config, bounds, facts, capacity, .. } = planned;
    Device {
        device_ordinal: facts.device,
        model_name: facts.model_name.clone(),
        uuid: facts.uuid.clone(),
        pci_bus_id: facts.pci_bus_id.clone(),
        visible_total_bytes: facts.total_bytes,
        visible_total_bytes_provenance: facts.total_bytes_provenance.as_str(),
        owned_capacity_bytes: capacity.owned_capacity_bytes,
        resolved_limit_bytes: capacity.resolved_limit_bytes,
        backend_reserve_bytes: config.backend_reserve_bytes(),
        cache_cap_bytes: capacity.cache_cap_bytes,
        query_share_bytes: capacity.query_share_bytes,
        default_query_limit_bytes: capacity.default_query_limit_bytes,
        max_active_attempts: config.max_active_attempts(),
        source_work_per_attempt: config.source_work_per_attempt(),
        stream_pool_size: bounds.stream_pool_size,
        worker_count: bounds.worker_count,
        lane_count: bounds.lane_count,
    }
}

fn refusal(error: &QueryError) -> Refusal {
    let facts = error.facts().filter(|(key, _)| *key != "reason").map(|(key, value)| (key, value.to_owned()));
    Refusal { reason: error.reason().map(str::to_owned), message: error.message().to_owned(), facts: facts.collect() }
}

fn describe(report: &Report) -> String {
    let mut text = String::new();
    let verdict = if report.accepted { "accepted" } else { "refused" };
    let backend = report.backend.map_or_else(String::new, |backend| format!(" on {backend}"));
    let _ = writeln!(text, "{}: {verdict}{backend}", report.file);
    for device in &report.devices {
        let name = device.model_name.as_deref().unwrap_or("no name");
        let _ = writeln!(text, "device {} {name}", device.device_ordinal);
        let _ = writeln!(
            text,
            "  memory   {} visible ({}), {} ours, limit {}, reserve {}",
            bytes_with_gib(device.visible_total_bytes),
            device.visible_total_bytes_provenance,
            bytes_with_gib(device.owned_capacity_bytes),
            bytes_with_gib(device.resolved_limit_bytes),
            bytes_with_gib(device.backend_reserve_bytes),
        );
        let _ = writeln!(
            text,
            "  grants   {} shared by queries, {} by default, {} of resident cache",
            bytes_with_gib(device.query_share_bytes),
            bytes_with_gib(device.default_query_limit_bytes),
            bytes_with_gib(device.cache_cap_bytes),
        );
        let _ = writeln!(
            text,
            "  install  {} attempts of {} source work{}, {} streams, {} workers, {} lanes",
            device.max_active_attempts,
            device.source_work_per_attempt,
            if device.source_work_per_attempt == 1 { "" } else { "s" },
            device.stream_pool_size,
            device.worker_count,
            device.lane_count,
        );
    }
    for refusal in &report.refusals {
        let reason = refusal.reason.as_deref().unwrap_or("from the inventory");
        // What the parser refuses names its place itself.
        let place = match refusal.fact("line") {
            Some(line) if !refusal.message.starts_with(&report.file) => format!("{} line {line}: ", report.file),
            _ => String::new(),
        };
        let _ = writeln!(text, "refused: {place}{} ({reason})", refusal.message);
    }
    text
}
