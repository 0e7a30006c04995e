//! In the place of hand-written wgpu, in a build without it.

use graphreel::device::Device;

use super::baseline_run::Run;
use super::plan::{Expected, Plan};

/// There is none.
pub(crate) enum Baseline {}

impl Baseline {
    /// None, on every device.
    pub(crate) fn of(_device: &Device, _plan: &Plan) -> Result<Option<Self>, String> {
        Ok(None)
    }

    /// Never called.
    pub(crate) fn run(&self, _cut: usize) -> Result<Run, String> {
        match *self {}
    }

    /// Never called.
    pub(crate) fn issue(&self, _cut: usize) -> Result<Option<std::time::Duration>, String> {
        match *self {}
    }

    /// Never called.
    pub(crate) fn poison(&self) {
        match *self {}
    }

    /// Never called.
    pub(crate) fn check(&self, _expected: &[Expected]) -> Result<(), String> {
        match *self {}
    }
}
