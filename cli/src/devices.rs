//! `graphreel devices`: every backend and device, what it can do, and why one is absent.

use std::fmt::Write as _;

use graphreel::{Caps, DeviceInfo};
use graphreel_backends::{BackendReport, DeviceReport};
use serde::Serialize;

use crate::args::JsonArg;
use crate::failure::Failure;
use crate::output::{self, Json};
use crate::simulated::NO_DEVICE;

/// The object of `devices --json`.
#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    backends: &'a [BackendReport],
}

/// Run the command. A machine without a device is an answer, not a failure.
///
/// # Errors
///
/// What writing the answer ran into.
pub(crate) fn run(args: JsonArg) -> Result<(), Failure> {
    let json = Json::new(args.json);
    json.check()?;
    let backends = graphreel_backends::list();
    json.put(&Report { schema: "graphreel.devices/1", backends: &backends })?;
    if json.leaves_stdout() { output::print(&describe(&backends)) } else { Ok(()) }
}

fn describe(backends: &[BackendReport]) -> String {
    let mut text = String::new();
    for backend in backends {
        match &backend.absent {
            Some(why) => {
                let _ = writeln!(text, "{}: {why}", backend.name);
            }
            None => {
                let _ = writeln!(text, "{}:", backend.name);
                backend.devices.iter().for_each(|device| describe_device(&mut text, device));
                for problem in &backend.problems {
                    let _ = writeln!(text, "  {problem}");
                }
            }
        }
    }
    text
}

fn describe_device(text: &mut String, device: &DeviceReport) {
    let DeviceInfo { name, api, kind, driver, pci, uuid, memory_bytes, .. } = &device.info;
    let kind = format!("{kind:?}").to_lowercase();
    let _ = writeln!(text, "  {} {name} ({kind}, {api}, {driver})", device.index);
    if device.simulated {
        let _ =
            writeln!(text, "      {NO_DEVICE}; it runs kernels in a CPU interpreter, whose times are not a device's");
    }
    let known = [pci.as_ref().map(|pci| format!("PCI {pci}")), uuid.as_ref().map(|uuid| format!("UUID {uuid}"))];
    let known: Vec<_> = known.into_iter().flatten().collect();
    if !known.is_empty() {
        let _ = writeln!(text, "      {}", known.join(", "));
    }
    let memory = memory_bytes.map_or_else(|| "not told by the driver".to_owned(), size);
    let _ = writeln!(text, "      memory: {memory}");
    match (&device.caps, &device.problem) {
        (Some(caps), _) => describe_caps(text, caps),
        (None, Some(problem)) => {
            let _ = writeln!(text, "      cannot be opened: {problem}");
        }
        (None, None) => {}
    }
}

fn describe_caps(text: &mut String, caps: &Caps) {
    let tiers: Vec<_> = caps.tiers.iter().map(|tier| tier.name()).collect();
    let _ = writeln!(text, "      tiers: {}", listed(&tiers));
    let _ = writeln!(
        text,
        "      one buffer: {}, one binding: {} at multiples of {} bytes, {} bindings a launch",
        size(caps.buffer_bytes_max),
        size(caps.binding_bytes_max),
        caps.binding_alignment,
        caps.bindings_max,
    );
    let [x, y, z] = caps.workgroup_size_max;
    let _ = writeln!(
        text,
        "      workgroups: {} invocations, at most {x} x {y} x {z}, {} of memory; {} of them in a dimension",
        caps.workgroup_invocations_max,
        size(u64::from(caps.workgroup_bytes_max)),
        caps.groups_max,
    );
    let scalars = match caps.immediate_bytes_max {
        0 => "through uniform buffers".to_owned(),
        bytes => format!("{bytes} bytes of immediates"),
    };
    let features: Vec<_> = caps.features.iter().map(String::as_str).collect();
    let _ = writeln!(text, "      scalars: {scalars}; kernel features: {}", listed(&features));
    let timed = match (caps.times_eager, caps.times_nodes) {
        (true, true) => "eager work and each node of a replay",
        (true, false) => "eager work",
        (false, true) => "each node of a replay",
        (false, false) => "nothing",
    };
    let _ = writeln!(text, "      timed on the device: {timed}");
}

fn listed(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Bytes in the largest binary unit that keeps them at one or above.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [(&str, u32); 4] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let fitting = UNITS.into_iter().find(|(_, bits)| bytes >> bits > 0);
    match fitting {
        Some((unit, bits)) if bytes.trailing_zeros() >= bits => format!("{} {unit}", bytes >> bits),
        Some((unit, bits)) => format!("{:.1} {unit}", bytes as f64 / f64::from(bits).exp2()),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_for_people() {
        assert_eq!(
            [size(4), size(4096), size(3 << 29), size(u64::MAX)],
            ["4 bytes", "4 KiB", "1.5 GiB", "16777216.0 TiB"]
        );
    }

    #[test]
    fn a_device_that_cannot_be_asked_is_a_line_below_the_others() {
        let problems = vec!["device 0 cannot be asked: refused".to_owned()];
        let report = BackendReport { name: "hip", devices: Vec::new(), absent: None, problems };
        assert_eq!(describe(&[report]), "hip:\n  device 0 cannot be asked: refused\n");
    }

    #[test]
    fn an_absent_backend_is_one_line() {
        let absent = Some("not in this build".to_owned());
        let absent = BackendReport { name: "hip", devices: Vec::new(), absent, problems: Vec::new() };
        assert_eq!(describe(&[absent]), "hip: not in this build\n");
    }
}
