//! A bar on standard error for work that lasts over a second, where somebody watches.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work below this shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// Counts steps, and shows them once the work has lasted.
pub(crate) struct Progress {
    bar: ProgressBar,
    started: Instant,
    waiting: bool,
}

impl Progress {
    /// Of `steps` steps, none done and nothing shown.
    pub(crate) fn new(steps: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(steps as u64), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}") {
            bar.set_style(style);
        }
        Self { bar, started: Instant::now(), waiting: std::io::stderr().is_terminal() }
    }

    /// A step begins.
    pub(crate) fn begin(&mut self, what: &str) {
        if self.waiting && self.started.elapsed() >= PATIENCE {
            self.waiting = false;
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_message(what.to_owned());
    }

    /// Take the bar away while `print` writes to the same terminal.
    pub(crate) fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// A step is done.
    pub(crate) fn end(&self) {
        self.bar.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
