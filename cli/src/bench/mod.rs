//! `graphreel bench`: graphs of verified work, run eagerly, replayed, and beside both the same by hand.

#[cfg(feature = "wgpu")]
mod baseline;
mod baseline_run;
mod case;
mod facts;
mod measure;
pub(crate) mod measured;
#[cfg(not(feature = "wgpu"))]
mod no_baseline;
mod opening;
pub(crate) mod plan;
mod progress;
mod row;
mod stopwatch;
mod target;
mod topology;

use std::fmt::Write as _;

use graphreel::device::Device;
use graphreel::{CapturePolicy, DeviceInfo};
use serde::Serialize;

use self::case::Case;
use self::facts::Machine;
use self::measure::Settings;
use self::opening::{Unopened, only_the_simulator, open_all};
use self::progress::Progress;
use self::row::{Row, remarks, table};
use self::target::Target;
use crate::args::BenchArgs;
use crate::failure::Failure;
use crate::finding::{Finding, listed};
use crate::output::{self, Json};
use crate::sanitizer::Sanitizer;
use crate::simulated::{NO_DEVICE, is_simulated};

/// The object of `bench --json`.
#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    version: &'static str,
    machine: Machine,
    devices: Vec<&'a DeviceInfo>,
    rows: &'a [Row],
    /// What `--sanitize` found; absent without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    findings: Option<&'a [Finding]>,
    /// Backends that `--backend all` means and that did not open.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    failed: &'a [Unopened],
}

impl<'a> Report<'a> {
    fn new(devices: Vec<&'a DeviceInfo>, rows: &'a [Row]) -> Self {
        let (schema, version) = ("graphreel.bench/1", env!("CARGO_PKG_VERSION"));
        Self { schema, version, machine: Machine::ask(), devices, rows, findings: None, failed: &[] }
    }
}

/// Run the command.
///
/// # Errors
///
/// [`Failure::Rows`] when a row failed, [`Failure::Findings`] when the sanitizer found something, and
/// [`Failure::Backends`] when one of all backends did not open, after all else was printed; no device to run on.
pub(crate) fn run(args: BenchArgs) -> Result<(), Failure> {
    let json = Json::new(args.json.json.clone());
    if args.sanitize { sanitize(&args, &json) } else { measure_all(&args, &json) }
}

fn measure_all(args: &BenchArgs, json: &Json) -> Result<(), Failure> {
    json.check()?;
    let (devices, failed) = open_all(&args.backend)?;
    let settings = Settings { policy: policy(args), replays: args.replays, timed: true };
    let cases = Case::all(args);
    let mut progress = Progress::new(cases.len() * devices.len());
    let mut rows = Vec::new();
    for device in &devices {
        let first = rows.len();
        rows.extend(rows_of(device, &cases, &settings, &mut progress));
        if json.leaves_stdout() {
            progress.aside(|| output::print(&describe(device, &rows[first..], args)))?;
        }
    }
    drop(progress);
    if json.leaves_stdout() {
        failed.iter().try_for_each(|one| output::print(&format!("{}: FAILED: {}\n", one.backend, one.error)))?;
    }
    let infos = devices.iter().map(Device::info).collect();
    json.put(&Report { failed: &failed, ..Report::new(infos, &rows) })?;
    outcome(&rows, &failed)
}

/// Run every case once, watched.
fn sanitize(args: &BenchArgs, json: &Json) -> Result<(), Failure> {
    only_the_simulator(&args.backend)?;
    json.check()?;
    let (device, sanitizer) = Sanitizer::open()?;
    let settings = Settings { policy: policy(args), replays: None, timed: false };
    let cases = Case::all(args);
    let rows = rows_of(&device, &cases, &settings, &mut Progress::new(cases.len()));
    let findings = sanitizer.findings();
    if json.leaves_stdout() {
        output::print(&(describe(&device, &rows, args) + &listed(&findings)))?;
    }
    json.put(&Report { findings: Some(&findings), ..Report::new(vec![device.info()], &rows) })?;
    outcome(&rows, &[])?;
    if findings.is_empty() { Ok(()) } else { Err(Failure::Findings(findings.len())) }
}

fn policy(args: &BenchArgs) -> CapturePolicy {
    args.tier.map_or(CapturePolicy::Best, |tier| CapturePolicy::Require(vec![tier]))
}

fn rows_of(device: &Device, cases: &[Case], settings: &Settings, progress: &mut Progress) -> Vec<Row> {
    let mut target = Target::new(device.clone());
    let row = |case: &Case| {
        progress.begin(case.name());
        let row = measure::row(&mut target, *case, settings);
        progress.end();
        row
    };
    cases.iter().map(row).collect()
}

fn outcome(rows: &[Row], unopened: &[Unopened]) -> Result<(), Failure> {
    let failed = rows.iter().filter(|row| !row.verified).count();
    let rows = rows.len();
    match (unopened, failed) {
        ([], 0) => Ok(()),
        ([], failed) => Err(Failure::Rows { failed, rows }),
        (unopened, failed) => {
            let names: Vec<_> = unopened.iter().map(|one| one.backend.as_str()).collect();
            Err(Failure::Backends { names: names.join(", "), failed, rows })
        }
    }
}

fn describe(device: &Device, rows: &[Row], args: &BenchArgs) -> String {
    let DeviceInfo { backend, name, api, driver, .. } = device.info();
    let mut text = format!("{backend}: {name} ({api}, {driver})\n");
    if is_simulated(device.info()) {
        let times = match (args.sanitize, args.nodes.is_empty()) {
            (false, _) => "the times are those of the CPU interpreter",
            (true, false) => "nothing is timed",
            (true, true) => "nothing is timed, and the graphs are small; --nodes chooses other sizes",
        };
        let _ = writeln!(text, "{NO_DEVICE}: {times}");
    }
    if cfg!(debug_assertions) && !args.sanitize {
        text.push_str("built without optimisation: the times say little, use --release\n");
    }
    text.push_str(&table(rows));
    for remark in rows.iter().filter_map(remarks) {
        let _ = writeln!(text, "{remark}");
    }
    text
}
