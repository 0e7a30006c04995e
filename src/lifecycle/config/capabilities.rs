//! What a device can do, and what a request needs, as sets of names. Admission compares them before anything queues.

use std::collections::BTreeSet;

/// The capabilities of one device. The default has every one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceCapabilities {
    /// `None` for all.
    names: Option<BTreeSet<String>>,
}

impl DeviceCapabilities {
    /// Only the named ones.
    pub fn only<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self { names: Some(names.into_iter().map(Into::into).collect()) }
    }

    /// Whether the device has all that is required.
    pub fn accepts(&self, required: &RequiredCapabilities) -> bool {
        self.names.as_ref().is_none_or(|names| required.names.is_subset(names))
    }
}

/// The capabilities that a request needs. The default needs none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequiredCapabilities {
    names: BTreeSet<String>,
}

impl RequiredCapabilities {
    /// The named ones.
    pub fn new<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self { names: names.into_iter().map(Into::into).collect() }
    }

    /// Their names, sorted.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B-22: the default accepts every capability.
    #[test]
    fn a_device_accepts_what_it_has() {
        let both = RequiredCapabilities::new(["f16", "atomics"]);
        assert!(DeviceCapabilities::default().accepts(&both));
        assert!(DeviceCapabilities::only(["atomics", "f16", "f64"]).accepts(&both));
        assert!(!DeviceCapabilities::only(["f16"]).accepts(&both));
        assert!(DeviceCapabilities::only([""; 0]).accepts(&RequiredCapabilities::default()));
        assert_eq!(both.names().collect::<Vec<_>>(), ["atomics", "f16"]);
    }
}
