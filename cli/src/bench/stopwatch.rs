//! Wall time and CPU time of the calling thread, and the median of what was measured.

use std::time::{Duration, Instant};

/// Runs from its making.
pub(crate) struct Stopwatch {
    started: Instant,
    cpu: Option<Duration>,
}

impl Stopwatch {
    /// Start.
    pub(crate) fn start() -> Self {
        Self { cpu: thread_cpu(), started: Instant::now() }
    }

    /// Wall time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// CPU time of this thread since the start; absent where the system does not tell it.
    pub(crate) fn cpu(&self) -> Option<Duration> {
        Some(thread_cpu()?.saturating_sub(self.cpu?))
    }
}

#[cfg(unix)]
fn thread_cpu() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Some(Duration::new(u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?))
}

#[cfg(not(unix))]
fn thread_cpu() -> Option<Duration> {
    None
}

/// Measurements of one figure.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples(Vec<Duration>);

impl Samples {
    /// Add one.
    pub(crate) fn push(&mut self, sample: Duration) {
        self.0.push(sample);
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The median, the lower one of two; absent when there are none.
    pub(crate) fn median(&self) -> Option<Duration> {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len().saturating_sub(1) / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_one_of_the_samples() {
        let mut samples = Samples::default();
        assert_eq!(samples.median(), None);
        for micros in [9, 1, 5, 100] {
            samples.push(Duration::from_micros(micros));
        }
        assert_eq!(samples.median(), Some(Duration::from_micros(5)));
    }

    #[cfg(unix)]
    #[test]
    fn sleeping_is_no_work() {
        let stopwatch = Stopwatch::start();
        std::thread::sleep(Duration::from_millis(30));
        assert!(stopwatch.cpu().expect("unix tells it") < Duration::from_millis(20));
        assert!(stopwatch.elapsed() >= Duration::from_millis(30));
    }
}
