//! How a device is opened, beside which one it is.

use graphreel::Config;

/// How to open a device.
///
/// A device that is opened is in direct use until its last handle is dropped: it is refused while a backend of the process
/// lives ([`DevicesOwned`](graphreel::ServerError::DevicesOwned)), and a backend is refused as long as it is open. A program that knows
/// that its direct use and a backend share a device well says [`OpenOptions::unleased`].
///
/// ```
/// use graphreel_backends::{OpenOptions, Select, open_with};
///
/// let device = open_with(&Select::AutoOrSim, OpenOptions::default().unleased())?;
/// # drop(device);
/// # Ok::<(), graphreel::ServerError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    pub(crate) config: Config,
    pub(crate) unleased: bool,
}

impl OpenOptions {
    /// Bounds and choices of the device; by default the default ones.
    #[must_use]
    pub fn with_config(self, config: Config) -> Self {
        Self { config, ..self }
    }

    /// Claim nothing: a backend that lives does not refuse the device, and the device refuses no backend.
    #[must_use]
    pub fn unleased(self) -> Self {
        Self { unleased: true, ..self }
    }
}

impl From<Config> for OpenOptions {
    fn from(config: Config) -> Self {
        Self::default().with_config(config)
    }
}
