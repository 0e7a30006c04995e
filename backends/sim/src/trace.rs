//! What was called and what ran, as lines for tests and people.

use graphreel::error::DriverError;

/// Calls that bracket every other one: they count, and would drown the rest.
const UNPRINTED: [&str; 3] = ["context_current", "context_set", "capture_mode_exchange"];

/// Lines of calls, and of commands as they ran. The first lines are kept.
#[derive(Debug)]
pub(crate) struct Trace {
    most: usize,
    pub(crate) calls: Vec<String>,
    pub(crate) ran: Vec<String>,
    pub(crate) names: Vec<&'static str>,
    open: Option<String>,
}

impl Trace {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, calls: Vec::new(), ran: Vec::new(), names: Vec::new(), open: None }
    }

    /// Note a call by name; whether its line is kept, too.
    pub(crate) fn wants(&mut self, call: &'static str) -> bool {
        if self.names.len() < self.most {
            self.names.push(call);
        }
        self.calls.len() < self.most && !UNPRINTED.contains(&call)
    }

    pub(crate) fn begin(&mut self, line: String) {
        self.open = Some(line.trim_end().to_owned());
    }

    /// What the open call made.
    pub(crate) fn made(&mut self, name: std::fmt::Arguments<'_>) {
        if let Some(line) = &mut self.open {
            line.push_str(&format!(" -> {name}"));
        }
    }

    pub(crate) fn end(&mut self, error: Option<&DriverError>) {
        let Some(mut line) = self.open.take() else { return };
        if let Some(error) = error {
            line.push_str(&format!(" ! {}", error.name));
        }
        self.calls.push(line);
    }

    pub(crate) fn run(&mut self, line: impl FnOnce() -> String) {
        if self.ran.len() < self.most {
            self.ran.push(line());
        }
    }
}
