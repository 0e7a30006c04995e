//! The `graphreel` command line: what devices there are, what a graph gains, whether a kernel is valid.
//!
//! A library so that `benches/` measures with the very code that `graphreel bench` prints; the program is [`main`].

mod args;
mod bench;
mod cache;
mod check;
mod devices;
mod digits;
mod emission;
mod failure;
mod finding;
mod linted;
mod logging;
mod output;
#[cfg(not(feature = "sim"))]
#[path = "no_sanitizer.rs"]
mod sanitizer;
#[cfg(feature = "sim")]
mod sanitizer;
mod serve_check;
mod simulated;
mod trial;

use std::process::ExitCode;

use clap::Parser as _;

use crate::args::{Cli, Command};
use crate::failure::Failure;

pub use crate::bench::measured::{Figures, Measured};

/// The program: reads the arguments, prints to standard output, complains to standard error.
pub fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            match &failure {
                Failure::Closed => {}
                Failure::Help(text) => output::complain(text),
                failure => output::complain(&format!("error: {failure}")),
            }
            failure.exit_code()
        }
    }
}

fn run() -> Result<(), Failure> {
    let cli = Cli::try_parse();
    let cli = match cli {
        Ok(cli) => cli,
        // Help and version are answers; what clap calls an error is one.
        Err(error) if error.use_stderr() => return Err(usage(&error.to_string())),
        Err(answer) => return output::print(&answer.to_string()),
    };
    logging::start(cli.verbose)?;
    match cli.command {
        Command::Devices(args) => devices::run(args),
        Command::Bench(args) => bench::run(args),
        Command::ServeCheck(args) => serve_check::run(args),
        Command::Check(args) => check::run(args),
        Command::Cache(args) => cache::run(args),
    }
}

fn usage(text: &str) -> Failure {
    match text.trim_end().strip_prefix("error: ") {
        Some(error) => Failure::Usage(error.to_owned()),
        None => Failure::Help(text.trim_end().to_owned()),
    }
}
