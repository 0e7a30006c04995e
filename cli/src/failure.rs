//! Why a command did not do what was asked, and the exit code that says so.

use std::io;
use std::process::ExitCode;

use graphreel::ServerError;
use graphreel::error::InvalidKernel;
use graphreel_cpp::cache::CacheError;

use crate::digits::DigitsError;

/// Everything that can end a command early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Nobody reads the output any more: success.
    #[error("standard output is closed")]
    Closed,
    /// The command line asks for something that does not exist.
    #[error("{0}")]
    Usage(String),
    /// The command line asks for nothing: how to use it.
    #[error("{0}")]
    Help(String),
    /// An input file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file, as given.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// An output cannot be written.
    #[error("cannot write to {what}: {source}")]
    Write {
        /// The file or stream.
        what: String,
        /// Why.
        source: io::Error,
    },
    /// A value did not become JSON.
    #[error("cannot make JSON: {0}")]
    Json(serde_json::Error),
    /// `check` found a fault in the file.
    #[error("{}", crate::check::complaint(path, error))]
    Kernel {
        /// The file, as given.
        path: String,
        /// What naga or reflection says.
        error: Box<InvalidKernel>,
    },
    /// A device said no.
    #[error(transparent)]
    Device(#[from] ServerError),
    /// The shipped network or its images are not as they should be.
    #[error(transparent)]
    Digits(#[from] DigitsError),
    /// Rows of a benchmark gave wrong results or none.
    #[error("{failed} of {rows} rows failed")]
    Rows {
        /// Rows that failed.
        failed: usize,
        /// All rows.
        rows: usize,
    },
    /// A configuration that would not build.
    #[error("{path}: refused for {reasons} reason{s}", s = if *.reasons == 1 { "" } else { "s" })]
    Refused {
        /// The file, as given.
        path: String,
        /// How many.
        reasons: usize,
    },
    /// The sanitizer found something.
    #[error("the sanitizer found {0} fault{s} in the kernels", s = if *.0 == 1 { "" } else { "s" })]
    Findings(usize),
    /// `--deny-lints`, and there are some.
    #[error("{path}: {count} lint{s}, and --deny-lints allows none", s = if *.count == 1 { "" } else { "s" })]
    Lints {
        /// The file, as given.
        path: String,
        /// How many.
        count: usize,
    },
    /// `--emit` of a file with several entry points, none of them named.
    #[error("{path}: it has several compute entry points, name one with --entry: {}", found.join(", "))]
    Entry {
        /// The file, as given.
        path: String,
        /// Their names.
        found: Vec<String>,
    },
    /// `--emit` of a kernel whose override has no value.
    #[error("{path}: override `{name}` has no default value; give it one with --override {name}=VALUE")]
    Override {
        /// The file, as given.
        path: String,
        /// Its name or its number.
        name: String,
    },
    /// The code cache is not to be used, or answers with an error.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// Kernels of a file did not run to their end.
    #[error("{failed} of {runs} kernels did not run to the end")]
    Runs {
        /// Kernels that failed.
        failed: usize,
        /// All of them.
        runs: usize,
    },
    /// Backends whose device is there and does not open, of all that were to run.
    #[error("a device of {names} does not open; {failed} of {rows} rows of the others failed")]
    Backends {
        /// The backends' names.
        names: String,
        /// Rows that failed.
        failed: usize,
        /// All rows.
        rows: usize,
    },
}

impl Failure {
    /// 0 for a closed pipe, 2 for usage, 1 for the rest.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Closed => ExitCode::SUCCESS,
            Self::Usage(_) | Self::Help(_) => ExitCode::from(2),
            _ => ExitCode::FAILURE,
        }
    }
}
