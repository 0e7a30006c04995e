//! A failed driver call: which call, which code, and what it means for the device.

use std::fmt;

/// One failed call of a vendor's driver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("driver call {call} failed with code {code} ({name}): {kind}, {class}")]
pub struct DriverError {
    /// The call, by the vendor's name.
    pub call: &'static str,
    /// The vendor's code.
    pub code: i64,
    /// The vendor's name of the code, or its text.
    pub name: String,
    /// What kind of failure it is.
    pub kind: DriverErrorKind,
    /// How far it reaches.
    pub class: FaultClass,
    /// What the vendor's compiler said of code that it refused, in lines of its own. No part of the error's text, which is one line.
    pub log: Option<Box<str>>,
}

/// Kinds of driver failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DriverErrorKind {
    /// The call was refused; nothing happened.
    Refused,
    /// There is not enough memory.
    OutOfMemory,
    /// The work asked about is not done yet.
    NotReady,
    /// The stream's capture was invalidated.
    CaptureBroken,
    /// The device or context is gone.
    Lost,
}

/// How far a failure reaches. An unknown code is refused and context-fatal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FaultClass {
    /// This call only.
    CallLocal,
    /// Every later call in this context fails.
    ContextFatal,
    /// The device needs a reset.
    DeviceFatal,
    /// The driver is gone from the process.
    DriverGone,
}

impl fmt::Display for DriverErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused => "refused",
            Self::OutOfMemory => "out of memory",
            Self::NotReady => "not ready",
            Self::CaptureBroken => "capture broken",
            Self::Lost => "lost",
        })
    }
}

impl fmt::Display for FaultClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CallLocal => "only this call is affected",
            Self::ContextFatal => "the context is unusable, open a new device",
            Self::DeviceFatal => "the device needs a reset",
            Self::DriverGone => "the driver is gone, restart the process",
        })
    }
}
