//! The machine that a benchmark ran on, as far as it tells without asking for rights.

use std::fs;
use std::thread;

use serde::Serialize;

/// Facts without which figures mean nothing.
#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    /// The operating system.
    pub(crate) os: &'static str,
    /// The processor's architecture.
    pub(crate) arch: &'static str,
    /// Processors that this process may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cpus: Option<usize>,
    /// The processor's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cpu: Option<String>,
    /// Main memory in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) memory_bytes: Option<u64>,
    /// Whether this program was built with optimisation; figures of one that was not say little.
    pub(crate) optimised: bool,
}

impl Machine {
    /// Ask.
    pub(crate) fn ask() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        Self {
            os: std::env::consts::OS,
            arch: std::env::consts::ARCH,
            cpus: thread::available_parallelism().ok().map(Into::into),
            cpu: cpu_name(&read("/proc/cpuinfo")),
            memory_bytes: memory_bytes(&read("/proc/meminfo")),
            optimised: !cfg!(debug_assertions),
        }
    }
}

fn cpu_name(cpuinfo: &str) -> Option<String> {
    value_of(cpuinfo, "model name").map(str::to_owned)
}

fn memory_bytes(meminfo: &str) -> Option<u64> {
    let kibibytes: u64 = value_of(meminfo, "MemTotal")?.strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

fn value_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.trim() == key)
        .map(|(_, value)| value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_linux_are_understood() {
        assert_eq!(cpu_name("processor\t: 0\nmodel name\t: A CPU\n").as_deref(), Some("A CPU"));
        assert_eq!(memory_bytes("MemTotal:       1024 kB\n"), Some(1 << 20));
        assert_eq!((cpu_name(""), memory_bytes("MemTotal: x")), (None, None));
    }
}
