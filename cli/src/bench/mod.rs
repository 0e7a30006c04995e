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
pub(crate) mod plan;
mod progress;
mod row;
mod stopwatch;
mod target;
mod topology;

use std::fmt::Write as _;

use graphreel::device::Device;
use graphreel::{CapturePolicy, DeviceInfo};
use graphreel_backends::{BACKENDS, Select, list, open};
use serde::Serialize;

use self::case::Case;
use self::facts::Machine;
use self::measure::Settings;
use self::progress::Progress;
use self::row::{Row, remarks, table};
use self::target::Target;
use crate::args::BenchArgs;
use crate::failure::Failure;
use crate::output::{self, Json};

/// The object of `bench --json`.
#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    version: &'static str,
    machine: Machine,
    devices: Vec<&'a DeviceInfo>,
    rows: &'a [Row],
    /// Backends that `--backend all` means and that did not open.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    failed: &'a [Unopened],
}

/// A backend whose device is there and does not open.
#[derive(Debug, Serialize)]
struct Unopened {
    backend: String,
    error: String,
}

/// Run the command.
///
/// # Errors
///
/// [`Failure::Rows`] when a row failed and [`Failure::Backends`] when one of all backends did not open, after all else was
/// printed; no device to run on.
pub(crate) fn run(args: BenchArgs) -> Result<(), Failure> {
    let json = Json::new(args.json.json.clone());
    json.check()?;
    let (devices, failed) = open_all(&args.backend)?;
    let cases = Case::all(&args);
    let policy = args.tier.map_or(CapturePolicy::Best, |tier| CapturePolicy::Require(vec![tier]));
    let settings = Settings { policy, replays: args.replays };
    let mut progress = Progress::new(cases.len() * devices.len());
    let mut rows = Vec::new();
    for device in &devices {
        let first = rows.len();
        let mut target = Target::new(device.clone());
        for case in &cases {
            progress.begin(case.name());
            rows.push(measure::row(&mut target, *case, &settings));
            progress.end();
        }
        if json.leaves_stdout() {
            progress.aside(|| output::print(&describe(device, &rows[first..])))?;
        }
    }
    drop(progress);
    if json.leaves_stdout() {
        failed.iter().try_for_each(|one| output::print(&format!("{}: FAILED: {}\n", one.backend, one.error)))?;
    }
    json.put(&Report {
        schema: "graphreel.bench/1",
        version: env!("CARGO_PKG_VERSION"),
        machine: Machine::ask(),
        devices: devices.iter().map(Device::info).collect(),
        rows: &rows,
        failed: &failed,
    })?;
    outcome(&rows, &failed)
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

/// Which devices `--backend` means.
fn selections(names: &[String]) -> Result<Vec<Select>, Failure> {
    let mut once: Vec<&str> = Vec::new();
    names.iter().map(|name| name.trim()).for_each(|name| {
        if !once.contains(&name) {
            once.push(name)
        }
    });
    let names = once;
    match names.as_slice() {
        ["auto"] => return Ok(vec![Select::AutoOrSim]),
        ["all"] => {
            let present = list().into_iter().filter(|backend| backend.absent.is_none());
            let all: Vec<_> = present.map(|backend| Select::Backend(backend.name.to_owned())).collect();
            // Nothing at all is an error that opening explains best.
            return Ok(if all.is_empty() { vec![Select::AutoOrSim] } else { all });
        }
        _ => {}
    }
    let select = |name: &&str| match *name {
        "auto" | "all" => Err(Failure::Usage(format!("--backend `{name}` stands alone"))),
        name if BACKENDS.contains(&name) => Ok(Select::Backend(name.to_owned())),
        name => Err(Failure::Usage(format!("no backend `{name}`: there are {}, auto and all", BACKENDS.join(", ")))),
    };
    names.iter().map(select).collect()
}

/// The devices of `--backend`. One of `all` that does not open is kept from the rest, which run; one that was asked for by
/// name ends the command.
fn open_all(names: &[String]) -> Result<(Vec<Device>, Vec<Unopened>), Failure> {
    let all = names.iter().all(|name| name.trim() == "all");
    let (mut devices, mut failed) = (Vec::new(), Vec::new());
    for select in selections(names)? {
        match (open(&select), &select) {
            (Ok(device), _) => devices.push(device),
            (Err(error), Select::Backend(name)) if all => {
                failed.push(Unopened { backend: name.clone(), error: error.to_string() });
            }
            (Err(error), _) => return Err(error.into()),
        }
    }
    Ok((devices, failed))
}

fn describe(device: &Device, rows: &[Row]) -> String {
    let DeviceInfo { backend, name, api, driver, .. } = device.info();
    let mut text = format!("{backend}: {name} ({api}, {driver})\n");
    if cfg!(debug_assertions) {
        text.push_str("built without optimisation: the times say little, use --release\n");
    }
    text.push_str(&table(rows));
    for remark in rows.iter().filter_map(remarks) {
        let _ = writeln!(text, "{remark}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backends_are_named_alone_or_by_name() {
        let of = |text: &str| selections(&text.split(',').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(of("auto").expect("one word"), [Select::AutoOrSim]);
        assert_eq!(of("wgpu,sim").expect("two names"), [Select::Backend("wgpu".into()), Select::Backend("sim".into())]);
        // As workloads and sizes, what is named twice is run once.
        assert_eq!(of("wgpu,sim,wgpu").expect("two names").len(), 2);
        for bad in ["warp", "auto,wgpu", "all,auto", ""] {
            assert!(matches!(of(bad), Err(Failure::Usage(_))), "{bad}");
        }
    }
}
