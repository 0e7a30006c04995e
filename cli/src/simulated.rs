//! What is said wherever the simulator stands where a device would: that it is none.

use graphreel::{DeviceInfo, DeviceKind};
use graphreel_backends::Opened;

use crate::output;

/// Said beside everything that it produced.
pub(crate) const NO_DEVICE: &str = "sim: no device";

/// Whether this is the simulator.
pub(crate) fn is_simulated(info: &DeviceInfo) -> bool {
    info.kind == DeviceKind::Simulated
}

/// Tell, on standard error, that no device was found and the simulator is used. Nothing where one was found, or the simulator
/// asked for.
pub(crate) fn announce(opened: &Opened) {
    if let Some(why) = &opened.no_device {
        output::complain(&last_resort(why));
    }
}

fn last_resort(why: &str) -> String {
    format!("no device was found ({why}); using the simulator: the CPU interpreter, whose times are not a device's")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_resort_is_one_line_with_its_reason() {
        let line = last_resort("wgpu: no adapter: install a driver");
        assert!(line.contains("install a driver") && line.contains("simulator") && !line.contains('\n'), "{line}");
    }
}
