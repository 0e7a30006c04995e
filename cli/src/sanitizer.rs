//! The simulator with its sanitizer on.

use graphreel::Config;
use graphreel::device::Device;
use graphreel_sim::interp::FindingKind;
use graphreel_sim::{KernelFinding, Probe, SimOptions};

use crate::failure::Failure;
use crate::finding::Finding;

/// Watches the kernels of one simulator.
pub(crate) struct Sanitizer {
    probe: Probe,
}

impl Sanitizer {
    /// A simulator that is watched.
    ///
    /// # Errors
    ///
    /// What opening it answers.
    pub(crate) fn open() -> Result<(Device, Self), Failure> {
        let config = Config::default();
        let server = graphreel_sim::open(SimOptions { sanitize: true, ..SimOptions::default() }, config.clone())?;
        let probe = server.driver().probe();
        Ok((Device::new(Box::new(server), config), Self { probe }))
    }

    /// What was found so far in work that is done, each once, in the order of kernels and lines.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        let mut findings: Vec<Finding> = self.probe.findings().into_iter().map(finding).collect();
        findings.sort_by(|a, b| (&a.kernel, a.line, a.kind).cmp(&(&b.kernel, b.line, b.kind)));
        findings
    }
}

fn finding(found: KernelFinding) -> Finding {
    let KernelFinding { kernel, finding } = found;
    let kind = match finding.kind {
        FindingKind::Race => "race",
        FindingKind::Divergence => "divergence",
        FindingKind::OutOfRange => "out-of-range",
    };
    Finding { kernel, line: (finding.line > 0).then_some(finding.line), kind, text: finding.text }
}
