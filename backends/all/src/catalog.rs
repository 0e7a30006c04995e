//! The backends of this build and their devices: listing them, and opening the one that is meant.

use graphreel::device::Device;
use graphreel::{Caps, DeviceInfo, DeviceKind, Result, ServerError};
use serde::Serialize;

use crate::options::OpenOptions;
use crate::select::{Choice, Select, choose};

/// Every backend there is or will be, in the order of listing.
pub const BACKENDS: [&str; 4] = ["cuda", "hip", "wgpu", "sim"];

/// One backend and what it found.
#[derive(Clone, Debug, Serialize)]
pub struct BackendReport {
    /// Its name, one of [`BACKENDS`].
    pub name: &'static str,
    /// Its devices, best first.
    pub devices: Vec<DeviceReport>,
    /// Why there is none, in one line; absent where there are some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub absent: Option<String>,
    /// What is wrong with those beside them that cannot be asked who they are, a line each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// One device that a backend found.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceReport {
    /// Its index for [`Select::Index`].
    pub index: usize,
    /// Who it is.
    pub info: DeviceInfo,
    /// Whether it is no device at all, but the simulator. Absent where it is one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub simulated: bool,
    /// What it can do; absent where it cannot be opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caps: Option<Caps>,
    /// Why it cannot be opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A device that was opened, and how it was come by.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Opened {
    /// The device.
    pub device: Device,
    /// Why that one, in a few words.
    pub why: String,
    /// Where the simulator stands in for a device by [`Select::AutoOrSim`]: why there is no device, in one line. A program
    /// tells its user.
    pub no_device: Option<String>,
}

/// A device that can be opened.
pub(crate) struct Candidate {
    pub(crate) info: DeviceInfo,
    pub(crate) open: Box<dyn FnOnce(OpenOptions) -> Result<Device>>,
}

/// Names of the backends in this build.
pub(crate) fn built() -> Vec<&'static str> {
    BACKENDS.into_iter().filter(|name| is_built(name)).collect()
}

fn is_built(name: &str) -> bool {
    let features = [
        ("cuda", cfg!(feature = "cuda")),
        ("hip", cfg!(feature = "hip")),
        ("wgpu", cfg!(feature = "wgpu")),
        ("sim", cfg!(feature = "sim")),
    ];
    features.contains(&(name, true))
}

/// The devices of a backend, best first; none for one that is not in this build.
fn candidates(backend: &str) -> Vec<Candidate> {
    match backend {
        #[cfg(feature = "cuda")]
        "cuda" => crate::cuda::candidates(),
        #[cfg(feature = "hip")]
        "hip" => crate::hip::candidates(),
        #[cfg(feature = "wgpu")]
        "wgpu" => crate::wgpu::candidates(),
        #[cfg(feature = "sim")]
        "sim" => crate::sim::candidates(),
        _ => Vec::new(),
    }
}

/// Why a backend has no device, in one line.
pub(crate) fn absence(backend: &str) -> String {
    match backend {
        #[cfg(feature = "cuda")]
        "cuda" => crate::cuda::absence(),
        #[cfg(feature = "hip")]
        "hip" => crate::hip::absence(),
        #[cfg(feature = "wgpu")]
        "wgpu" => crate::wgpu::absence(),
        _ => "not in this build".to_owned(),
    }
}

/// What is wrong with the devices of a backend that are beside those in use, a line each.
fn problems(backend: &str) -> Vec<String> {
    match backend {
        #[cfg(feature = "cuda")]
        "cuda" => crate::cuda::problems(),
        #[cfg(feature = "hip")]
        "hip" => crate::hip::problems(),
        _ => Vec::new(),
    }
}

/// Why no backend has a device, in one line. The simulator has none by its nature.
pub(crate) fn why_none() -> String {
    let real = built().into_iter().filter(|name| *name != "sim");
    let reasons: Vec<_> = real.map(|name| format!("{name}: {}", absence(name))).collect();
    if reasons.is_empty() {
        "this build has no backend with devices; build with the feature of one".to_owned()
    } else {
        reasons.join("; ")
    }
}

/// Every backend with its devices and what they can do. Each device is opened for as long as it takes to ask: while a backend
/// of this process lives, that is the `problem` of each.
pub fn list() -> Vec<BackendReport> {
    let mut index = 0;
    let report = |name| {
        let devices: Vec<_> =
            candidates(name).into_iter().map(|candidate| report_device(&mut index, candidate)).collect();
        let absent = devices.is_empty().then(|| absence(name));
        BackendReport { name, devices, absent, problems: problems(name) }
    };
    BACKENDS.into_iter().map(report).collect()
}

fn report_device(next: &mut usize, candidate: Candidate) -> DeviceReport {
    let index = *next;
    *next += 1;
    let simulated = candidate.info.kind == DeviceKind::Simulated;
    let (info, caps, problem) = match (candidate.open)(OpenOptions::default()) {
        Ok(device) => (device.info().clone(), Some(device.caps().clone()), None),
        Err(error) => (candidate.info, None, Some(error.to_string())),
    };
    DeviceReport { index, info, simulated, caps, problem }
}

/// Open the device that `select` means, with the default bounds, for direct use ([`OpenOptions`]).
///
/// # Errors
///
/// `Unsupported`, with what there is, when no device is meant; `DevicesOwned` while a backend of this process lives; what
/// opening it answers.
pub fn open(select: &Select) -> Result<Device> {
    open_with(select, OpenOptions::default())
}

/// As [`open`], with options of your own, or with a [`Config`](graphreel::Config) alone.
///
/// # Errors
///
/// As [`open`].
pub fn open_with(select: &Select, options: impl Into<OpenOptions>) -> Result<Device> {
    let opened = open_explained(select, options)?;
    if let Some(why) = &opened.no_device {
        tracing::warn!(why, "no device was found; using the simulator, whose times are not a device's");
    }
    Ok(opened.device)
}

