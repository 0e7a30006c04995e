//! What is asked of admission: how much, in which class, on which devices, until when.

use std::collections::BTreeSet;

use crate::clock::Deadline;
use crate::lifecycle::admission::cancel::CancellationToken;
use crate::lifecycle::config::RequiredCapabilities;

/// Who goes first among those that wait. Inside a class the earlier request does (B-113).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AdmissionClass {
    /// Before all others.
    High,
    /// What a request has that names none; as high after a wait of one second.
    #[default]
    Normal,
    /// Behind the others; normal after a wait of one second, high after two.
    Low,
}

/// One request (B-107). The default asks for the device's default grant on any device, until the default wait is over.
#[derive(Clone, Debug, Default)]
pub(crate) struct GrantRequest {
    /// The most bytes that the attempt will use; `None` for the device's default.
    pub(crate) bytes: Option<u64>,
    pub(crate) class: AdmissionClass,
    pub(crate) required: RequiredCapabilities,
    /// The ordinals that may serve it; `None` for all.
    pub(crate) devices: Option<BTreeSet<usize>>,
    /// When the wait is over. `None` and [`Deadline::NEVER`] stand for the queue's default wait: no wait is unbounded.
    pub(crate) deadline: Option<Deadline>,
    pub(crate) cancel: Option<CancellationToken>,
}
