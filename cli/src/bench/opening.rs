//! The devices that `--backend` means, opened.

use graphreel::Config;
use graphreel::device::Device;
use graphreel_backends::{BACKENDS, Select, list, open_explained};
use serde::Serialize;

use crate::failure::Failure;
use crate::simulated::announce;

/// A backend whose device is there and does not open.
#[derive(Debug, Serialize)]
pub(crate) struct Unopened {
    pub(crate) backend: String,
    pub(crate) error: String,
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
pub(crate) fn open_all(names: &[String]) -> Result<(Vec<Device>, Vec<Unopened>), Failure> {
    let all = names.iter().all(|name| name.trim() == "all");
    let (mut devices, mut failed) = (Vec::new(), Vec::new());
    for select in selections(names)? {
        match (open_explained(&select, Config::default()), &select) {
            (Ok(opened), _) => {
                announce(&opened);
                devices.push(opened.device);
            }
            (Err(error), Select::Backend(name)) if all => {
                failed.push(Unopened { backend: name.clone(), error: error.to_string() });
            }
            (Err(error), _) => return Err(error.into()),
        }
    }
    Ok((devices, failed))
}

/// Refuse every device but the simulator, which alone has a sanitizer. It is what `auto` means here.
///
/// # Errors
///
/// [`Failure::Usage`].
pub(crate) fn only_the_simulator(names: &[String]) -> Result<(), Failure> {
    match names.iter().map(|name| name.trim()).find(|name| !["auto", "sim"].contains(name)) {
        None => Ok(()),
        Some(name) => Err(Failure::Usage(format!(
            "--sanitize runs on the simulator, and not on `{name}`; leave --backend out, or say --backend sim"
        ))),
    }
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

    #[test]
    fn only_the_simulator_has_a_sanitizer() {
        let of = |text: &str| only_the_simulator(&text.split(',').map(str::to_owned).collect::<Vec<_>>());
        assert!(of("auto").is_ok() && of("sim").is_ok() && of(" sim").is_ok());
        for bad in ["wgpu", "sim,wgpu", "all", "warp"] {
            let failure = of(bad).expect_err("another device");
            assert!(failure.to_string().contains("--backend sim"), "{failure}");
        }
    }
}