/// As [`open_with`], with how the device was come by, for a program that tells its user itself where the simulator stands
/// in: the others warn of it in the log.
///
/// # Errors
///
/// As [`open`].
pub fn open_explained(select: &Select, options: impl Into<OpenOptions>) -> Result<Opened> {
    let (wanted, by_variable) = resolve(select, std::env::var("GRAPHREEL_DEVICE").ok())?;
    let mut found: Vec<Candidate> = asked(&wanted).into_iter().flat_map(candidates).collect();
    let infos: Vec<DeviceInfo> = found.iter().map(|candidate| candidate.info.clone()).collect();
    let chosen = choose(&infos, &wanted);
    let Choice { index, mut why, last_resort } = if by_variable { chosen.map_err(blame_variable)? } else { chosen? };
    if by_variable {
        why.push_str(", which GRAPHREEL_DEVICE holds");
    }
    let candidate = found.swap_remove(index);
    let DeviceInfo { backend, name, api, .. } = &candidate.info;
    tracing::info!(backend, name, api, why, "opening a device");
    let device = (candidate.open)(options.into())?;
    Ok(Opened { device, why, no_device: last_resort.then(why_none) })
}

/// The backends to look into. One that is asked for by name is looked into alone: a vendor's library is loaded, and may
/// complain, only where it is meant.
fn asked(select: &Select) -> Vec<&'static str> {
    let alone = |backend: &&str| matches!(select, Select::Backend(name) if name == backend);
    match BACKENDS.into_iter().find(alone) {
        Some(backend) => vec![backend],
        None => BACKENDS.to_vec(),
    }
}

/// What is meant after `GRAPHREEL_DEVICE` was looked at, and whether it said so. It speaks only where the caller does not.
fn resolve(select: &Select, variable: Option<String>) -> Result<(Select, bool)> {
    match (select, variable) {
        (Select::Auto | Select::AutoOrSim, Some(text)) if !text.trim().is_empty() => {
            let wanted = text.parse().map_err(|error: crate::SelectError| {
                ServerError::unsupported(format!("GRAPHREEL_DEVICE=`{text}`"), error.to_string())
            })?;
            Ok((wanted, true))
        }
        (select, _) => Ok((select.clone(), false)),
    }
}

/// The same refusal, saying that it was the variable that asked.
fn blame_variable(error: ServerError) -> ServerError {
    match error {
        ServerError::Unsupported { what, why } => {
            ServerError::unsupported(format!("{what}, which GRAPHREEL_DEVICE holds,"), why)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use graphreel::Config;

    #[test]
    fn the_variable_speaks_only_for_auto() {
        let variable = || Some("3".to_owned());
        assert_eq!(resolve(&Select::Auto, variable()).expect("an index"), (Select::Index(3), true));
        assert_eq!(resolve(&Select::Index(1), variable()).expect("untouched"), (Select::Index(1), false));
        assert_eq!(resolve(&Select::Auto, Some(" ".into())).expect("empty"), (Select::Auto, false));
        let error = resolve(&Select::Auto, Some("index:x".into())).expect_err("not an index");
        assert!(error.to_string().contains("GRAPHREEL_DEVICE=`index:x`"), "{error}");
    }

    #[test]
    fn every_backend_is_listed_with_devices_or_a_reason() {
        let reports = list();
        assert_eq!(reports.iter().map(|report| report.name).collect::<Vec<_>>(), BACKENDS);
        for report in reports {
            assert_eq!(report.devices.is_empty(), report.absent.is_some(), "{report:?}");
            assert!(report.absent.is_none_or(|why| !why.contains('\n')));
        }
    }

    #[test]
    fn every_backend_that_is_required_has_a_device() {
        let required = std::env::var("GRAPHREEL_REQUIRE").unwrap_or_default();
        let reports = list();
        // Compilers are required by the same variable, and looked for by the tests that use them.
        let compilers = ["host", "nvrtc", "hiprtc", "hip-experimental"];
        let names = required.split(',').map(str::trim).filter(|name| !name.is_empty() && !compilers.contains(name));
        for name in names {
            let report = reports.iter().find(|report| report.name == name).expect("GRAPHREEL_REQUIRE names backends");
            assert_eq!(report.absent, None, "GRAPHREEL_REQUIRE names {name}, which is absent");
        }
    }

    #[test]
    fn a_backend_that_is_named_is_looked_into_alone() {
        assert_eq!(asked(&Select::Backend("sim".to_owned())), ["sim"]);
        assert_eq!(asked(&Select::Backend("warp".to_owned())), BACKENDS);
        assert_eq!(asked(&Select::Index(0)), BACKENDS);
    }

    #[cfg(feature = "sim")]
    #[test]
    fn the_simulator_is_always_there_last_and_marked() {
        let reports = list();
        let devices: Vec<_> = reports.iter().flat_map(|report| &report.devices).collect();
        let (last, others) = devices.split_last().expect("the simulator");
        assert!(last.simulated && last.problem.is_none() && last.info.kind == DeviceKind::Simulated, "{last:?}");
        assert!(others.iter().all(|device| !device.simulated), "{others:?}");
        let opened = open_explained(&Select::Backend("sim".to_owned()), Config::default()).expect("it needs nothing");
        assert_eq!((opened.device.info().backend.as_str(), opened.no_device), ("sim", None));
        let by_index = open(&Select::Index(last.index)).expect("as it is listed");
        assert_eq!(by_index.info().kind, DeviceKind::Simulated);
    }
}
