//! How the process-wide pool reads: asked for, and in effect. What the environment says comes before what is asked for.

use crate::lifecycle::config::refusal;
use crate::lifecycle::error::{QueryError, QueryErrorCode, QueryResult, operation};

/// The variables that come before the configuration.
const THREADS: &str = "GRAPHREEL_IO_THREADS";
const TASK_BYTES: &str = "GRAPHREEL_IO_TASK_BYTES";

/// How bytes reach the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IoPoolMode {
    /// By the vendor's library, from storage to device memory. No backend has one.
    Native,
    /// By threads of the host and staging memory.
    Compatible,
}

/// The pool's settings (B-194).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IoPoolProcessConfig {
    /// How bytes reach the device.
    pub mode: IoPoolMode,
    /// Threads that read; `None` for as many as the machine runs at once, from 4 to 64 (QB-17). In effect it is a number.
    pub thread_count: Option<usize>,
    /// Bytes of a piece, a multiple of 4: what one thread reads and one copy writes.
    pub task_size_bytes: u64,
}

impl IoPoolProcessConfig {
    /// Threads by the machine, and pieces of 4 MiB.
    pub const DEFAULT: Self = Self { mode: IoPoolMode::Compatible, thread_count: None, task_size_bytes: 4 << 20 };

    /// The most threads.
    pub const THREAD_COUNT_MAX: usize = 1024;

    /// The smallest and the largest piece.
    pub const TASK_BYTES_MIN: u64 = 4 << 10;
    /// See [`IoPoolProcessConfig::TASK_BYTES_MIN`].
    pub const TASK_BYTES_MAX: u64 = 1 << 30;

    /// What is in effect: the environment's word, else this one's, with the threads as a number.
    pub(super) fn resolve(self, variable: impl Fn(&str) -> Option<String>, parallel: usize) -> QueryResult<Self> {
        let threads = number(THREADS, &variable)?.map(|count| usize::try_from(count).unwrap_or(usize::MAX));
        let thread_count = threads.or(self.thread_count).unwrap_or_else(|| parallel.clamp(4, 64));
        let task_size_bytes = number(TASK_BYTES, &variable)?.unwrap_or(self.task_size_bytes);
        let max = Self::THREAD_COUNT_MAX;
        if thread_count == 0 || thread_count > max {
            let tail = format!("is {thread_count}; it is from 1 to {max}");
            return Err(refusal::backend("io_pool.thread_count", "out_of_range", &tail));
        }
        let (min, max) = (Self::TASK_BYTES_MIN, Self::TASK_BYTES_MAX);
        if !(min..=max).contains(&task_size_bytes) || !task_size_bytes.is_multiple_of(4) {
            let tail = format!("is {task_size_bytes}; it is a multiple of 4 from {min} to {max}");
            return Err(refusal::backend("io_pool.task_size_bytes", "out_of_range", &tail));
        }
        Ok(Self { mode: self.mode, thread_count: Some(thread_count), task_size_bytes })
    }
}

/// The number in a variable; `None` where it is absent or empty.
fn number(name: &'static str, variable: impl Fn(&str) -> Option<String>) -> QueryResult<Option<u64>> {
    let Some(text) = variable(name).filter(|text| !text.trim().is_empty()) else { return Ok(None) };
    text.trim().parse().map(Some).map_err(|_| {
        let message = format!("{name} is `{text}`; set it to a whole number, or unset it");
        QueryError::new(QueryErrorCode::InvalidConfiguration, operation::BUILD, message)
            .with_fact("field", name)
            .with_reason("out_of_range")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none(_: &str) -> Option<String> {
        None
    }

    /// QB-17: 4 MiB, and the machine's threads from 4 to 64.
    #[test]
    fn the_default_goes_by_the_machine() {
        for (parallel, threads) in [(1, 4), (4, 4), (7, 7), (64, 64), (500, 64)] {
            let effective = IoPoolProcessConfig::DEFAULT.resolve(none, parallel).unwrap();
            assert_eq!((effective.thread_count, effective.task_size_bytes), (Some(threads), 4_194_304));
            assert_eq!(effective.mode, IoPoolMode::Compatible);
        }
        let asked = IoPoolProcessConfig { thread_count: Some(1), ..IoPoolProcessConfig::DEFAULT };
        assert_eq!(asked.resolve(none, 32).unwrap(), asked, "what is asked for is not clamped");
    }

    /// B-194: the environment comes first, and a word in it that means nothing is refused.
    #[test]
    fn the_environment_comes_first() {
        let asked = IoPoolProcessConfig { thread_count: Some(9), ..IoPoolProcessConfig::DEFAULT };
        let set = |name: &str| Some(if name == THREADS { " 3 " } else { "65536" }.to_owned());
        let effective = asked.resolve(set, 8).unwrap();
        assert_eq!((effective.thread_count, effective.task_size_bytes), (Some(3), 65536));
        assert_eq!(asked.resolve(|_| Some("  ".to_owned()), 8).unwrap(), asked, "empty counts as not set");
        for wrong in ["many", "-1", "0", "2.5", "99999999999999999999"] {
            let error = asked.resolve(|_| Some(wrong.to_owned()), 8).unwrap_err();
            assert_eq!((error.reason(), error.code()), (Some("out_of_range"), QueryErrorCode::InvalidConfiguration));
            assert!(!error.message().contains('\n') && error.message().contains(wrong), "{error}");
        }
    }

    /// B-194: bounds of both fields.
    #[test]
    fn fields_have_bounds() {
        let with = |threads, bytes| {
            IoPoolProcessConfig { thread_count: Some(threads), task_size_bytes: bytes, ..IoPoolProcessConfig::DEFAULT }
                .resolve(none, 8)
        };
        with(1, 4096).unwrap();
        with(1024, 1 << 30).unwrap();
        for (threads, bytes) in [(0, 4096), (1025, 4096), (1, 4095), (1, 4098), (1, (1 << 30) + 4), (1, 0)] {
            assert_eq!(with(threads, bytes).unwrap_err().reason(), Some("out_of_range"), "{threads} {bytes}");
        }
    }
}
