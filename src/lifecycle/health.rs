//! Whether a backend is live, ready, degraded, or in need of a new process, and why: a pure function of what is known.

use std::fmt;

/// What health follows from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HealthInput {
    /// Close was signalled.
    pub closing: bool,
    /// A cleanup failed: the devices stay claimed for the rest of the process.
    pub failed_closed: bool,
    /// Each device of the backend.
    pub devices: Vec<DeviceHealthInput>,
}

/// One device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceHealthInput {
    /// The device.
    pub device_ordinal: usize,
    /// Why it admits nothing, unless it does.
    pub closed: Option<DeviceClosedReason>,
}

/// Why a device admits nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceClosedReason {
    /// What happened.
    pub reason: String,
    /// Whether only a new process opens it again; otherwise a rebuilt backend does.
    pub one_way: bool,
}

/// The health of one backend.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackendHealth {
    /// Its own machinery works: an open or closed backend is live, one whose cleanup failed is not.
    pub live: bool,
    /// A request can be admitted.
    pub ready: bool,
    /// Something that should work does not, whether or not requests are admitted.
    pub degraded: bool,
    /// Only a new process brings back all of it.
    pub restart_required: bool,
    /// Why it is not all well; devices in the order given.
    pub reasons: Vec<HealthReason>,
}

/// One thing that is not well.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HealthReason {
    /// The backend is closing or closed.
    Closing,
    /// A cleanup failed.
    CleanupFailedClosed,
    /// A device admits nothing.
    DeviceClosed {
        /// The device.
        device_ordinal: usize,
        /// Why.
        closed: DeviceClosedReason,
    },
    /// No device admits anything.
    NoEligibleDevice,
}

impl BackendHealth {
    /// Health as it follows from `input`.
    pub fn assess(input: &HealthInput) -> Self {
        let mut reasons = Vec::new();
        reasons.extend(input.closing.then_some(HealthReason::Closing));
        reasons.extend(input.failed_closed.then_some(HealthReason::CleanupFailedClosed));
        let closed = input.devices.iter().filter_map(|device| Some((device.device_ordinal, device.closed.clone()?)));
        reasons.extend(closed.map(|(device_ordinal, closed)| HealthReason::DeviceClosed { device_ordinal, closed }));
        let eligible = input.devices.iter().any(|device| device.closed.is_none());
        reasons.extend((!eligible).then_some(HealthReason::NoEligibleDevice));
        let one_way = |device: &DeviceHealthInput| device.closed.as_ref().is_some_and(|closed| closed.one_way);
        Self {
            live: !input.failed_closed,
            ready: eligible && !input.closing && !input.failed_closed,
            degraded: input.failed_closed || input.devices.iter().any(|device| device.closed.is_some()),
            restart_required: input.failed_closed || input.devices.iter().any(one_way),
            reasons,
        }
    }
}

impl fmt::Display for HealthReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closing => f.write_str("the backend is closing; build another one"),
            Self::CleanupFailedClosed => f.write_str("a cleanup failed; restart the process"),
            Self::DeviceClosed { device_ordinal, closed } => {
                let remedy = if closed.one_way { "restart the process" } else { "rebuild the backend" };
                write!(f, "device {device_ordinal} admits nothing: {}; {remedy}", closed.reason)
            }
            Self::NoEligibleDevice => f.write_str("no device admits anything; see the other reasons"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(device_ordinal: usize, one_way: Option<bool>) -> DeviceHealthInput {
        let closed = one_way.map(|one_way| DeviceClosedReason { reason: "context_fatal".to_owned(), one_way });
        DeviceHealthInput { device_ordinal, closed }
    }

    fn assess(closing: bool, failed_closed: bool, devices: &[DeviceHealthInput]) -> (BackendHealth, [bool; 4]) {
        let health = BackendHealth::assess(&HealthInput { closing, failed_closed, devices: devices.to_vec() });
        let states = [health.live, health.ready, health.degraded, health.restart_required];
        (health, states)
    }

    #[test]
    fn health_follows_from_close_cleanup_and_devices() {
        let (open, lost, gone) = (device(0, None), device(1, Some(false)), device(2, Some(true)));
        let table = [
            (false, false, vec![open.clone()], [true, true, false, false], 0),
            (true, false, vec![open.clone()], [true, false, false, false], 1),
            (true, true, vec![open.clone()], [false, false, true, true], 2),
            (false, false, vec![open.clone(), lost.clone()], [true, true, true, false], 1),
            (false, false, vec![open, gone.clone()], [true, true, true, true], 1),
            (false, false, vec![lost, gone], [true, false, true, true], 3),
            (false, false, vec![], [true, false, false, false], 1),
        ];
        for (closing, failed, devices, states, reasons) in table {
            let (health, found) = assess(closing, failed, &devices);
            assert_eq!((found, health.reasons.len()), (states, reasons), "{closing} {failed} {devices:?}");
        }
    }

    #[test]
    fn each_reason_names_the_thing_and_the_remedy() {
        let (health, _) = assess(true, true, &[device(3, Some(false)), device(5, Some(true))]);
        let text: Vec<String> = health.reasons.iter().map(ToString::to_string).collect();
        assert_eq!(
            text,
            [
                "the backend is closing; build another one",
                "a cleanup failed; restart the process",
                "device 3 admits nothing: context_fatal; rebuild the backend",
                "device 5 admits nothing: context_fatal; restart the process",
                "no device admits anything; see the other reasons",
            ]
        );
    }
}
