//! The devices that a vendor's driver shows, where some may not be able to say who they are.

use super::driver::DriverResult;
use crate::sync::OnceLock;

/// What became of a look at each device.
#[derive(Clone, Debug)]
pub struct Listing<T> {
    /// Those that can be asked who they are, in the driver's order.
    pub devices: Vec<T>,
    /// What is wrong with each of the others, a line each.
    pub problems: Vec<String>,
}

impl<T> Listing<T> {
    /// Ask the first `count` devices, by index, who they are.
    ///
    /// # Errors
    ///
    /// What is wrong with each, in one line, where none can be asked.
    pub fn look(count: usize, describe: impl Fn(usize) -> DriverResult<T>) -> Result<Self, String> {
        let mut listing = Self { devices: Vec::new(), problems: Vec::new() };
        for index in 0..count {
            match describe(index) {
                Ok(device) => listing.devices.push(device),
                Err(error) => listing.problems.push(format!("device {index} cannot be asked: {error}")),
            }
        }
        if listing.devices.is_empty() { Err(listing.problems.join("; ")) } else { Ok(listing) }
    }

    /// The devices. What is wrong with the others goes to the log, under the backend's name, once for each `told`.
    pub fn usable(self, told: &OnceLock<()>, backend: &str) -> Vec<T> {
        if !self.problems.is_empty() {
            told.get_or_init(|| tracing::warn!("{backend}: {}; the others are used", self.problems.join("; ")));
        }
        self.devices
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{DriverError, DriverErrorKind, FaultClass};

    fn refused() -> DriverError {
        DriverError {
            call: "describe",
            code: 1,
            name: "refused".to_owned(),
            kind: DriverErrorKind::Refused,
            class: FaultClass::CallLocal,
            log: None,
        }
    }

    #[test]
    fn a_device_that_cannot_be_asked_hides_no_other() {
        let listing = Listing::look(3, |index| if index == 1 { Err(refused()) } else { Ok(index) }).unwrap();
        assert!(matches!(&listing.problems[..], [one] if one.starts_with("device 1 cannot be asked: ")));
        assert_eq!(listing.usable(&OnceLock::new(), "test"), [0, 2]);
    }

    #[test]
    fn where_none_can_be_asked_each_says_why() {
        let why = Listing::look(2, |_| Err::<(), _>(refused())).unwrap_err();
        assert!(why.contains("device 0 cannot be asked: ") && why.contains("; device 1 cannot be asked: "), "{why}");
    }
}
